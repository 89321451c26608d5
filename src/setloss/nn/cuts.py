"""``setloss::cuts``, an operator of torch: scores and truth of many sets in, values and gradients out.

Being one opaque operator, it works under `torch.compile` without a break, whatever runs inside: the core's kernels on
the CPU, tensor operations that stay on the device elsewhere.
"""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from setloss.nn import device, host
from setloss.nn.plan import plan_of


@torch.library.custom_op("setloss::cuts", mutates_args=())
def cuts(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: int) -> tuple[Tensor, Tensor]:
    """The surrogates of the rows of `scores`, and their gradients in the scores.

    Parameters
    ----------
    scores
        float32 or float64, one set per row.
    truth
        bool, the same shape.
    valid
        bool, the same shape: which elements belong to their set; None where all do.
    plan
        The number of a `setloss.nn.plan.Plan`.
    """
    return compute(scores, truth, valid, plan)


def compute(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: int) -> tuple[Tensor, Tensor]:
    """What ``setloss::cuts`` does, without the way through torch's dispatcher."""
    chosen = plan_of(plan)
    if scores.device.type != "cpu" and chosen.closed is not None:
        return device.cuts(scores, truth, valid, chosen.closed)
    inside = None if valid is None else _array(valid)
    values, gradient = host.cuts(_array(scores), _array(truth), inside, chosen, torch.get_num_threads())
    return torch.from_numpy(values).to(scores), torch.from_numpy(gradient).to(scores)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().contiguous().numpy()
    return array


@cuts.register_fake
def _(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: int) -> tuple[Tensor, Tensor]:
    return scores.new_empty(scores.shape[0]), torch.empty_like(scores, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, values: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
    (gradient,) = ctx.saved_tensors
    return values.unsqueeze(1) * gradient, None, None, None


cuts.register_autograd(_backward, setup_context=_keep)
