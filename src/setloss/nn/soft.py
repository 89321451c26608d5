"""L of Jaccard with soft labels and weights of elements, exactly.

An element of weight e with label t is two elements: a positive one of weight e t and a negative one of weight e (1 -
t), each with the margin that its label gives. For weights w the loss w(A) / (w(P) + w(A n N)) is a function (a + b) /
(M + b) of the weight a of missed positives and b of false alarms. All its second derivatives are <= 0, so it is
submodular, and its Lovász hinge is sum_j s_j (gain of j) in the order of descending slack s, with the gains below.
With labels 0 and 1 and weights 1 this is L of Jaccard as everywhere else.

Losses that are not submodular have no such gains, and their decomposition is a table over whole counts: refused.
"""

from __future__ import annotations

import torch
from torch import Tensor

from setloss.losses import Loss, TverskyFamily, as_loss


def takes_weights(loss: str | Loss, operator: object) -> bool:
    """Whether this is L of Jaccard by one of its names."""
    chosen = as_loss(loss)
    jaccard = isinstance(chosen, TverskyFamily) and tuple(map(float, chosen.weights)) == (1.0, 1.0)
    return jaccard and operator in ("lovasz", "bd", "bd-monotone")


def weighted_jaccard(as_positive: Tensor, as_negative: Tensor, shares: Tensor, weight: Tensor | None) -> Tensor:
    """The Lovász hinge of every row.

    Parameters
    ----------
    as_positive, as_negative
        The scores of the elements if their label is 1, and if it is 0; one set per row.
    shares
        The labels in [0, 1].
    weight
        The weight of every element, 0 for those that do not count; None for 1.
    """
    wide = torch.float32 if shares.device.type == "mps" else torch.float64
    t = shares.to(wide)
    e = torch.ones_like(t) if weight is None else weight.to(wide)
    slack = torch.cat([1 - as_positive, 1 + as_negative], 1).to(wide).clamp(min=0)
    positive, negative = torch.cat([e * t, 0 * t], 1), torch.cat([0 * t, e * (1 - t)], 1)
    with torch.no_grad():
        order = slack.argsort(dim=1, descending=True, stable=True)
        ordered = _gains(positive.gather(1, order), negative.gather(1, order))
        gains = torch.zeros_like(ordered).scatter(1, order, ordered)
    terms = torch.where(gains > 0, gains * slack, 0.0)  # an element without weight may have any score
    return terms.sum(1).to(as_positive.dtype)


def _gains(positive: Tensor, negative: Tensor) -> Tensor:
    """L after each element less l before it, from (a + b) / (M + b) without a difference of near numbers.

    A positive element of weight w gains w / (M + b), a negative one w (M - a) / ((M + b)(M + b + w)). Without
    positives l is 1 from the first false alarm on.
    """
    total = positive.sum(1, keepdim=True)
    missed, alarms = positive.cumsum(1) - positive, negative.cumsum(1) - negative
    union = total + alarms
    gains = positive / union + negative * (total - missed).clamp(min=0) / (union * (union + negative))
    first = (negative > 0) & (alarms <= 0)
    return torch.where(total > 0, gains, first.to(gains.dtype))
