"""From one number per set to the number that is trained on."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from setloss.nn.sets import Sets

Reduction = Literal["mean", "sum", "none"]
Absent = Literal["keep", "skip"]


def counted_sets(sets: Sets, present_only: bool) -> Tensor | None:
    """Which sets count, of the shape of the sets; None where all do."""
    if present_only:
        present = sets.truth if sets.valid is None else sets.truth & sets.valid
        return present.any(1).view(sets.shape)
    if sets.valid is not None:
        return sets.valid.any(1).view(sets.shape)
    return None if sets.scores.shape[1] else torch.zeros(sets.shape, dtype=torch.bool, device=sets.scores.device)


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
