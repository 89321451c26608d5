"""Targets that mean nothing: refused in words where that costs no wait, by an assertion on the device elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor

SUM_TOLERANCE = 1e-3
"""Distributions over classes come in half precision, too."""

REMEDY = "Name a value that stands for 'no label' with ignore_index, or leave elements out with mask."

WHITE = 255
"""The brightest pixel of a mask that was read from an image file."""


def label_range(target: Tensor) -> tuple[float, float]:
    """What the dtype can hold; torch compares with the lowest bits of a number beyond it."""
    if target.is_floating_point():
        return -torch.inf, torch.inf
    if target.dtype == torch.bool:
        return 0, 1
    return torch.iinfo(target.dtype).min, torch.iinfo(target.dtype).max


def check_alphabet(target: Tensor, valid: Tensor | None, classes: int | None, soft: bool) -> bool:
    """Refuse labels outside the alphabet; True if labels may lie between 0 and 1 and have to be taken as shares.

    In a compiled graph and on other devices nothing is read back, so every real target is taken as shares where that
    is possible, and a label outside the alphabet is an assertion of the device: an error at the next synchronisation.
    """
    if target.dtype == torch.bool:
        return False
    shares = soft and target.is_floating_point()
    if _readable(target):
        if _all_fit(_fits(target, classes, soft=False), valid):
            return False
        _refuse(target, _fits(target, classes, shares), valid, classes, shares)
    elif target.device.type != "mps":
        fits = _fits(target, classes, shares)
        fits = fits if valid is None else fits | ~valid
        torch._assert_async(fits.all(), f"targets are {_wanted(classes, shares)}. {REMEDY}")
    return shares


def check_one_hot(target: Tensor, valid: Tensor | None) -> None:
    """The classes of every pixel share out 1."""
    total = target.sum(1, dtype=torch.float32)
    fits = (total - 1).abs() <= SUM_TOLERANCE
    fits = fits if valid is None else fits | ~valid
    message = "one-hot targets have one 1 among the classes of a pixel"
    if not _readable(target):
        if target.device.type != "mps":
            torch._assert_async(fits.all(), message)
    elif not bool(fits.all()):
        where = tuple(int(i) for i in torch.nonzero(~fits)[0])
        found = total[where].item()
        raise ValueError(f"{message}; those at {where} sum to {found:g}. Leave pixels without a label out with mask.")


def _readable(target: Tensor) -> bool:
    return target.device.type == "cpu" and not torch.compiler.is_compiling() and not _transformed(target)


def _transformed(tensor: Tensor) -> bool:
    """Fake tensors, and tensors inside of `torch.func` transforms, have no values to look at."""
    return type(tensor) is not Tensor or bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _fits(target: Tensor, classes: int | None, soft: bool) -> Tensor:
    if soft:
        return (target >= 0) & (target <= 1)
    if classes is None:
        return (target == 0) | (target == 1)
    return (target >= 0) & (target <= min(classes - 1, label_range(target)[1]))


def _all_fit(fits: Tensor, valid: Tensor | None) -> bool:
    return bool((fits if valid is None else fits | ~valid).all())


def _wanted(classes: int | None, soft: bool) -> str:
    if soft:
        return "labels in [0, 1]"
    return "0 and 1" if classes is None else f"class ids from 0 to {classes - 1}"


def _refuse(target: Tensor, fits: Tensor, valid: Tensor | None, classes: int | None, soft: bool) -> None:
    fits = fits if valid is None else fits | ~valid
    if bool(fits.all()):
        return
    where = tuple(int(i) for i in torch.nonzero(~fits)[0])
    value = target[where].item()
    hint = REMEDY
    if classes is None and not soft and isinstance(value, float) and 0 < value < 1:
        hint = (
            "Soft labels need a loss that knows weights of elements: the Lovász hinge of Jaccard, "
            'SetLoss("jaccard", "lovasz"), takes them; other losses count elements.'
        )
    elif classes is None and value == WHITE:
        hint = f"If {WHITE} is the foreground of an image file, give target > 0. {REMEDY}"
    raise ValueError(f"targets are {_wanted(classes, soft)}; the one at {where} is {value}. {hint}")
