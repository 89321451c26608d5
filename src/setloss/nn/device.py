"""Cuts by tensor operations: every set at once, one sort per set, nothing leaves the device.

The tensor interpreter of plans that have a Lovász hinge, as L and B_D do: their numbers, a `Reading` of
`setloss.plans.records`, are computed where the counts are. Counts and sums are float64 where the device has it. The
formulas are those of `setloss.setfunctions.tversky`: plain arithmetic, which runs on tensors as it does on arrays and
inside the kernels.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import torch
from torch import Tensor

from setloss.plans.build import LossSurrogate
from setloss.plans.records import PartNumbers, Reading
from setloss.setfunctions import tversky
from setloss.setfunctions.counts import Kind


@dataclass(frozen=True)
class Sorted:
    """Sets (rows) with their elements by ascending margin.

    `misses` and `alarms` count the positives and negatives before each place; elements outside their set come last,
    with `inside` false and margin 0.
    """

    order: Tensor
    margins: Tensor
    positive: Tensor
    inside: Tensor
    misses: Tensor
    alarms: Tensor
    positives: Tensor
    negatives: Tensor

    @classmethod
    def of(cls, margins: Tensor, truth: Tensor, valid: Tensor | None) -> Self:
        """One stable sort; masked elements sort as if their margin were infinite."""
        wide = torch.float32 if margins.device.type == "mps" else torch.float64
        keys = margins if valid is None else margins.masked_fill(~valid, torch.inf)
        ascending, order = torch.sort(keys, dim=1, stable=True)
        inside = torch.ones_like(truth) if valid is None else valid.gather(1, order)
        positive = truth.gather(1, order) & inside
        negative = inside & ~positive
        misses, alarms = (flags.to(torch.int64).cumsum(1) for flags in (positive, negative))
        total = misses[:, -1:].to(wide), alarms[:, -1:].to(wide)
        before = (misses - positive.to(torch.int64)).to(wide), (alarms - negative.to(torch.int64)).to(wide)
        return cls(order, ascending.masked_fill(~inside, 0).to(wide), positive, inside, *before, *total)


@lru_cache(maxsize=1024)
def runs_here(plan: LossSurrogate) -> bool:
    """Whether `cuts` knows the plan; rescaled losses (slack, margin) are left to the kernels of the CPU."""
    reading = plan.read(1, 1)
    if reading is None or reading.lovasz.kind == Kind.NONE:
        return False
    return reading.rescaled.kind == Kind.NONE or (
        reading.rescaled.kind == Kind.TVERSKY_SUPERMODULAR and not reading.margin
    )


def cuts(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> tuple[Tensor, Tensor]:
    """The value of every row's surrogate and its gradient in the scores."""
    if not scores.shape[1]:
        return scores.new_zeros(len(scores)), torch.zeros_like(scores)
    ranked = Sorted.of(torch.where(truth, scores, -scores), truth, valid)
    reading = plan.read(ranked.positives, ranked.negatives)
    assert reading is not None
    values, slopes = _hinge(ranked, reading)
    if reading.rescaled.kind != Kind.NONE:
        value, slope = _curve(ranked, reading)
        values, slopes = values + value, slopes + slope
    finite = torch.isfinite(scores) if valid is None else torch.isfinite(scores) | ~valid
    broken = ~finite.all(1, keepdim=True)
    values, slopes = values.masked_fill(broken, torch.nan), slopes.masked_fill(broken & ranked.inside, torch.nan)
    gradient = torch.empty_like(slopes).scatter_(1, ranked.order, slopes).to(scores.dtype)
    return values.squeeze(1).to(scores.dtype), torch.where(truth, -gradient, gradient).contiguous()


def _gains(ranked: Sorted, part: PartNumbers) -> Tensor:
    """The increment of f / weight that each element brings in the order of the margins."""
    n, q, m = ranked.misses, ranked.alarms, ranked.positives
    b, a = part.false_negative, part.false_positive
    if part.kind == Kind.LINEAR:
        # Not `torch.where` of two numbers, which are float32 to it.
        blank = torch.zeros_like(n)
        return torch.where(ranked.positive, blank + b, blank + a)
    split = part.kind == Kind.TVERSKY_SUBMODULAR
    miss = (tversky.submodular_false_negative_step if split else tversky.false_negative_step)(n, q, m, a, b)
    # Without positives l reads 0/0 before the first alarm, which is then all of the loss.
    first = ((q == 0) & (a > 0)).to(n.dtype)
    gains = torch.where(ranked.positive, miss, torch.where(m > 0, tversky.false_positive_step(n, q, m, a, b), first))
    if not isinstance(part.cap, Tensor):
        return gains
    room = part.cap - (tversky.loss_value(n, q, m, a, b) - tversky.supermodular_value(n, m, b))
    capped = torch.minimum(gains.clamp(min=0), room.clamp(min=0))
    return torch.where(part.cap < torch.inf, capped, gains)  # without a cap, room may be 0/0 in empty sets


def _hinge(ranked: Sorted, reading: Reading) -> tuple[Tensor, Tensor]:
    """sum_j s_j (f(first j) - f(first j - 1)), the positive part inside or outside the sum."""
    gains, weight = _gains(ranked, reading.lovasz).masked_fill(~ranked.inside, 0.0), reading.lovasz.weight
    gains = gains if weight == 1 else weight * gains
    slack = 1 - ranked.margins
    elementwise = torch.zeros_like(ranked.positives, dtype=torch.bool) | reading.elementwise
    gains = torch.where(elementwise & (slack <= 0), 0.0, gains)
    value = (gains * slack).sum(1, keepdim=True)
    kept = elementwise | (value > 0)
    return torch.where(kept, value, 0.0), torch.where(kept, gains, 0.0)


def _curve(ranked: Sorted, reading: Reading) -> tuple[Tensor, Tensor]:
    """max_A g(A) (1 - c sum_A m), g of the false negatives alone: negatives are in if their margin is negative."""
    m, scale, part = ranked.positives, reading.scale, reading.rescaled
    others = ~ranked.positive & (ranked.margins < 0)
    total = torch.where(ranked.positive, ranked.margins, 0.0).cumsum(1)
    total = total + torch.where(others, ranked.margins, 0.0).sum(1, keepdim=True)
    g = tversky.supermodular_value(ranked.misses + 1, m, part.false_negative)
    g = g if part.weight == 1 else part.weight * g
    values = torch.where(ranked.positive & (g > 0), g * (1 - scale * total), 0.0)
    best, place = values.max(1, keepdim=True)
    loss = torch.where(best > 0, g.gather(1, place), 0.0)
    chosen = others | (ranked.positive & (ranked.misses <= ranked.misses.gather(1, place)))
    return best, torch.where(chosen, scale * loss, 0.0)
