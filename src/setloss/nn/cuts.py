"""Values of many sets, and their gradients: the cut of every row of scores, on the CPU and on devices.

On the CPU these are the core's compiled kernels on the memory of the tensors, sets shared out among torch's threads;
elsewhere `setloss.nn.device` computes the same by tensor operations that stay on the device. A cut is the derivative
of its surrogate: exact wherever that is differentiable. `values_of_sets` is a `torch.autograd.Function`, and in a
compiled graph the operator ``setloss::cuts``, which takes the numbers of a loss (`setloss.losses.Form`) and the name
of an operator, so that a graph refers to no object of ours. Losses without such numbers (tables, cost curves, your
own) and operators without a name break the graph.
"""

from inspect import signature
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setloss.bags import Bags
from setloss.losses import Form, Loss, loss_of
from setloss.nn import device
from setloss.operators import Operator, operator_named
from setloss.operators.rescaling import Scale, check_scale
from setloss.plans.batch import batch_surrogate, row_cuts, run_kernel
from setloss.plans.build import LossSurrogate
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
        run = torch.compiler.disable(run, reason=NO_CLOSED_FORM)  # type: ignore[no-untyped-call]
    found: Tensor = run(scores, truth, valid, plan)[0]
    return found


NO_CLOSED_FORM = "a SetLoss without a closed form runs outside of compiled graphs; compile without fullgraph=True"


def compute(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: LossSurrogate) -> tuple[Tensor, Tensor]:
    """The values of all rows and their gradients in the scores."""
    if scores.device.type != "cpu" and device.runs_here(plan):
        return device.cuts(scores, truth, valid, plan)
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
    found = run_kernel(margins, batch, threads if len(margins) >= PARALLEL_ELEMENTS else 1, consume=True)
    slopes, worth = np.where(positive, -found.slopes, found.slopes), found.values
    if not all_finite:
        broken = ~np.logical_and.reduceat(finite, offsets[:-1])
        worth[broken] = np.nan
        slopes[np.repeat(broken, sizes[kept])] = np.nan
    values[kept] = worth
    gradient = np.zeros_like(scores)
    gradient[inside] = slopes if valid is not None else slopes.reshape(scores.shape)
    return values, gradient
