"""Values of many sets, and their gradients: the cut of every row of scores, on the CPU and on devices.

On the CPU these are the core's compiled kernels on the memory of the tensors, sets shared out among torch's threads;
elsewhere `device_cuts` computes the same by tensor operations, one sort per set, that stay on the device. A cut is
the derivative of its surrogate: exact wherever that is differentiable. `values_of_sets` is a
`torch.autograd.Function`, and in a compiled graph the operator ``setloss::cuts``, which takes the numbers of a loss
(`setloss.losses.Form`) and the name of an operator, so that a graph refers to no object of ours. Losses without such
numbers (tables, cost curves, your own) and operators without a name break the graph.
"""

from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setloss.bags import Bags
from setloss.losses import Form, Loss, loss_of
from setloss.operators import Operator, operator_named
from setloss.operators.rescaling import Scale, check_scale
from setloss.plans.batch import batch_surrogate, row_cuts, run_kernel
from setloss.plans.build import LossSurrogate
from setloss.plans.records import PartNumbers, Reading
from setloss.setfunctions import tversky
from setloss.setfunctions.counts import Kind

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]

PARALLEL_ELEMENTS = 2**14
"""Fewest elements of a call that are shared out among threads."""


# ---------------------------------------------------------------- plans


def make_plan(loss: Loss, operator: str | Operator, scale: Scale) -> LossSurrogate:
    """The surrogates of a loss and an operator for any batch; refuses what cannot work, before training starts."""
    check_scale(scale)
    if isinstance(operator, str):
        operator_named(operator)
    plan = LossSurrogate(loss, operator, scale)
    if not torch.compiler.is_compiling():
        if loss.form is not None:
            loss.on_counts(0, 1)
        if operator in ("lovasz", "bd-monotone") and loss.trial is not None:
            plan.on_counts(*loss.trial)
    return plan


# ---------------------------------------------------------------- values and gradients


def values_of_sets(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> Tensor:
    """The surrogate of every row of `scores` (float32 or float64), differentiable in them.

    `truth` and `valid` are bool of the same shape; an element belongs to its set where it is valid, all do for None.
    """
    compiling = torch.compiler.is_compiling()
    named = plan.loss.form if isinstance(plan.operator, str) else None
    if named is not None and (compiling or scores.is_meta or type(scores) not in (Tensor, torch.nn.Parameter)):
        values: Tensor = cuts(scores, truth, valid, *graph_arguments(plan, named))[0]
        return values
    run: Any = Cuts.apply
    if compiling:
        why = "a SetLoss without a closed form runs outside of compiled graphs; compile without fullgraph=True"
        run = torch.compiler.disable(run, reason=why)  # type: ignore[no-untyped-call]
    values = run(scores, truth, valid, plan)[0]
    return values


def compute(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> tuple[Tensor, Tensor]:
    """The values of all rows and their gradients in the scores."""
    if scores.device.type != "cpu" and runs_on_devices(plan):
        return device_cuts(scores, truth, valid, plan)
    inside = None if valid is None else _array(valid)
    values, gradient = host_cuts(_array(scores), _array(truth), inside, plan, torch.get_num_threads())
    return torch.from_numpy(values).to(scores), torch.from_numpy(gradient).to(scores)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().contiguous().numpy()
    return array


class Cuts(torch.autograd.Function):
    """Values and gradients of all sets; the gradients are constants to whatever comes next."""

    @staticmethod
    def forward(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> tuple[Tensor, Tensor]:
        return compute(scores, truth, valid, plan)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return None if outer[0] is None else outer[0].unsqueeze(1) * gradient, None, None, None


Cuts.forward.__signature__ = signature(Cuts.forward)  # type: ignore[attr-defined]  # torch asks at every call


# ---------------------------------------------------------------- in a compiled graph


@torch.library.custom_op("setloss::cuts", mutates_args=())
def cuts(
    scores: Tensor, truth: Tensor, valid: Tensor | None, loss: list[float], operator: str, scale: float
) -> tuple[Tensor, Tensor]:
    """`compute` for the loss with the numbers of a `Form` and an operator by its name; a scale of 0 is "mean"."""
    kind, false_negative, false_positive, undefined, mean = loss
    form = Form(Kind(int(kind)), false_negative, false_positive, undefined, bool(mean))
    return compute(scores, truth, valid, LossSurrogate(loss_of(form), operator, scale or "mean"))


def graph_arguments(plan: LossSurrogate, form: Form) -> tuple[list[float], str, float]:
    """The loss, the operator and the scale as the operator of graphs takes them."""
    scale = 0.0 if plan.scale == "mean" else float(plan.scale)
    numbers = form.false_negative, form.false_positive, form.undefined, float(form.mean)
    return [float(form.kind.value), *numbers], str(plan.operator), scale


@cuts.register_fake
def _(scores: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return scores.new_empty(scores.shape[0]), torch.empty_like(scores, memory_format=torch.contiguous_format)


cuts.register_autograd(
    lambda ctx, *outer: (*Cuts.backward(ctx, *outer), None, None), setup_context=Cuts.setup_context
)


# ---------------------------------------------------------------- on the CPU


def host_cuts(
    scores: Floats, truth: Mask, valid: Mask | None, plan: LossSurrogate, threads: int
) -> tuple[NDArray[np.float64], Floats]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    if valid is None and plan.closed and scores.size:
        return row_cuts(scores, truth, plan, threads if scores.size >= PARALLEL_ELEMENTS else 1)
    sizes = np.full(len(scores), scores.shape[1]) if valid is None else valid.sum(1)
    kept = sizes > 0
    inside = slice(None) if valid is None else valid
    margins, positive = np.where(truth, scores, -scores)[inside].ravel(), truth[inside].ravel()
    offsets = np.concatenate(([0], np.cumsum(sizes[kept])))
    values = np.zeros(len(scores))
    if not len(margins):
        return values, np.zeros_like(scores)
    finite = np.isfinite(margins)
    all_finite = bool(finite.all())
    if not all_finite:
        margins[~finite] = 0
    batch = batch_surrogate(plan.loss, positive, Bags.from_offsets(offsets), plan.operator, plan.scale)
    batch_cuts = run_kernel(margins, batch, threads if len(margins) >= PARALLEL_ELEMENTS else 1, consume=True)
    slopes, worth = np.where(positive, -batch_cuts.slopes, batch_cuts.slopes), batch_cuts.values
    if not all_finite:
        broken = ~np.logical_and.reduceat(finite, offsets[:-1])
        worth[broken] = np.nan
        slopes[np.repeat(broken, sizes[kept])] = np.nan
    values[kept] = worth
    gradient = np.zeros_like(scores)
    gradient[inside] = slopes if valid is not None else slopes.reshape(scores.shape)
    return values, gradient


# ---------------------------------------------------------------- on devices
# Plans that have a Lovász hinge, as L and B_D do: their numbers, a `Reading`, are computed where the counts are. Sums
# are float64 where the device has it. The formulas of `setloss.setfunctions.tversky` run on tensors as on arrays.


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
def runs_on_devices(plan: LossSurrogate) -> bool:
    """Whether `device_cuts` knows the plan; rescaled losses (slack, margin) are left to the kernels of the CPU."""
    reading = plan.read(1, 1)
    if reading is None or reading.lovasz.kind == Kind.NONE:
        return False
    kind = reading.rescaled.kind
    return kind == Kind.NONE or (kind == Kind.TVERSKY_SUPERMODULAR and not reading.margin)


def device_cuts(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> tuple[Tensor, Tensor]:
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
