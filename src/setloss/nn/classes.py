"""Which classes have sets, and what each of them weighs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def chosen_classes(
    classes: Sequence[int] | str | None, include_background: bool, logits: Tensor, mode: str
) -> list[int] | None:
    """The numbers of the classes that have sets; None for all."""
    given = classes is not None or not include_background
    if given and mode != "multiclass":
        raise ValueError(f"classes and include_background are for mode='multiclass'; the mode is {mode!r}")
    if classes is None or classes == "present":
        return None if include_background else list(range(1, logits.shape[1]))
    if isinstance(classes, str):
        raise ValueError(f"classes is a list of class numbers, 'present' or None; got {classes!r}")
    chosen = [int(c) for c in classes]
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= c < logits.shape[1] for c in chosen):
        raise ValueError(f"classes are different numbers from 0 to {logits.shape[1] - 1}; got {chosen}")
    return chosen if include_background else [c for c in chosen if c != 0]


def class_factors(
    class_weight: Tensor | None,
    weight: Tensor | None,
    shape: tuple[int, ...],
    chosen: list[int] | None,
    logits: Tensor,
    mode: str,
) -> Tensor | None:
    """The factor of every set; None where all are 1."""
    factor = None if weight is None else _set_weight(weight, shape, logits)
    if class_weight is None:
        return factor
    if mode != "multiclass":
        raise ValueError(f"class_weight is for mode='multiclass'; the mode is {mode!r}. Give weight= a set's factor.")
    _check(class_weight, "class_weight")
    if tuple(class_weight.shape) != (logits.shape[1],):
        raise ValueError(
            f"one class_weight per class: expected shape ({logits.shape[1]},); got {tuple(class_weight.shape)}"
        )
    per_class = class_weight.to(logits)
    per_class = (per_class if chosen is None else per_class[chosen]).expand(shape)
    return per_class if factor is None else factor * per_class


def _set_weight(weight: Tensor, shape: tuple[int, ...], logits: Tensor) -> Tensor:
    _check(weight, "weight")
    if tuple(weight.shape) != shape:
        raise ValueError(
            f"one weight per set: expected shape {shape}, as reduction='none' returns; got {tuple(weight.shape)}"
        )
    return weight.to(logits.dtype)


def _check(weight: Tensor, name: str) -> None:
    """Where looking costs no wait for a device."""
    if not isinstance(weight, Tensor):
        raise TypeError(f"{name} must be a tensor; got {type(weight).__name__}")
    if torch.compiler.is_compiling() or weight.device.type != "cpu" or type(weight) is not Tensor:
        return
    if weight.numel() and not bool((weight >= 0).all()):
        raise ValueError(f"{name} holds factors from 0 on; got {float(weight.min())}")
