"""From one number per set to the number that is trained on: sets that count, their weights, and cross-entropy."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from setloss.nn.sets import Sets
from setloss.nn.targets import Decisions, Mode, read

Reduction = Literal["mean", "sum", "none"]
Absent = Literal["keep", "skip"]


def counted_sets(sets: Sets, absent: Absent) -> Tensor | None:
    """Which sets count, of the shape of the sets; None where all do."""
    truth, valid = sets.truth, sets.valid
    if absent == "keep" and valid is None and truth.shape[1]:
        return None
    members = truth if valid is None else truth & valid if absent == "skip" else valid
    return members.any(1).view(sets.shape)


def set_factors(
    weight: Tensor | None,
    class_weight: Tensor | None,
    sets: Sets,
    chosen: list[int] | None,
    logits: Tensor,
    mode: Mode,
) -> Tensor | None:
    """The factor of every set, of the shape of the sets; None where all are 1."""
    factor = None
    if weight is not None:
        factor = checked_factors(weight, "weight", sets.shape, "set, as reduction='none' returns").to(logits.dtype)
    if class_weight is None:
        return factor
    if mode != "multiclass":
        raise ValueError(f"class_weight is for mode='multiclass'; the mode is {mode!r}. Give weight= a set's factor.")
    per_class = checked_factors(class_weight, "class_weight", logits.shape[1:2], "class").to(logits)
    if sets.classes is not None:
        per_set = per_class[sets.classes]
    else:
        per_set = (per_class if chosen is None else per_class[chosen]).expand(sets.shape)
    return per_set if factor is None else factor * per_set


def checked_factors(weight: object, name: str, shape: Sequence[int], per: str) -> Tensor:
    """The weight; refused unless it is a tensor of this shape with finite factors from 0 on."""
    if not isinstance(weight, Tensor):
        raise TypeError(f"{name} must be a tensor; got {type(weight).__name__}")
    if tuple(weight.shape) != tuple(shape):
        raise ValueError(f"one {name} per {per}: expected shape {tuple(shape)}; got {tuple(weight.shape)}")
    if read(((weight >= 0) & (weight < torch.inf)).all()) is False:
        raise ValueError(f"{name} holds finite factors from 0 on; got {weight.min():g} to {weight.max():g}")
    return weight


def reduced(values: Tensor, counted: Tensor | None, weight: Tensor | None, reduction: Reduction) -> Tensor:
    """The values of the sets that count, each times its weight: one by one, their sum, or their weighted mean."""
    if counted is not None:
        values = torch.where(counted, values, 0.0)
    if weight is not None:
        values = values * weight
    if reduction == "none":
        return values
    if reduction == "mean" and weight is None and counted is None and values.numel():
        return values.mean()
    total = values.sum()
    if reduction == "sum":
        return total
    shares = torch.ones_like(values) if weight is None else weight
    mass = (shares if counted is None else torch.where(counted, shares, 0.0)).sum()
    return total / torch.where(mass > 0, mass, 1.0)


def mean_cross_entropy(given: Decisions, weight: Tensor | None = None) -> Tensor:
    """Mean of the softmax's over classes, of one sigmoid's for each decision otherwise; 0 if none counts.

    `weight` is a factor per pixel; the mean is the weighted mean.
    """
    if given.valid is None and weight is None and given.logits.numel():
        return _cross_entropy(given, "mean")
    values = _cross_entropy(given, "none")
    shares = None if weight is None else weight.to(values.dtype).expand(values.shape)
    return reduced(values, given.valid, shares, "mean")


def _cross_entropy(given: Decisions, reduction: Reduction) -> Tensor:
    """Cross-entropies of the pixels; logits that do not count are 0, so no infinite one has a slope."""
    logits = given.logits if given.counted is None else given.logits.masked_fill(~given.counted, 0.0)
    if not given.of_classes:
        truth = given.truth.to(logits.dtype) if given.shares is None else given.shares
        return binary_cross_entropy_with_logits(logits, truth, reduction=reduction)
    if given.shares is not None:
        return cross_entropy(logits, given.shares, reduction=reduction)
    labels = given.labels.to(torch.int64)
    labels = labels if given.valid is None else torch.where(given.valid, labels, 0)
    return cross_entropy(logits, labels, reduction=reduction)
