"""Set-level losses as functions of logits and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from setloss.defaults import NETWORKS
from setloss.losses import Loss
from setloss.nn.classes import chosen_classes, class_factors
from setloss.nn.cross_entropy import mean_cross_entropy
from setloss.nn.distributed import sets_of_all_processes
from setloss.nn.groups import arrange_groups
from setloss.nn.hints import warn_of_slips
from setloss.nn.margins import Margins
from setloss.nn.plan import Scale, plan_number
from setloss.nn.recipe import Recipe, recipe_of
from setloss.nn.reduction import Absent, Reduction, counted_sets, reduced
from setloss.nn.relaxed import SoftShare, mixed_values
from setloss.nn.sets import Over, Sets, arrange
from setloss.nn.soft_sets import values_of_soft_sets
from setloss.nn.targets import Decisions, Mode, decisions
from setloss.nn.values import mean_of_sets, values_of_sets
from setloss.operators.names import Operator


def set_loss(  # noqa: PLR0913 (the choices of `SetLoss` and the tensors of a call, all by name)
    logits: Tensor,
    target: Tensor,
    *,
    loss: str | Loss = NETWORKS.loss,
    operator: str | Operator | None = None,
    scale: Scale = NETWORKS.scale,
    margins: Margins | None = None,
    soft_share: SoftShare | None = None,
    with_cross_entropy: float | None = None,
    mode: Mode = "binary",
    over: Over | None = None,
    classes: Sequence[int] | Literal["present"] | None = None,
    include_background: bool = True,
    ignore_index: int | None = None,
    absent: Absent | None = None,
    reduction: Reduction = "mean",
    sync: bool = False,
    mask: Tensor | None = None,
    weight: Tensor | None = None,
    class_weight: Tensor | None = None,
    element_weight: Tensor | None = None,
    groups: Tensor | None = None,
) -> Tensor:
    """B(m) of every set, m_i the margin of decision i, plus a factor times cross-entropy.

    With the margins of logits it is convex and piecewise linear in them. The gradient is that of the cut, exact in
    value and slope. **Name no operator for what trains networks best**: the surrogate of probabilities mixed with the
    loss at expected counts, and cross-entropy. Name one for exactly that operator of the logits.

    Parameters
    ----------
    logits, target
        Binary: ``(N, ...)`` or ``(N, 1, ...)``, targets 0 and 1 or bool of that shape. Multilabel: both ``(N, C,
        ...)``. Multiclass: ``(N, C, ...)`` and class ids ``(N, ...)`` or one-hot ``(N, C, ...)``, a set per class.
        L of Jaccard takes labels between 0 and 1 as well. Logits are scores before any sigmoid or softmax. With
        margins of logits, a set with a logit that is infinite or not a number has the value NaN; a sigmoid takes
        infinite logits as certain.
    loss
        A name ("jaccard", "dice", "hamming", "curve1", ...) or any loss of `setloss.losses`, your own included.
    operator, scale
        "bd", "bd-monotone", "slack", "margin", "lovasz" or "hinge", and the scale c of rescaled parts: a number (2 as
        printed in the paper), or "mean" for two over the number of elements of each set. None: see above. Or a
        function from set functions to surrogates, your own included (slow, see docs/your-own-loss.md).
    margins
        "logits" or "probabilities" (of a sigmoid, in multiclass mode of a softmax); in multiclass mode also "argmax".
        See `setloss.nn.margins`.
    soft_share
        The share s of the loss l at expected counts (soft Dice, soft Jaccard) in (1 - s) B + s l; for margins that
        are probabilities. "adaptive" is s = l, set by set and without a slope: the soft loss leads until the
        prediction overlaps with the truth, then B. Where no operator is named, "adaptive" for masks and 1/2 for
        classes; else 0. See `setloss.nn.relaxed`.
    with_cross_entropy
        The factor of the mean cross-entropy that is added; 1/2 where no operator is named and `reduction` is
        "mean", except for label sets.
    mode
        "binary", "multilabel" or "multiclass".
    over
        What one set is. "image": all decisions on one image (in multiclass mode, one set per image and class).
        "batch": all decisions of the batch (multiclass: per class). "class": per class or label over the batch.
        "groups" (binary): the pixels of one image with one number in `groups`, 0 for pixels in no set. None: the
        batch in multiclass mode where no operator is named, else the image.
    classes, include_background
        Which classes have sets: their numbers, or "present" for those that occur (as ``absent="skip"``); background
        is class 0. Cross-entropy is of all classes.
    ignore_index, mask
        Elements with this target, or where the bool `mask` is False, belong to no set. A set without elements costs 0
        and is not counted by "mean".
    absent
        What to do with sets that have no positive: "keep" them (any alarm is then a full loss of Dice) or "skip".
        None: skip them in multiclass mode where no operator is named, else keep them.
    reduction
        "mean" over the sets that count (weighted by `weight`), "sum", or "none" for one number per set: ``(N,)``,
        ``(N, C)`` in multiclass mode over images, ``(C,)`` over classes, ``(1,)`` over the batch.
    sync
        With `torch.distributed`, sets over "batch" or "class" span the batches of all processes; see
        `setloss.nn.distributed`.
    weight, class_weight
        A factor per set, of the shape that ``reduction="none"`` returns, and a factor per class, ``(C,)``.
    element_weight
        A factor from 0 on per pixel, in the shape of the target; for L of Jaccard and cross-entropy only.
    """
    recipe = recipe_of(
        loss,
        operator,
        scale=scale,
        margins=margins,
        soft_share=soft_share,
        with_cross_entropy=with_cross_entropy,
        mode=mode,
        over=over,
        classes=classes,
        include_background=include_background,
        ignore_index=ignore_index,
        absent=absent,
        reduction=reduction,
        sync=sync,
    )
    plan = plan_number(recipe.loss, recipe.operator, recipe.scale)
    return loss_of_batch(recipe, plan, logits, target, Extras(mask, weight, class_weight, element_weight, groups))


@dataclass(frozen=True)
class Extras:
    """The tensors that a call may have besides logits and target."""

    mask: Tensor | None
    weight: Tensor | None
    class_weight: Tensor | None
    element_weight: Tensor | None
    groups: Tensor | None


def loss_of_batch(recipe: Recipe, plan: int, logits: Tensor, target: Tensor, extras: Extras) -> Tensor:
    """What `set_loss` returns, all choices made: `plan` is the number of the plan of the recipe."""
    mode = recipe.mode
    given = decisions(logits, target, extras.mask, mode, recipe.ignore_index, soft=recipe.weighs)
    warn_of_slips(logits, mode)
    chosen = chosen_classes(recipe.classes, recipe.include_background, given.logits, mode)
    values: Tensor | None
    if given.shares is not None or extras.element_weight is not None:
        _check_weights(recipe)
        sets, values = values_of_soft_sets(given, recipe, chosen, extras.element_weight)
        counted = counted_sets(sets, recipe.present_only)
    else:
        sets = _sets(given, recipe, chosen, extras.groups)
        sets = sets_of_all_processes(sets) if recipe.sync else sets
        counted = counted_sets(sets, recipe.present_only)
        values = None if _is_plain_mean(sets, recipe, counted, extras) else _values(sets, plan, recipe, counted)
    if values is None:
        total = mean_of_sets(sets.scores, sets.truth, plan)
    else:
        factors = class_factors(extras.class_weight, extras.weight, sets.shape, chosen, given.logits, mode)
        total = reduced(values.view(sets.shape), counted, factors, recipe.reduction)
    if not recipe.with_cross_entropy:
        return total
    return total + recipe.with_cross_entropy * mean_cross_entropy(given, mode, extras.element_weight)


def _sets(given: Decisions, recipe: Recipe, chosen: list[int] | None, groups: Tensor | None) -> Sets:
    if recipe.over != "groups":
        if groups is not None:
            raise ValueError("groups= is for over='groups'")
        return arrange(given, recipe.mode, recipe.over, recipe.margins, chosen)
    if groups is None:
        raise ValueError("over='groups' needs groups=, an integer per pixel; setloss.nn.component_groups makes them")
    return arrange_groups(given, groups, recipe.margins)


def _is_plain_mean(sets: Sets, recipe: Recipe, counted: Tensor | None, extras: Extras) -> bool:
    """Whether the loss is the mean of the surrogates of all sets, each of the same weight."""
    weighted = counted is not None or extras.weight is not None or extras.class_weight is not None
    whole = not weighted and sets.valid is None and bool(sets.scores.numel())
    return whole and recipe.reduction == "mean" and not recipe.soft_share


def _values(sets: Sets, plan: int, recipe: Recipe, counted: Tensor | None) -> Tensor:
    """Sets that are left out are computed on zeros: an infinite score among them must not reach the gradient."""
    if recipe.present_only and counted is not None:
        sets = replace(sets, scores=torch.where(counted.view(-1, 1), sets.scores, 0.0))
    values = values_of_sets(sets.scores, sets.truth, sets.valid, plan)
    if not recipe.soft_share:
        return values
    return mixed_values(sets, values, recipe.loss, recipe.soft_share)


def _check_weights(recipe: Recipe) -> None:
    if not recipe.weighs:
        raise ValueError(
            "soft labels and element_weight are for L of Jaccard, which is submodular at real counts "
            '(loss="jaccard", operator="lovasz", margins other than "argmax", over other than "groups", '
            f"sync=False); other losses are tables over whole counts. Got loss={recipe.loss!r}, "
            f"operator={recipe.operator!r}, margins={recipe.margins!r}."
        )
