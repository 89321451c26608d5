"""The values of sets as differentiable functions of their scores, in every way torch differentiates.

In a compiled graph, on meta tensors and on fake ones this is the operator ``setloss::cuts``. Elsewhere it is the same
computation as a `torch.autograd.Function`, which costs less per call and also has forward mode (`torch.func.jvp`)
and batches (`torch.func.vmap`). The cut is the derivative: exact wherever the surrogate is differentiable.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from setloss.nn.cuts import compute, cuts


def in_plain_mode(scores: Tensor) -> bool:
    """Whether this is an ordinary call: no graph is traced, no transform of `torch.func` is at work.

    Then a `torch.autograd.Function` may be applied by its base class. The way around it inspects the signature anew
    at each call, which takes longer than a small batch.
    """
    return not (torch.compiler.is_compiling() or _is_traced(scores) or torch._C._are_functorch_transforms_active())


def _is_traced(scores: Tensor) -> bool:
    return scores.is_meta or type(scores) not in (Tensor, torch.nn.Parameter)


def values_of_sets(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: int) -> Tensor:
    """One number per row of `scores`; see `setloss.nn.cuts.cuts`."""
    if in_plain_mode(scores):
        found: Tensor = super(torch.autograd.Function, Values).apply(scores, truth, valid, plan)[0]  # type: ignore[no-untyped-call]
    elif torch.compiler.is_compiling() or _is_traced(scores):
        found = cuts(scores, truth, valid, plan)[0]
    else:
        found = Values.apply(scores, truth, valid, plan)[0]  # type: ignore[no-untyped-call]
    return found


def mean_of_sets(scores: Tensor, truth: Tensor, plan: int) -> Tensor:
    """The mean over the rows of `scores`, all of whose elements count.

    An ordinary call has one step backward instead of two: for small batches steps cost more than arithmetic.
    """
    if scores.device.type != "cpu" or not in_plain_mode(scores):
        return values_of_sets(scores, truth, None, plan).mean()
    found: Tensor = super(torch.autograd.Function, Mean).apply(scores, truth, plan)[0]  # type: ignore[no-untyped-call]
    return found


class Values(torch.autograd.Function):
    """Values and gradients of all sets; the gradients are constants to whatever comes next."""

    @staticmethod
    def forward(scores: Tensor, truth: Tensor, valid: Tensor | None, plan: int) -> tuple[Tensor, Tensor]:
        return compute(scores, truth, valid, plan)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return outer[0].unsqueeze(1) * gradient, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return (gradient * tangents[0]).sum(1), None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """A batch of batches of sets is a longer batch of sets."""
        *tensors, plan = inputs
        stacked = [_first(one, dim, info.batch_size) for one, dim in zip(tensors, dims[:3], strict=True)]
        rows = [None if one is None else one.flatten(0, 1) for one in stacked]
        values, gradients = Values.apply(*rows, plan)  # type: ignore[no-untyped-call]
        shape = stacked[0].shape  # type: ignore[union-attr]
        return (values.view(shape[:2]), gradients.view(shape)), (0, 0)


class Mean(torch.autograd.Function):
    """The mean of the values of all sets, and the gradients of the sets."""

    @staticmethod
    def forward(scores: Tensor, truth: Tensor, plan: int) -> tuple[Tensor, Tensor]:
        values, gradients = compute(scores, truth, None, plan)
        return values.mean(), gradients

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        Values.setup_context(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return outer[0] / len(gradient) * gradient, None, None  # rounded as in a compiled graph

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return (gradient * tangents[0]).sum() / len(gradient), None


def _first(tensor: Tensor | None, dim: int | None, size: int) -> Tensor | None:
    """The dimension of the batch in front."""
    if tensor is None:
        return None
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
