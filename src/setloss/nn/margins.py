"""The score of a decision: the margins m of the cuts, from logits h.

The operators are functions of margins, m_i > 0 where decision i is right, and of slacks s_i = 1 - m_i. `scores_of`
returns y_i m_i, y_i = 1 where the truth holds and -1 elsewhere, which is what the cuts take.

- ``"logits"``: m_i = y_i h_i. Convex; bounds the loss of sign(h).
- ``"probabilities"``: m_i is the probability of the true answer, by a sigmoid or for classes a softmax, so the slack
  s_i is the probability of the mistake. L of Jaccard is then the loss known as LovaszSoftmax, to the last digit. Not
  convex and no bound, but bounded and smooth in h: what trains networks best (docs/pytorch.md).
- ``"argmax"``: for class c, m_i = h_ic - max_{k != c} h_ik on pixels of class c, m_i = h_iy - h_ic on pixels of
  another class y. Margins are concave in h, and at most 0 wherever the argmax prediction is a mistake for c: L of an
  increasing submodular loss and S and M of any loss stay convex in h and bound the class's loss of the argmax
  prediction.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from setloss.nn.targets import Decisions

Margins = Literal["logits", "probabilities", "argmax"]


def scores_of(given: Decisions, margins: Margins) -> Tensor:
    """The product y m of every decision, of the shape of its truth; logits that do not count spoil no others."""
    if margins == "logits":
        return given.logits
    logits, counted = given.logits, given.counted
    if counted is not None and given.of_classes:
        logits = logits.masked_fill(~counted, 0.0)
    if margins == "probabilities":
        return probabilities(logits, given.of_classes) - (~given.truth).to(logits.dtype)
    if logits.shape[1] < 2:
        raise ValueError("margins='argmax' compares classes; the logits have one only")
    labels = given.labels if given.valid is None else torch.where(given.valid, given.labels, 0)
    return _scores_of_argmax(logits, labels)


def probabilities(logits: Tensor, of_classes: bool) -> Tensor:
    """The probability of every decision that its truth holds."""
    return logits.softmax(1) if of_classes else logits.sigmoid()


def _scores_of_argmax(logits: Tensor, labels: Tensor) -> Tensor:
    """The product y m of every decision ``(N, C, ...)`` about pixels of classes `labels` ``(N, ...)``.

    The slope of the largest other logit is given to one of those that are equal. Gathering by class numbers costs a
    pass over the pixels; masks of all classes would cost one over all decisions, forward and backward.
    """
    true = labels.to(torch.int64).unsqueeze(1)
    with torch.no_grad():
        rival = logits.scatter(1, true, -torch.inf).max(1, keepdim=True).indices  # argmax takes four times as long
    own = logits.gather(1, true)
    return (logits - own).scatter(1, true, own - logits.gather(1, rival))
