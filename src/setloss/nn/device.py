"""Cuts by tensor operations: every set at once, one sort per set, nothing leaves the device.

Counts and sums are float64 where the device has it. The formulas are those of `setloss.setfunctions.tversky`: plain
arithmetic, which runs on tensors as it does on arrays and inside the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from setloss.nn.plan import ClosedForm, ModularForm, TverskyForm
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
    for part in (_hinge, _curve, _search):
        value, slope = part(ranked, closed)
        values, slopes = values + value, slopes + slope
    finite = torch.isfinite(scores) if valid is None else torch.isfinite(scores) | ~valid
    broken = ~finite.all(1, keepdim=True)
    values, slopes = values.masked_fill(broken, torch.nan), slopes.masked_fill(broken & ranked.inside, torch.nan)
    gradient = torch.empty_like(slopes).scatter_(1, ranked.order, slopes).to(scores.dtype)
    return values.squeeze(1).to(scores.dtype), torch.where(truth, -gradient, gradient).contiguous()


Part = tuple[Tensor | float, Tensor | float]


def _hinge(ranked: Sorted, closed: ClosedForm) -> Part:
    """sum_j s_j (f(first j) - f(first j - 1)), the positive part inside or outside the sum."""
    if not closed.hinged:
        return 0.0, 0.0
    gains = _gains(ranked, closed).masked_fill(~ranked.inside, 0.0)
    slack = 1 - ranked.margins
    elementwise = _elementwise(ranked, closed)
    gains = torch.where(elementwise & (slack <= 0), 0.0, gains)
    value = (gains * slack).sum(1, keepdim=True)
    kept = elementwise | (value > 0)
    return torch.where(kept, value, 0.0), torch.where(kept, gains, 0.0)


def _elementwise(ranked: Sorted, closed: ClosedForm) -> Tensor:
    if closed.hinged != "submodular":
        return torch.ones_like(ranked.positives, dtype=torch.bool)
    return _last_miss(ranked, closed.form) >= 0


def _last_miss(ranked: Sorted, form: TverskyForm | ModularForm) -> Tensor:
    """The smallest step of f, which is increasing iff this is >= 0; 0 for sets without positives."""
    assert isinstance(form, TverskyForm)
    m = ranked.positives
    step = tversky.submodular_false_negative_step(m - 1, ranked.negatives, m, form.a, form.b)
    return torch.where(m > 0, step, 0.0)


def _gains(ranked: Sorted, closed: ClosedForm) -> Tensor:
    n, q, m, form = ranked.misses, ranked.alarms, ranked.positives, closed.form
    if isinstance(form, ModularForm):
        # Not `torch.where` of two numbers, which are float32 to it.
        return torch.full_like(n, form.alarm).masked_fill(ranked.positive, form.miss) / _elements(ranked, form)
    miss = _loss_step(n, q, m, form, 0)
    if closed.hinged != "loss":
        miss = torch.where(m > 0, tversky.submodular_false_negative_step(n, q, m, form.a, form.b), miss)
    gains = torch.where(ranked.positive, miss, _loss_step(n, q, m, form, 1))
    if closed.hinged != "closure":
        return gains
    cap = m * form.b / (m - (1 - form.b))
    room = cap - (_loss(n, q, m, form) - tversky.supermodular_value(n, m, form.b))
    capped = torch.minimum(gains.clamp(min=0), room.clamp(min=0))
    return torch.where((m > 0) & (_last_miss(ranked, form) < 0), capped, gains)


def _elements(ranked: Sorted, form: ModularForm) -> Tensor:
    return (ranked.positives + ranked.negatives).clamp(min=1) if form.mean else torch.ones_like(ranked.positives)


def _loss(n: Tensor, q: Tensor, m: Tensor, form: TverskyForm) -> Tensor:
    """l(n, q), 0 where it reads 0/0."""
    positive = tversky.denominator(n, q, m, form.a, form.b) > 0
    return torch.where(positive, tversky.loss_value(n, q, m, form.a, form.b), 0.0)


def _loss_step(n: Tensor, q: Tensor, m: Tensor, form: TverskyForm, axis: int) -> Tensor:
    """One more false negative or false positive; a plain difference only where l reads 0/0 at either end."""
    further = (n + 1, q) if axis == 0 else (n, q + 1)
    rule = tversky.false_negative_step if axis == 0 else tversky.false_positive_step
    ends = [tversky.denominator(*at, m, form.a, form.b) > 0 for at in ((n, q), further)]
    step = rule(n, q, m, form.a, form.b)
    return torch.where(ends[0] & ends[1], step, _loss(*further, m, form) - _loss(n, q, m, form))


def _scale(ranked: Sorted, closed: ClosedForm) -> Tensor:
    """The scale c of every set."""
    if closed.scale == "mean":
        return 2 / (ranked.positives + ranked.negatives).clamp(min=1)
    return torch.full_like(ranked.positives, closed.scale)


def _objective(loss: Tensor, total: Tensor, scale: Tensor, margin: bool) -> Tensor:
    if margin:
        return loss - scale * total
    return torch.where(loss > 0, loss * (1 - scale * total), 0.0)


def _curve(ranked: Sorted, closed: ClosedForm) -> Part:
    """max_A g(A) (1 - c sum_A m), g of the false negatives alone: negatives are in if their margin is negative."""
    if closed.rescaled != "supermodular":
        return 0.0, 0.0
    assert isinstance(closed.form, TverskyForm)
    m = ranked.positives
    others = ~ranked.positive & (ranked.margins < 0)
    total = torch.where(ranked.positive, ranked.margins, 0.0).cumsum(1)
    total = total + torch.where(others, ranked.margins, 0.0).sum(1, keepdim=True)
    g = tversky.supermodular_value(ranked.misses + 1, m, closed.form.b)
    scale = _scale(ranked, closed)
    values = torch.where(ranked.positive & (m > 0), _objective(g, total, scale, margin=False), 0.0)
    best, place = values.max(1, keepdim=True)
    loss = torch.where(best > 0, g.gather(1, place), 0.0)
    chosen = others | (ranked.positive & (ranked.misses <= ranked.misses.gather(1, place)))
    return best, torch.where(chosen, scale * loss, 0.0)


def _search(ranked: Sorted, closed: ClosedForm) -> Part:
    """max_A of the rescaled loss: for every number n of false negatives a binary search in the false positives."""
    if closed.rescaled != "loss":
        return 0.0, 0.0
    m, negatives, scale = ranked.positives, ranked.negatives, _scale(ranked, closed)
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
        helps = _helps(n, inside.to(n.dtype), alarm_margins.gather(1, inside), total, ranked, closed) & (low < high)
        low, high = torch.where(helps, middle + 1, low), torch.where(helps, high, torch.minimum(middle, high))
    loss = _loss_at(n, low.to(n.dtype), ranked, closed.form)
    values = torch.where(
        reachable, _objective(loss, sums[0] + sums[1].gather(1, low), scale, closed.margin), -torch.inf
    )
    best, place = values.max(1, keepdim=True)
    won = best > 0
    worst = torch.where(won, n.gather(1, place), 0), torch.where(won, low.gather(1, place), 0)
    chosen = torch.where(ranked.positive, ranked.misses < worst[0], ranked.inside & (ranked.alarms < worst[1]))
    rate = scale if closed.margin else scale * loss.gather(1, place)
    return torch.where(won, best, 0.0), torch.where(chosen, rate, 0.0)


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


def _loss_at(n: Tensor, q: Tensor, ranked: Sorted, form: TverskyForm | ModularForm) -> Tensor:
    if isinstance(form, ModularForm):
        return (form.miss * n + form.alarm * q) / _elements(ranked, form)
    return _loss(n, q, ranked.positives, form)


def _helps(n: Tensor, q: Tensor, margin: Tensor, total: Tensor, ranked: Sorted, closed: ClosedForm) -> Tensor:
    """Whether the objective rises from q to q + 1 false positives; `total` includes the new one's margin."""
    form = closed.form
    if isinstance(form, ModularForm):
        step = form.alarm / _elements(ranked, form)
    else:
        step = _loss_step(n, q, ranked.positives, form, 1)
    scale = _scale(ranked, closed)
    if closed.margin:
        return step > scale * margin
    return step * (1 - scale * total) > scale * _loss_at(n, q, ranked, form) * margin
