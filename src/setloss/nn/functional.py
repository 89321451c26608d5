"""Set-level losses as functions of logits and targets."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from setloss.losses import Loss
from setloss.nn.cuts import cuts
from setloss.nn.distributed import cuts_of_all_processes
from setloss.nn.plan import Scale, plan_number
from setloss.nn.sets import Mode, Over, Sets, arrange

Reduction = Literal["mean", "sum", "none"]
Absent = Literal["keep", "skip"]


def set_loss(
    logits: Tensor,
    target: Tensor,
    *,
    loss: str | Loss = "dice",
    operator: str = "bd-monotone",
    scale: Scale = "mean",
    mode: Mode = "binary",
    over: Over = "image",
    ignore_index: int | None = None,
    absent: Absent = "keep",
    reduction: Reduction = "mean",
    sync: bool = False,
    mask: Tensor | None = None,
    weight: Tensor | None = None,
) -> Tensor:
    """B(m) of every set, m_i = y_i h_i the margin of a decision with score h_i.

    Convex and piecewise linear in the logits, which are scores h: positive predicts the label, and no sigmoid is
    applied. The gradient is that of the cut at the logits, exact in value and slope.

    Parameters
    ----------
    logits, target
        Binary: ``(N, ...)`` or ``(N, 1, ...)``, targets 0 and 1 or bool of that shape. Multilabel: both ``(N, C,
        ...)``. Multiclass: ``(N, C, ...)`` and class ids ``(N, ...)``, a set per class, that class against the rest.
    loss
        A name ("dice", "jaccard", "hamming", "curve1", ...) or any loss of `setloss.losses`, your own included.
    operator, scale
        "bd", "bd-monotone", "slack", "margin", "lovasz" or "hinge", and the scale c of rescaled parts: a number (2 as
        printed in the paper), or "mean" for two over the number of elements of each set. docs/pytorch.md has the
        results that made the defaults: with c = 2 networks for images train badly.
    mode
        "binary", "multilabel" or "multiclass".
    over
        What one set is. "image": all decisions on one image (in multiclass mode, one set per image and class).
        "batch": all decisions of the batch (multiclass: per class). "class": per class or label over the batch.
    ignore_index, mask
        Elements with this target, or where the bool `mask` is False, belong to no set. A set without elements costs 0
        and is not counted by "mean".
    absent
        What to do with sets that have no positive: "keep" them (any alarm is then a full loss of Dice) or "skip".
    reduction
        "mean" over the sets that count (weighted by `weight`), "sum", or "none" for one number per set: ``(N,)``,
        ``(N, C)`` in multiclass mode over images, ``(C,)`` over classes, ``(1,)`` over the batch.
    sync
        With `torch.distributed`, sets over "batch" or "class" span the batches of all processes; see
        `setloss.nn.distributed`.
    weight
        A factor per set, of the shape that ``reduction="none"`` returns.
    """
    check_choices(mode, over, absent, reduction, sync)
    sets = arrange(logits, target, mask, mode, over, ignore_index)
    plan = plan_number(loss, operator, scale)
    if sync:
        values, counted = cuts_of_all_processes(sets, plan, absent == "skip")
    else:
        values, counted = cuts(sets.scores, sets.truth, sets.valid, plan)[0], counted_sets(sets, absent == "skip")
    return _reduced(values.view(sets.shape), counted, weight, reduction)


def check_choices(mode: str, over: str, absent: str, reduction: str, sync: bool) -> None:
    """Raise a `ValueError` that names the alternatives where a choice is none of them."""
    checks = (
        ("mode", mode, Mode),
        ("over", over, Over),
        ("absent", absent, Absent),
        ("reduction", reduction, Reduction),
    )
    for name, value, allowed in checks:
        if value not in get_args(allowed):
            raise ValueError(f"{name} is one of {', '.join(map(repr, get_args(allowed)))}; got {value!r}")
    if sync and over == "image":
        raise ValueError("sets over an image lie in one process; sync is for over='batch' and over='class'")


def counted_sets(sets: Sets, present_only: bool) -> Tensor | None:
    """Which sets count, of the shape of the sets; None where all do."""
    if present_only:
        present = sets.truth if sets.valid is None else sets.truth & sets.valid
        return present.any(1).view(sets.shape)
    if sets.valid is not None:
        return sets.valid.any(1).view(sets.shape)
    return None if sets.scores.shape[1] else torch.zeros(sets.shape, dtype=torch.bool, device=sets.scores.device)


def _reduced(values: Tensor, counted: Tensor | None, weight: Tensor | None, reduction: Reduction) -> Tensor:
    if counted is not None:
        values = torch.where(counted, values, 0.0)
    if weight is not None:
        weight = _weight(weight, values)
        values = values * weight
    if reduction == "none":
        return values
    total = values.sum()
    if reduction == "sum":
        return total
    if weight is None and counted is None:
        return total / max(values.numel(), 1)
    shares = torch.ones_like(values) if weight is None else weight
    mass = (shares if counted is None else torch.where(counted, shares, 0.0)).sum()
    return total / torch.where(mass > 0, mass, 1.0)


def _weight(weight: Tensor, values: Tensor) -> Tensor:
    if not isinstance(weight, Tensor):
        raise TypeError(f"weight must be a tensor; got {type(weight).__name__}")
    if weight.shape != values.shape:
        raise ValueError(
            f"one weight per set: expected shape {tuple(values.shape)}, as reduction='none' returns; "
            f"got {tuple(weight.shape)}"
        )
    return weight.to(values.dtype)
