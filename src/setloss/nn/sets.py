"""From logits and targets of any rank to sets: one row of scores per set of decisions that is judged as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor

Mode = Literal["binary", "multilabel", "multiclass"]
Over = Literal["image", "batch", "class"]


@dataclass(frozen=True)
class Sets:
    """A set per row; `shape` is how the rows are laid out for the user, one number per set."""

    scores: Tensor
    truth: Tensor
    valid: Tensor | None
    shape: tuple[int, ...]


def arrange(
    logits: Tensor, target: Tensor, mask: Tensor | None, mode: Mode, over: Over, ignore_index: int | None
) -> Sets:
    """The sets of a batch; see `setloss.nn.functional.set_loss` for what `mode` and `over` mean."""
    _check_tensors(logits, target)
    scores = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
    if mode == "multiclass":
        target = _class_ids(scores, target)
    elif mode == "binary":
        scores, target = _same_rank(scores, target)
    elif logits.ndim < 2 or logits.shape != target.shape:
        raise ValueError(
            "multilabel logits and targets have one shape (N, C, ...); got "
            f"{tuple(logits.shape)} and {tuple(target.shape)}"
        )
    valid = None if ignore_index is None else _labelled(target, ignore_index)
    if mask is not None:
        counted = _mask(mask, target)
        valid = counted if valid is None else valid & counted
    _check_alphabet(target, valid, scores.shape[1] if mode == "multiclass" else None)
    if mode == "multiclass":
        classes = torch.arange(scores.shape[1], device=target.device)
        truth = target.unsqueeze(1) == classes.view(-1, *[1] * (target.ndim - 1))
        valid = None if valid is None else valid.unsqueeze(1).expand(scores.shape)
    else:
        truth = target if target.dtype == torch.bool else target == 1
    shape, by_class = _layout(scores.shape, mode, over)

    def rows(tensor: Tensor) -> Tensor:
        moved = tensor.movedim(1, 0) if by_class else tensor
        return moved.reshape(prod(shape), tensor.numel() // max(prod(shape), 1))

    return Sets(rows(scores), rows(truth), None if valid is None else rows(valid), shape)


def _layout(shape: torch.Size, mode: Mode, over: Over) -> tuple[tuple[int, ...], bool]:
    """The shape of one number per set, and whether classes have to come first."""
    if mode == "multiclass":
        return (tuple(shape[:2]), False) if over == "image" else ((shape[1],), True)
    if mode == "multilabel" and over == "class":
        return (shape[1],), True
    return ((shape[0],) if over == "image" else (1,)), False


def _check_tensors(logits: Tensor, target: Tensor) -> None:
    for name, tensor in (("logits", logits), ("target", target)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor; got {type(tensor).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits are real scores; got {logits.dtype}")
    if logits.ndim < 1:
        raise ValueError("logits have the batch as their first dimension; got a single number")
    if logits.device != target.device:
        raise ValueError(f"logits are on {logits.device}, the target is on {target.device}")


def _same_rank(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """A channel of one is dropped where the other one has none."""
    if scores.ndim == target.ndim + 1 and scores.shape[1] == 1:
        scores = scores.squeeze(1)
    elif target.ndim == scores.ndim + 1 and target.shape[1] == 1:
        target = target.squeeze(1)
    if scores.shape != target.shape:
        raise ValueError(
            "binary logits and targets have one shape, (N, ...) or (N, 1, ...); got "
            f"{tuple(scores.shape)} and {tuple(target.shape)}. For several channels, set mode."
        )
    return scores, target


def _class_ids(scores: Tensor, target: Tensor) -> Tensor:
    if target.is_floating_point() or target.dtype == torch.bool:
        raise TypeError(f"multiclass targets are class ids of an integer dtype; got {target.dtype}")
    if target.ndim == scores.ndim and scores.ndim > 1 and target.shape[1] == 1:
        target = target.squeeze(1)
    if scores.ndim < 2 or target.shape != scores.shape[:1] + scores.shape[2:]:
        raise ValueError(
            "multiclass logits are (N, C, ...) and targets (N, ...); got "
            f"{tuple(scores.shape)} and {tuple(target.shape)}"
        )
    return target


def _labelled(target: Tensor, ignore_index: int) -> Tensor | None:
    if not isinstance(ignore_index, int):
        raise TypeError(f"ignore_index is an integer or None; got {ignore_index!r}")
    low, high = _range(target)
    return target != ignore_index if low <= ignore_index <= high else None


def _range(target: Tensor) -> tuple[float, float]:
    """What the dtype can hold; torch compares with the lowest bits of a number beyond it."""
    if target.is_floating_point():
        return -torch.inf, torch.inf
    if target.dtype == torch.bool:
        return 0, 1
    return torch.iinfo(target.dtype).min, torch.iinfo(target.dtype).max


def _mask(mask: object, target: Tensor) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        found = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"the mask is a bool tensor, True for elements that count; got {found}")
    if mask.ndim == target.ndim + 1 and mask.shape[1] == 1:
        mask = mask.squeeze(1)
    elif target.ndim > 1 and mask.ndim == target.ndim - 1 and target.shape[1] == 1:
        mask = mask.unsqueeze(1)
    try:
        return mask.expand(target.shape)
    except RuntimeError:
        raise ValueError(f"a mask of shape {tuple(mask.shape)} does not fit a target {tuple(target.shape)}") from None


def _check_alphabet(target: Tensor, valid: Tensor | None, classes: int | None) -> None:
    """Refuse labels outside the alphabet, where looking costs no wait for a device."""
    if target.dtype == torch.bool or target.device.type != "cpu" or torch.compiler.is_compiling():
        return
    fits = (target == 0) | (target == 1)
    if classes is not None:
        fits = (target >= 0) & (target <= min(classes - 1, _range(target)[1]))
    fits = fits if valid is None else fits | ~valid
    if not bool(fits.all()):
        where = tuple(int(i) for i in torch.nonzero(~fits)[0])
        wanted = "0 and 1" if classes is None else f"class ids from 0 to {classes - 1}"
        raise ValueError(
            f"targets are {wanted}; the one at {where} is {target[where].item()}. "
            "Name a value that stands for 'no label' with ignore_index, or leave elements out with mask."
        )
