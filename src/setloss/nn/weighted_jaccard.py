"""L of Jaccard with soft labels and weights of elements, exactly.

An element of weight e with label t is two elements: a positive one of weight e t and a negative one of weight e (1 -
t), each with the margin that its label gives. For weights w the loss w(A) / (w(P) + w(A n N)) is a function (a + b) /
(M + b) of the weight a of missed positives and b of false alarms. All its second derivatives are <= 0, so it is
submodular, and its Lovász hinge is sum_j s_j (gain of j) in the order of descending slack s, with the gains below.
With labels 0 and 1 and weights 1 this is L of Jaccard as everywhere else.

Losses that are not submodular have no such gains, and their decomposition is a table over whole counts: refused.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from setloss.nn.check_targets import read
from setloss.nn.sets import Margins, Over, Sets, probabilities, rows_of
from setloss.nn.targets import Decisions, Mode


@dataclass(frozen=True)
class Weighted:
    """Rows of scores of the elements if their label is 1 and if it is 0, soft labels in [0, 1], and weights.

    A weight is 0 for elements that do not count; None for 1 everywhere.
    """

    as_positive: Tensor
    as_negative: Tensor
    shares: Tensor
    weight: Tensor | None


def arrange_weighted(
    given: Decisions, mode: Mode, over: Over, margins: Margins, chosen: list[int] | None, weight: Tensor | None
) -> tuple[Sets, Weighted]:
    """The sets of a batch; a label above 0 counts as a positive where sets need one."""
    logits, counted = given.logits, given.counted
    shares = given.truth.to(logits.dtype) if given.shares is None else given.shares
    weights = element_weights(given, weight)
    if counted is not None:
        logits = logits.masked_fill(~counted, 0.0)
        weights = counted.to(logits.dtype) if weights is None else torch.where(counted, weights, 0.0)
    as_positive = as_negative = logits
    if margins == "probabilities":
        as_positive = probabilities(logits, given.of_classes)
        as_negative = as_positive - 1
    parts = as_positive, as_negative, shares, counted, weights
    (positive, negative, t, inside, e), shape = rows_of(parts, mode, over, chosen)
    return Sets(positive, t > 0, inside, shape), Weighted(positive, negative, t, e)


def element_weights(given: Decisions, weight: object) -> Tensor | None:
    """The weight of every decision, from one per pixel."""
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or not weight.is_floating_point():
        found = weight.dtype if isinstance(weight, Tensor) else type(weight).__name__
        raise TypeError(f"element_weight is a tensor of real factors; got {found}")
    if weight.shape != given.labels.shape:
        raise ValueError(
            f"one element_weight per element: expected shape {tuple(given.labels.shape)}; got {tuple(weight.shape)}"
        )
    if read((weight >= 0).all() & torch.isfinite(weight).all()) is False:
        raise ValueError("element_weight holds finite factors from 0 on")
    wide = weight.to(given.logits.dtype)
    return wide if wide.shape == given.truth.shape else wide.unsqueeze(1).expand(given.truth.shape)


def weighted_jaccard(given: Weighted) -> Tensor:
    """The Lovász hinge of every row."""
    wide = torch.float32 if given.shares.device.type == "mps" else torch.float64
    t = given.shares.to(wide)
    e = torch.ones_like(t) if given.weight is None else given.weight.to(wide)
    slack = torch.cat([1 - given.as_positive, 1 + given.as_negative], 1).to(wide).clamp(min=0)
    positive, negative = torch.cat([e * t, 0 * t], 1), torch.cat([0 * t, e * (1 - t)], 1)
    with torch.no_grad():
        order = slack.argsort(dim=1, descending=True, stable=True)
        ordered = _gains(positive.gather(1, order), negative.gather(1, order))
        gains = torch.zeros_like(ordered).scatter(1, order, ordered)
    terms = torch.where(gains > 0, gains * slack, 0.0)  # an element without weight may have any score
    return terms.sum(1).to(given.as_positive.dtype)


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
