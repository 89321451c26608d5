"""The mean cross-entropy of the decisions that count: what is added to a set loss."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from setloss.nn.targets import Decisions, Mode


def mean_cross_entropy(given: Decisions, mode: Mode, weight: Tensor | None = None) -> Tensor:
    """Of softmax over the classes in multiclass mode, of one sigmoid per decision otherwise; 0 if none counts.

    `weight` is a factor per pixel; the mean is the weighted mean.
    """
    values = _of_classes(given) if mode == "multiclass" else _of_labels(given)
    if given.valid is None and weight is None:
        return values.sum() / max(values.numel(), 1)
    shares = torch.ones_like(values) if weight is None else weight.to(values.dtype).expand(values.shape)
    if given.valid is not None:
        shares = torch.where(given.valid, shares, 0.0)
        values = torch.where(given.valid, values, 0.0)
    mass = shares.sum()
    return (shares * values).sum() / torch.where(mass > 0, mass, 1.0)


def _of_labels(given: Decisions) -> Tensor:
    truth = given.truth.to(given.logits.dtype) if given.shares is None else given.shares
    return binary_cross_entropy_with_logits(_blank(given.logits, given.valid), truth, reduction="none")


def _of_classes(given: Decisions) -> Tensor:
    logits, labels = _blank(given.logits, given.counted), given.labels.to(torch.int64)
    if given.shares is not None:
        return cross_entropy(logits, given.shares, reduction="none")
    if given.valid is not None:
        labels = torch.where(given.valid, labels, 0)
    return cross_entropy(logits, labels, reduction="none")


def _blank(logits: Tensor, counted: Tensor | None) -> Tensor:
    """0 for logits that do not count, so that an infinite one among them has gradient 0."""
    return logits if counted is None else logits.masked_fill(~counted, 0.0)
