"""L of Jaccard with soft labels and weights of elements, exactly.

An element of weight e with label t is two elements: a positive one of weight e t and a negative one of weight e (1 -
t), each with the margin that its label gives. For weights w the loss w(A) / (w(P) + w(A n N)) is a function (a + b) /
(M + b) of the weight a of missed positives and b of false alarms. All its second derivatives are <= 0, so it is
submodular, and its Lovász hinge is sum_j s_j (gain of j) in the order of descending slack s, with the gains below.
With labels 0 and 1 and weights 1 this is L of Jaccard as everywhere else.

Losses that are not submodular have no such gains, and their decomposition is a table over whole counts: refused.
"""

import torch
from torch import Tensor

from setloss.nn.reduction import checked_factors
from setloss.nn.sets import Sets
from setloss.nn.targets import Decisions


def element_weights(given: Decisions, weight: object) -> Tensor | None:
    """The weight of every decision, from one per pixel."""
    if weight is None:
        return None
    factors = checked_factors(weight, "element_weight", given.labels.shape, "element")
    if not factors.is_floating_point():
        raise TypeError(f"element_weight is a tensor of real factors; got {factors.dtype}")
    wide = factors.to(given.logits.dtype)
    return wide if wide.shape == given.truth.shape else wide.unsqueeze(1).expand(given.truth.shape)


def weighted_jaccard(sets: Sets) -> Tensor:
    """The Lovász hinge of every row."""
    assert sets.labels is not None
    wide = torch.float32 if sets.labels.device.type == "mps" else torch.float64
    t = sets.labels.to(wide)
    e = torch.ones_like(t) if sets.weight is None else sets.weight.to(wide)
    as_negative = sets.predicted if sets.margins == "logits" else sets.predicted - 1
    slack = torch.cat([1 - sets.predicted, 1 + as_negative], 1).to(wide).clamp(min=0)
    positive, negative = torch.cat([e * t, 0 * t], 1), torch.cat([0 * t, e * (1 - t)], 1)
    with torch.no_grad():
        order = slack.argsort(dim=1, descending=True, stable=True)
        ordered = _gains(positive.gather(1, order), negative.gather(1, order))
        gains = torch.zeros_like(ordered).scatter(1, order, ordered)
    terms = torch.where(gains > 0, gains * slack, 0.0)  # an element without weight may have any score
    return terms.sum(1).to(sets.predicted.dtype)


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
