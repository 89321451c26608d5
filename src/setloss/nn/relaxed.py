"""The loss at expected counts, known as soft Dice and soft Jaccard: mixed with the surrogate of probabilities.

With q_i the probability of a mistake at element i, both this and L are extensions of the loss: they agree with it
where every q_i is 0 or 1. L(q) is the expected loss if one threshold, common to all elements, decides where mistakes
are made; (a sum_N q + b sum_P q) / (...) is, to first order, that of independent mistakes. While a network cannot yet
tell positives from negatives, the slope of L is all on the positives, and every score is pushed up, or all on the
negatives, and jumps between the two; here it is shared out between them and smooth. Late in training L weighs what is
still wrong.

The share of this loss is a number, or "adaptive": then it is this loss itself, set by set, taken as a constant. As
long as nothing is found the slope is that of the soft loss, and with every positive that is found L takes over.
Nothing can be found in a set without positives, so there the share is 1 and the slope 0: it is left to cross-entropy.
docs/pytorch.md has the comparison.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from setloss.losses import Loss, TverskyFamily, as_loss
from setloss.nn.sets import Sets
from setloss.nn.values import in_plain_mode
from setloss.setfunctions.tversky import loss_value

SoftShare = float | Literal["adaptive"]
"""How much of the loss at expected counts is mixed in: a number from 0 to 1, or for each set its own."""

PROBABILITIES = ("sigmoid", "softmax")
"""Margins under which a slack is the probability of a mistake."""


def takes_expected_counts(loss: str | Loss, margins: str) -> bool:
    """Whether the loss is a formula of counts that need not be whole, and mistakes have probabilities."""
    return margins in PROBABILITIES and isinstance(as_loss(loss), TverskyFamily)


def mixed_values(sets: Sets, surrogate: Tensor, loss: str | Loss, share: SoftShare) -> Tensor:
    """`mixed` for rows of scores y (1 - q), from one number of the surrogate per row."""
    if in_plain_mode(sets.scores):
        missed, alarms = super(torch.autograd.Function, ExpectedCounts).apply(  # type: ignore[no-untyped-call]
            sets.scores, sets.truth, sets.valid
        )
    else:
        missed, alarms = expected_counts(sets.scores, sets.truth, sets.valid)
    positive = sets.truth if sets.valid is None else sets.truth & sets.valid
    return mixed(surrogate, (missed, alarms, positive.sum(1, dtype=missed.dtype)), loss, share)


def mixed(surrogate: Tensor, counts: tuple[Tensor, Tensor, Tensor], loss: str | Loss, share: SoftShare) -> Tensor:
    """(1 - s) B + s l of every set, l the loss at expected counts, s the share, or l itself as a constant.

    Parameters
    ----------
    surrogate
        B, one number per set.
    counts
        The expected numbers, or weights, of missed positives and of false alarms, and the number of positives.
    loss, share
        A loss of the Tversky family, and s.
    """
    missed, alarms, positives = counts
    family = as_loss(loss)
    assert isinstance(family, TverskyFamily)
    a, b = map(float, family.weights)
    some = positives > 0
    found: Tensor = loss_value(missed, alarms, torch.where(some, positives, 1.0), a, b)
    if share != "adaptive":
        return torch.lerp(surrogate, torch.where(some, found, surrogate), share)
    # Without positives l is 1 for any alarm: all of the share, and no slope.
    constant = torch.where(some, found, 1.0).detach()
    return torch.lerp(surrogate, torch.where(some, found, surrogate.detach()), constant)


def expected_counts(scores: Tensor, truth: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
    """The expected numbers of missed positives and of false alarms of every row."""
    wrong = 1 - scores.abs()
    if valid is not None:
        wrong = torch.where(valid, wrong, 0.0)
    return (wrong * truth).sum(1), (wrong * ~truth).sum(1)


class ExpectedCounts(torch.autograd.Function):
    """The same with one pass backward: the counts are linear in the scores, which have the sign of the truth."""

    @staticmethod
    def forward(scores: Tensor, truth: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
        return expected_counts(scores, truth, valid)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: tuple[Tensor, Tensor]) -> None:
        _, truth, valid = inputs
        ctx.save_for_backward(truth, valid)
        ctx.save_for_forward(truth, valid)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        truth, valid = ctx.saved_tensors
        slope = torch.where(truth, -outer[0].unsqueeze(1), outer[1].unsqueeze(1))
        return slope if valid is None else torch.where(valid, slope, 0.0), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor]:
        truth, valid = ctx.saved_tensors
        moved = tangents[0] if valid is None else torch.where(valid, tangents[0], 0.0)
        return -(moved * truth).sum(1), (moved * ~truth).sum(1)
