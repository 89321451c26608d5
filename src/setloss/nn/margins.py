"""The score of a decision: the margins m of the cuts, from logits h.

The operators are functions of margins, m_i > 0 where decision i is right, and of slacks s_i = 1 - m_i. `scores_of`
returns y_i m_i, y_i = 1 where the truth holds and -1 elsewhere, which is what the cuts take.

- ``"logits"``: m_i = y_i h_i. Convex; bounds the loss of sign(h).
- ``"probabilities"``: m_i is the probability of the true answer, by a sigmoid or for classes a softmax, so the slack
  s_i is the probability of the mistake. L of Jaccard is then the loss known as LovaszSoftmax, to the last digit. Not
  convex and no bound, but bounded and smooth in h: what trains networks best (docs/pytorch.md).
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from setloss.nn.targets import Decisions

Margins = Literal["logits", "probabilities"]


def scores_of(given: Decisions, margins: Margins) -> Tensor:
    """The product y m of every decision, of the shape of its truth; logits that do not count spoil no others."""
    if margins == "logits":
        return given.logits
    logits, counted = given.logits, given.counted
    if counted is not None and given.of_classes:
        logits = logits.masked_fill(~counted, 0.0)
    return probabilities(logits, given.of_classes) - (~given.truth).to(logits.dtype)


def probabilities(logits: Tensor, of_classes: bool) -> Tensor:
    """The probability of every decision that its truth holds."""
    return logits.softmax(1) if of_classes else logits.sigmoid()
