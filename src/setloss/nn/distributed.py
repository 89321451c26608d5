"""Sets that span the batches of several processes.

Sets over images need nothing: `DistributedDataParallel` averages the gradients of the processes, which is the mean
over all images where the batches are equally large. A set over the batch is another matter, since its loss is no sum
over processes. With ``sync=True`` every process gathers the scores of all, computes the one global cut, and keeps the
gradient of its own scores **times the number of processes**, so that the average that `DistributedDataParallel` takes
is the gradient of the global loss. Cross-entropy is then the mean over the elements of all processes, in the same
way. All processes have to call the loss, and all get the same value.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from setloss.nn.sets import Sets


def sets_of_all_processes(sets: Sets) -> Sets:
    """The global sets, one per row of `sets`."""
    if torch.compiler.is_compiling():
        raise RuntimeError("sync=True waits for other processes, which cannot be compiled; call the loss outside")
    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError("sync=True needs torch.distributed; call torch.distributed.init_process_group() first")
    valid = torch.ones_like(sets.truth) if sets.valid is None else sets.valid
    widths = _gather(torch.tensor([sets.scores.shape[1]], device=valid.device))
    widest = max(int(width) for width in widths)
    padding = (0, widest - sets.scores.shape[1])
    labels = torch.nn.functional.pad(sets.truth.to(torch.int8) + 2 * valid.to(torch.int8), padding)
    everyone = torch.cat(_gather(labels), 1)
    scores = _GatherColumns.apply(torch.nn.functional.pad(sets.scores, padding))  # type: ignore[no-untyped-call]
    return Sets(scores, everyone % 2 == 1, everyone >= 2, sets.shape)


def sum_of_all_processes(numbers: Tensor) -> Tensor:
    """The same numbers of every process, added up; backward returns this process's share, times their number."""
    shares = _GatherColumns.apply(numbers.unsqueeze(1))  # type: ignore[no-untyped-call]
    total: Tensor = shares.sum(1)
    return total


def _gather(tensor: Tensor) -> list[Tensor]:
    found = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(found, tensor.contiguous())
    return found


class _GatherColumns(torch.autograd.Function):
    """The columns of all processes side by side; backward returns this process's share, times their number."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        ctx.width = scores.shape[1]
        return torch.cat(_gather(scores), 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        start = dist.get_rank() * ctx.width
        return dist.get_world_size() * gradient[:, start : start + ctx.width]
