"""Sets of soft labels and weighted elements."""

from __future__ import annotations

import torch
from torch import Tensor

from setloss.nn.margins import scores_of
from setloss.nn.recipe import Recipe
from setloss.nn.relaxed import mixed
from setloss.nn.sets import Sets, layout
from setloss.nn.soft import weighted_jaccard
from setloss.nn.targets import Decisions


def values_of_soft_sets(
    given: Decisions, recipe: Recipe, chosen: list[int] | None, weight: Tensor | None
) -> tuple[Sets, Tensor]:
    """L of Jaccard of every set at real counts; a label above 0 counts as a positive where sets need one."""
    logits, counted = given.logits, given.counted
    shares = given.truth.to(logits.dtype) if given.shares is None else given.shares
    weights = element_weights(given, weight)
    if counted is not None:
        logits = logits.masked_fill(~counted, 0.0)
        weights = counted.to(logits.dtype) if weights is None else torch.where(counted, weights, 0.0)
    every = torch.ones_like(given.truth)
    parts = [scores_of(logits, truth, recipe.margins) for truth in (every, ~every)]
    picked = [one if chosen is None or one is None else one[:, chosen] for one in (*parts, shares, counted, weights)]
    rows, shape = layout(picked[0].shape, recipe.mode, recipe.over)  # type: ignore[union-attr]
    positive, negative, t, inside, e = (None if one is None else rows(one) for one in picked)
    assert positive is not None
    assert negative is not None
    assert t is not None
    sets, values = Sets(positive, t > 0, inside, shape), weighted_jaccard(positive, negative, t, e)
    if not recipe.soft_share:
        return sets, values
    as_positive, as_negative = (t, 1 - t) if e is None else (e * t, e * (1 - t))
    missed, alarms = (as_positive * (1 - positive)).sum(1), (as_negative * (1 + negative)).sum(1)
    return sets, mixed(values, (missed, alarms, as_positive.sum(1)), recipe.loss, recipe.soft_share)


def element_weights(given: Decisions, weight: object) -> Tensor | None:
    """The weight of every decision, from one per pixel."""
    if weight is None:
        return None
    if not isinstance(weight, Tensor) or not weight.is_floating_point():
        found = weight.dtype if isinstance(weight, Tensor) else type(weight).__name__
        raise TypeError(f"element_weight is a tensor of real factors; got {found}")
    if weight.shape != given.labels.shape:
        raise ValueError(
            f"one element_weight per element: expected shape {tuple(given.labels.shape)}; got {tuple(weight.shape)}"
        )
    readable = weight.device.type == "cpu" and not torch.compiler.is_compiling() and type(weight) is Tensor
    if readable and not bool((weight >= 0).all() & torch.isfinite(weight).all()):
        raise ValueError("element_weight holds finite factors from 0 on")
    wide = weight.to(given.logits.dtype)
    return wide if wide.shape == given.truth.shape else wide.unsqueeze(1).expand(given.truth.shape)
