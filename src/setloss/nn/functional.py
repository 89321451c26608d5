"""Set-level losses as functions of logits and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast, get_args

import torch
from torch import Tensor

from setloss.defaults import NETWORKS
from setloss.losses import Loss
from setloss.nn.classes import chosen_classes, class_factors
from setloss.nn.cross_entropy import mean_cross_entropy
from setloss.nn.distributed import cuts_of_all_processes
from setloss.nn.groups import arrange_groups
from setloss.nn.hints import warn_of_slips
from setloss.nn.margins import Margins
from setloss.nn.plan import Scale, plan_number
from setloss.nn.recipe import Recipe, recipe_of
from setloss.nn.reduction import Absent, Reduction, counted_sets, reduced
from setloss.nn.sets import Over, Sets, arrange
from setloss.nn.soft import takes_weights
from setloss.nn.soft_sets import values_of_soft_sets
from setloss.nn.targets import Decisions, Mode, decisions
from setloss.nn.values import values_of_sets
from setloss.operators.names import Operator


def set_loss(  # noqa: PLR0913 (the choices of `SetLoss` and the tensors of a call, all by name)
    logits: Tensor,
    target: Tensor,
    *,
    loss: str | Loss = NETWORKS.loss,
    operator: str | Operator | None = None,
    scale: Scale = NETWORKS.scale,
    margins: Margins | None = None,
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
    value and slope. **Name no operator for what trains networks best**: the surrogate of probabilities, plus
    cross-entropy. Name one for exactly that operator of the logits.

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
    with_cross_entropy
        The factor of the mean cross-entropy that is added; 1 where no operator is named (and `reduction` is "mean").
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
    check_choices(mode, over, absent, reduction, sync)
    recipe = recipe_of(loss, operator, scale, margins, with_cross_entropy, absent, over, mode, reduction)
    return loss_of_batch(
        recipe,
        plan_number(recipe.loss, recipe.operator, recipe.scale),
        logits,
        target,
        mode=mode,
        classes=classes,
        include_background=include_background,
        ignore_index=ignore_index,
        reduction=reduction,
        sync=sync,
        mask=mask,
        weight=weight,
        class_weight=class_weight,
        element_weight=element_weight,
        groups=groups,
    )


def loss_of_batch(
    recipe: Recipe,
    plan: int,
    logits: Tensor,
    target: Tensor,
    *,
    mode: Mode,
    classes: Sequence[int] | Literal["present"] | None,
    include_background: bool,
    ignore_index: int | None,
    reduction: Reduction,
    sync: bool,
    mask: Tensor | None,
    weight: Tensor | None,
    class_weight: Tensor | None,
    element_weight: Tensor | None,
    groups: Tensor | None,
) -> Tensor:
    """What `set_loss` returns, all choices made: `plan` is the number of the plan of the recipe."""
    over = cast(Over, recipe.over)
    weighs = takes_weights(recipe.loss, recipe.operator) and recipe.margins != "argmax" and over != "groups"
    given = decisions(logits, target, mask, mode, ignore_index, soft=weighs and not sync)
    warn_of_slips(logits, mode)
    chosen = chosen_classes(classes, include_background, given.logits, mode)
    if given.shares is not None or element_weight is not None:
        _check_weights(recipe, weighs and not sync)
        sets, values = values_of_soft_sets(given, mode, over, recipe.margins, chosen, element_weight)
    else:
        sets = _sets(given, mode, over, recipe.margins, chosen, groups)
        values = None
    skip = recipe.absent == "skip" or classes == "present"
    if sync:
        values, counted = cuts_of_all_processes(sets, plan, skip)
    else:
        counted = counted_sets(sets, skip)
        values = _values(sets, plan, counted if skip else None) if values is None else values
    factors = class_factors(class_weight, weight, sets.shape, chosen, given.logits, mode)
    total = reduced(values.view(sets.shape), counted, factors, reduction)
    if not recipe.with_cross_entropy:
        return total
    return total + recipe.with_cross_entropy * mean_cross_entropy(given, mode, element_weight)


def check_choices(mode: str, over: str | None, absent: str | None, reduction: str, sync: bool) -> None:
    """Raise a `ValueError` that names the alternatives where a choice is none of them."""
    checks = (
        ("mode", mode, Mode),
        ("over", over, Over),
        ("absent", absent, Absent),
        ("reduction", reduction, Reduction),
    )
    for name, value, allowed in checks:
        if value not in get_args(allowed) and not (name in ("over", "absent") and value is None):
            raise ValueError(f"{name} is one of {', '.join(map(repr, get_args(allowed)))}; got {value!r}")
    if sync and over in (None, "image", "groups"):
        raise ValueError("sets over an image lie in one process; sync is for over='batch' and over='class'")
    if over == "groups" and mode != "binary":
        raise ValueError("over='groups' is for mode='binary': a group is a set of pixels of one mask")


def _sets(
    given: Decisions, mode: Mode, over: Over, margins: str, chosen: list[int] | None, groups: Tensor | None
) -> Sets:
    if over != "groups":
        if groups is not None:
            raise ValueError("groups= is for over='groups'")
        return arrange(given, mode, over, margins, chosen)
    if groups is None:
        raise ValueError("over='groups' needs groups=, an integer per pixel; setloss.nn.component_groups makes them")
    return arrange_groups(given, groups, margins)


def _values(sets: Sets, plan: int, kept: Tensor | None) -> Tensor:
    """Sets that are left out are computed on zeros: an infinite score among them must not reach the gradient."""
    scores = sets.scores
    if kept is not None:
        scores = torch.where(kept.view(-1, 1), scores, 0.0)
    return values_of_sets(scores, sets.truth, sets.valid, plan)


def _check_weights(recipe: Recipe, weighs: bool) -> None:
    if not weighs:
        raise ValueError(
            "soft labels and element_weight are for L of Jaccard, which is submodular at real counts "
            '(loss="jaccard", operator="lovasz", margins other than "argmax", over other than "groups", '
            f"sync=False); other losses are tables over whole counts. Got loss={recipe.loss!r}, "
            f"operator={recipe.operator!r}, margins={recipe.margins!r}."
        )
