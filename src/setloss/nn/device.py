"""Cuts by tensor operations: every set at once, one sort per set, nothing leaves the device.

The tensor interpreter of plans: their fields, `setloss.plans.build.Fields`, are computed where the counts are.
Counts and sums are float64 where the device has it. The formulas are those of `setloss.setfunctions.tversky`: plain
arithmetic, which runs on tensors as it does on arrays and inside the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from setloss.plans.build import ClosedForm, Fields
from setloss.plans.records import LINEAR, NONE, TVERSKY_SUBMODULAR, TVERSKY_SUPERMODULAR
from setloss.setfunctions import tversky


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
    def of(cls, margins: Tensor, truth: Tensor, valid: Tensor | None) -> Sorted:
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


def cuts(scores: Tensor, truth: Tensor, valid: Tensor | None, closed: ClosedForm) -> tuple[Tensor, Tensor]:
    """The value of every row's surrogate and its gradient in the scores."""
    if not scores.shape[1]:
        return scores.new_zeros(len(scores)), torch.zeros_like(scores)
    ranked = Sorted.of(torch.where(truth, scores, -scores), truth, valid)
    values, slopes = torch.zeros_like(ranked.positives), torch.zeros_like(ranked.margins)
    plan = SetPlans(closed, closed.fields(ranked.positives, ranked.negatives, torch))
    parts = [_hinge] if closed.lovasz != NONE else []
    if closed.rescaled != NONE:
        parts.append(_curve if closed.rescaled == TVERSKY_SUPERMODULAR else _search)
    for part in parts:
        value, slope = part(ranked, plan)
        values, slopes = values + value, slopes + slope
    finite = torch.isfinite(scores) if valid is None else torch.isfinite(scores) | ~valid
    broken = ~finite.all(1, keepdim=True)
    values, slopes = values.masked_fill(broken, torch.nan), slopes.masked_fill(broken & ranked.inside, torch.nan)
    gradient = torch.empty_like(slopes).scatter_(1, ranked.order, slopes).to(scores.dtype)
    return values.squeeze(1).to(scores.dtype), torch.where(truth, -gradient, gradient).contiguous()


Part = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class SetPlans:
    """The plans of all rows: what they have in common, and a column of each field that depends on the counts."""

    kinds: ClosedForm
    fields: Fields

    def loss(self, n: Tensor, q: Tensor, ranked: Sorted) -> Tensor:
        """l(n, q); `undefined` where it reads 0/0."""
        b, a = self.fields.false_negative, self.fields.false_positive
        if self.kinds.rescaled == LINEAR:
            return torch.as_tensor(b * n + a * q)
        m = ranked.positives
        defined = tversky.denominator(n, q, m, a, b) > 0
        return torch.where(defined, tversky.loss_value(n, q, m, a, b), self.kinds.undefined)

    def step(self, axis: int, n: Tensor, q: Tensor, ranked: Sorted) -> Tensor:
        """One more false negative or false positive; a plain difference only where l reads 0/0 at either end."""
        b, a = self.fields.false_negative, self.fields.false_positive
        if self.kinds.rescaled == LINEAR:
            return torch.zeros_like(n).add(b if axis == 0 else a)
        m = ranked.positives
        further = (n + 1, q) if axis == 0 else (n, q + 1)
        rule = tversky.false_negative_step if axis == 0 else tversky.false_positive_step
        ends = [tversky.denominator(*at, m, a, b) > 0 for at in ((n, q), further)]
        difference = self.loss(*further, ranked) - self.loss(n, q, ranked)
        return torch.where(ends[0] & ends[1], rule(n, q, m, a, b), difference)

    def gains(self, ranked: Sorted) -> Tensor:
        """The increment of f that each element brings in the order of the margins."""
        n, q, m = ranked.misses, ranked.alarms, ranked.positives
        b, a = self.fields.false_negative, self.fields.false_positive
        if self.kinds.lovasz == LINEAR:
            # Not `torch.where` of two numbers, which are float32 to it.
            blank = torch.zeros_like(n)
            return torch.where(ranked.positive, blank + b, blank + a)
        if self.kinds.lovasz == TVERSKY_SUBMODULAR:
            miss = tversky.submodular_false_negative_step(n, q, m, a, b)
        else:
            miss = self.step(0, n, q, ranked)
        gains = torch.where(ranked.positive, miss, self.step(1, n, q, ranked))
        if not self.kinds.closure:
            return gains
        room = self.fields.cap - (self.loss(n, q, ranked) - tversky.supermodular_value(n, m, b))
        capped = torch.minimum(gains.clamp(min=0), room.clamp(min=0))
        return torch.where(self.fields.cap < torch.inf, capped, gains)


