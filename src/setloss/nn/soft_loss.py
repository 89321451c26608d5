"""The loss at expected counts, known as soft Dice and soft Jaccard: mixed with the surrogate of probabilities.

With q_i the probability of a mistake at element i, both this and L are extensions of the loss. L(q) is the expected
loss if one threshold, common to all elements, decides where mistakes are made; (a sum_N q + b sum_P q) / (...) is, to
first order, that of independent mistakes. While a network cannot yet tell positives from negatives the slope of L is
all on one of them; here it is shared out and smooth. Late in training L weighs what is still wrong.

The share of this loss is a number, or "adaptive": this loss itself, set by set, taken as a constant. Weights of more
than 1 together are then divided by their sum, so the soft loss of Jaccard is soft Dice: twice as steep while little
is found, half as steep where a set is nearly right. Training starts as with cross-entropy + soft Dice.

Sets without positives have no loss at expected counts; B, the largest probability of a false alarm, is all there is.
Its slope is as large at the start, when every probability is about the same, as that of the sets with positives, and
teaches a network that cannot tell small objects from background to find nothing. Without any slope false alarms on
empty images stay. So with "adaptive" this slope comes in later than that of B on the other sets. Its factor is the
square of their mean overlap 1 - s: a hundredth where the overlap is a tenth, a half where it is .7, and 0 in a batch
without any.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from setloss.losses import Form
from setloss.nn.sets import Sets
from setloss.setfunctions.tversky import denominator

SoftShare = float | Literal["adaptive"]
"""Share of the loss at expected counts: a number from 0 to 1, or for each set its own."""


def mixed_values(sets: Sets, surrogate: Tensor, loss: Form, share: SoftShare) -> Tensor:
    """`mixed` for rows of scores y (1 - q), from one number of the surrogate per row."""
    positive = sets.truth.to(sets.scores.dtype)
    p = sets.scores + (1 - positive)  # the probability of a positive, 1 - q or q
    if sets.valid is not None:
        p, positive = torch.where(sets.valid, p, 0.0), torch.where(sets.valid, positive, 0.0)
    found, some = torch.linalg.vecdot(p, positive), positive.sum(1)
    return mixed(surrogate, (some - found, p.sum(1) - found, some), loss, share)


def mixed(surrogate: Tensor, counts: tuple[Tensor, Tensor, Tensor], loss: Form, share: SoftShare) -> Tensor:
    """(1 - s) B + s l of every set, l the loss at expected counts, s the share, or l itself as a constant.

    For the latter l is `with_weights_of_one`.
    Sets without positives have the value B, with "adaptive" times a factor from 0 to 1 in the slope.

    Parameters
    ----------
    surrogate
        B, one number per set.
    counts
        The expected numbers, or weights, of missed positives and of false alarms, and the number of positives.
    loss, share
        The numbers of a loss of the Tversky family, and s.
    """
    missed, alarms, positives = counts
    some = positives > 0
    soft = with_weights_of_one(loss) if share == "adaptive" else loss
    found = expected_loss(missed, alarms, torch.where(some, positives, 1.0), soft)
    if share != "adaptive":
        return torch.lerp(surrogate, torch.where(some, found, surrogate), share)
    overlap = torch.where(some, 1 - found, 0.0).sum() / some.sum().clamp(min=1)
    constant = torch.where(some, found, 1 - overlap**2).detach()
    return torch.lerp(surrogate, torch.where(some, found, surrogate.detach()), constant)


def with_weights_of_one(loss: Form) -> Form:
    """The loss with weights a + b that sum to at most 1: Dice for Jaccard, Dice and F-beta themselves."""
    total = loss.false_negative + loss.false_positive
    if total <= 1:
        return loss
    return loss._replace(false_negative=loss.false_negative / total, false_positive=loss.false_positive / total)


def expected_loss(missed: Tensor, alarms: Tensor, positives: Tensor, loss: Form) -> Tensor:
    """The loss (b n + a q) / (m - n + b n + a q) at real counts; where it reads 0/0, no mistake has a weight: 0."""
    a, b = loss.false_positive, loss.false_negative
    total: Tensor = denominator(missed, alarms, positives, a, b)
    return (b * missed + a * alarms) / torch.where(total > 0, total, 1.0)
