"""The loss at expected counts, known as soft Dice and soft Jaccard: mixed with the surrogate of probabilities.

With q_i the probability of a mistake at element i, both this and L are extensions of the loss: they agree with it
where every q_i is 0 or 1. L(q) is the expected loss if one threshold, common to all elements, decides where mistakes
are made; (a sum_N q + b sum_P q) / (...) is, to first order, that of independent mistakes. While a network cannot yet
tell positives from negatives, the slope of L is all on the positives, and every score is pushed up, or all on the
negatives, and jumps between the two; here it is shared out between them and smooth. Late in training L weighs what is
still wrong. Half of each is the default (docs/pytorch.md has the comparison).
"""

from __future__ import annotations

import torch
from torch import Tensor

from setloss.losses import Loss, TverskyFamily, as_loss
from setloss.nn.sets import Sets
from setloss.setfunctions.tversky import loss_value

PROBABILITIES = ("sigmoid", "softmax")
"""Margins under which a slack is the probability of a mistake."""


def takes_expected_counts(loss: str | Loss, margins: str) -> bool:
    """Whether the loss is a formula of counts that need not be whole, and mistakes have probabilities."""
    return margins in PROBABILITIES and isinstance(as_loss(loss), TverskyFamily)


def relaxed_values(sets: Sets, loss: str | Loss, otherwise: Tensor) -> Tensor:
    """One number per row of scores y (1 - q); `otherwise` for sets without positives, which any alarm costs 1."""
    wrong = 1 - sets.scores.abs()
    if sets.valid is not None:
        wrong = torch.where(sets.valid, wrong, 0.0)
    positive = sets.truth if sets.valid is None else sets.truth & sets.valid
    missed, alarms = torch.where(sets.truth, wrong, 0.0).sum(1), torch.where(sets.truth, 0.0, wrong).sum(1)
    return relaxed_loss(missed, alarms, positive.sum(1, dtype=wrong.dtype), loss, otherwise)


def relaxed_loss(missed: Tensor, alarms: Tensor, positives: Tensor, loss: str | Loss, otherwise: Tensor) -> Tensor:
    """The loss at expected numbers, or weights, of missed positives and false alarms."""
    family = as_loss(loss)
    assert isinstance(family, TverskyFamily)
    a, b = map(float, family.weights)
    some = positives > 0
    found: Tensor = loss_value(missed, alarms, torch.where(some, positives, 1.0), a, b)
    return torch.where(some, found, otherwise)