def _hinge(ranked: Sorted, plan: SetPlans) -> Part:
    """sum_j s_j (f(first j) - f(first j - 1)), the positive part inside or outside the sum."""
    gains = plan.gains(ranked).masked_fill(~ranked.inside, 0.0)
    slack = 1 - ranked.margins
    elementwise = torch.zeros_like(ranked.positives, dtype=torch.bool) | plan.fields.elementwise
    gains = torch.where(elementwise & (slack <= 0), 0.0, gains)
    value = (gains * slack).sum(1, keepdim=True)
    kept = elementwise | (value > 0)
    return torch.where(kept, value, 0.0), torch.where(kept, gains, 0.0)


def _objective(loss: Tensor, total: Tensor, scale: Tensor, margin: bool) -> Tensor:
    if margin:
        return loss - scale * total
    return torch.where(loss > 0, loss * (1 - scale * total), 0.0)


def _curve(ranked: Sorted, plan: SetPlans) -> Part:
    """max_A g(A) (1 - c sum_A m), g of the false negatives alone: negatives are in if their margin is negative."""
    m, scale = ranked.positives, plan.fields.scale
    others = ~ranked.positive & (ranked.margins < 0)
    total = torch.where(ranked.positive, ranked.margins, 0.0).cumsum(1)
    total = total + torch.where(others, ranked.margins, 0.0).sum(1, keepdim=True)
    g = tversky.supermodular_value(ranked.misses + 1, m, plan.fields.false_negative)
    values = torch.where(ranked.positive, _objective(g, total, scale, margin=False), 0.0)
    best, place = values.max(1, keepdim=True)
    loss = torch.where(best > 0, g.gather(1, place), 0.0)
    chosen = others | (ranked.positive & (ranked.misses <= ranked.misses.gather(1, place)))
    return best, torch.where(chosen, scale * loss, 0.0)


def _search(ranked: Sorted, plan: SetPlans) -> Part:
    """max_A of the rescaled loss: for every number n of false negatives a binary search in the false positives."""
    m, negatives, scale = ranked.positives, ranked.negatives, plan.fields.scale
    sums, alarm_margins = _sums(ranked)
    size = ranked.margins.shape[1]
    n = torch.arange(size + 1, device=m.device, dtype=m.dtype).expand(len(m), -1)
    reachable = n <= m
    negative = ((ranked.margins < 0) & ~ranked.positive & ranked.inside).sum(1, keepdim=True)
    low, high = negative.expand(n.shape), negatives.to(torch.int64).expand(n.shape)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        inside = middle.clamp(max=size - 1)
        total = sums[0] + sums[1].gather(1, inside + 1)
        helps = _helps(n, inside.to(n.dtype), alarm_margins.gather(1, inside), total, ranked, plan) & (low < high)
        low, high = torch.where(helps, middle + 1, low), torch.where(helps, high, torch.minimum(middle, high))
    loss = plan.loss(n, low.to(n.dtype), ranked)
    objective = _objective(loss, sums[0] + sums[1].gather(1, low), scale, plan.kinds.margin)
    best, place = torch.where(reachable, objective, -torch.inf).max(1, keepdim=True)
    won = best > 0
    worst = torch.where(won, n.gather(1, place), 0), torch.where(won, low.gather(1, place), 0)
    chosen = torch.where(ranked.positive, ranked.misses < worst[0], ranked.inside & (ranked.alarms < worst[1]))
    rate = scale if plan.kinds.margin else scale * loss.gather(1, place)
    return torch.where(won, best, 0.0), torch.where(chosen, rate, 0.0)


def _helps(n: Tensor, q: Tensor, margin: Tensor, total: Tensor, ranked: Sorted, plan: SetPlans) -> Tensor:
    """Whether the objective rises from q to q + 1 false positives; `total` includes the new one's margin."""
    step = plan.step(1, n, q, ranked)
    scale: Tensor = plan.fields.scale
    if plan.kinds.margin:
        return step > scale * margin
    return step * (1 - scale * total) > scale * plan.loss(n, q, ranked) * margin


def _sums(ranked: Sorted) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """The sums of the k smallest margins of the positives and of the negatives, and the negatives' margins."""
    blank = torch.zeros_like(ranked.margins)
    grouped = []
    for members, rank in ((ranked.positive, ranked.misses), (ranked.inside & ~ranked.positive, ranked.alarms)):
        # Others are added to the last place, which only a full group uses, and then there are none.
        place = torch.where(members, rank, blank.shape[1] - 1).to(torch.int64)
        grouped.append(blank.scatter_add(1, place, torch.where(members, ranked.margins, 0.0)))
    start = blank[:, :1]
    return tuple(torch.cat([start, part.cumsum(1)], 1) for part in grouped), grouped[1]  # type: ignore[return-value]
