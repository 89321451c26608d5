"""Sets by group: every lesion, nucleus or connected component is a set of its own."""

from __future__ import annotations

import torch
from torch import Tensor

from setloss.nn.sets import Sets, decided
from setloss.nn.targets import Decisions


def arrange_groups(given: Decisions, groups: Tensor, margins: str) -> Sets:
    """A row per image and group number; pixels of group 0 belong to no set.

    Groups differ in size, so rows are filled up with elements that do not count.
    """
    _check(given, groups)
    scores, images = decided(given, margins), len(given.logits)
    flat = groups.reshape(images, -1).to(torch.int64)
    numbers = flat + torch.arange(images, device=flat.device).unsqueeze(1) * (flat.max() + 1 if flat.numel() else 1)
    inside = flat > 0 if given.valid is None else (flat > 0) & given.valid.reshape(flat.shape)
    members = torch.nonzero(inside.flatten()).squeeze(1)
    _, place, sizes = torch.unique(numbers.flatten()[members], return_inverse=True, return_counts=True)
    order = torch.argsort(place, stable=True)
    starts = torch.cumsum(sizes, 0) - sizes
    column = torch.arange(len(order), device=order.device) - starts[place[order]]
    shape = (len(sizes), int(sizes.max()) if len(sizes) else 0)
    where = torch.zeros(shape, dtype=torch.int64, device=flat.device)
    valid = torch.zeros(shape, dtype=torch.bool, device=flat.device)
    where[place[order], column], valid[place[order], column] = members[order], True
    return Sets(scores.flatten()[where], given.truth.flatten()[where], valid, (len(sizes),))


def _check(given: Decisions, groups: object) -> None:
    if torch.compiler.is_compiling():
        raise RuntimeError("over='groups' makes as many sets as there are groups, which cannot be compiled")
    if not isinstance(groups, Tensor) or groups.is_floating_point() or groups.dtype == torch.bool:
        found = groups.dtype if isinstance(groups, Tensor) else type(groups).__name__
        raise TypeError(f"groups is an integer tensor, 0 for pixels of no group; got {found}")
    if groups.numel() != given.labels.numel() or len(groups) != len(given.labels):
        raise ValueError(
            f"one group number per pixel: expected shape {tuple(given.labels.shape)}; got {tuple(groups.shape)}"
        )
    if groups.numel() and int(groups.min()) < 0:
        raise ValueError(f"group numbers are 0 (no group) or positive; got {int(groups.min())}")
