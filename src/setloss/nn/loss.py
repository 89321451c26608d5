"""Set-level losses: targets -> sets -> cuts -> reduction, one module of `setloss.nn` each."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from setloss.defaults import NETWORKS
from setloss.losses import Loss
from setloss.nn.check_targets import warn_of_classes, warn_of_probabilities
from setloss.nn.cuts import make_plan, values_of_sets
from setloss.nn.parameters import Settings
from setloss.nn.reduction import Absent, Reduction, counted_sets, mean_cross_entropy, reduced, set_factors
from setloss.nn.sets import Classes, Margins, Over, Sets, arrange, arrange_groups, chosen_classes
from setloss.nn.soft_loss import SoftShare, mixed, mixed_values
from setloss.nn.targets import Decisions, Mode, decisions
from setloss.nn.weighted_jaccard import arrange_weighted, weighted_jaccard
from setloss.operators.names import Operator
from setloss.operators.rescaling import Scale
from setloss.plans.build import LossSurrogate


class SetLoss(nn.Module):
    """B(m) of every set, m_i the margin of decision i, plus a factor times cross-entropy: ``loss(logits, target)``.

    ``SetLoss()`` is what trains networks best: L of Jaccard mixed with soft Dice, both of probabilities, and
    cross-entropy. ``SetLoss("dice", "bd")`` is exactly that operator, of logits: convex and piecewise linear in them.
    The gradient is that of the cut, exact in value and slope. A loss and an operator that do not go together are
    refused here, before training starts.

    Parameters
    ----------
    loss
        A name ("jaccard", "dice", "hamming", "curve1", ...) or any loss of `setloss.losses`, your own included.
    operator, scale
        "bd", "bd-monotone", "slack", "margin", "lovasz" or "hinge", and the scale c of rescaled parts: a number (2 as
        printed in the paper), or "mean" for two over the number of elements of each set. None: see above. Or a
        function from set functions to surrogates, your own included (slow, see docs/losses.md).
    margins
        "logits" or "probabilities" (of a sigmoid, of classes by a softmax). See `setloss.nn.sets`.
    soft_share
        The share s of the loss l at expected counts (soft Dice, soft Jaccard) in (1 - s) B + s l; for margins that
        are probabilities. "adaptive" is s = l, set by set and without a slope, of Jaccard with l of Dice; see
        `setloss.nn.soft_loss`. Where no operator is named, "adaptive" for masks and 1/2 for classes; else 0.
    with_cross_entropy
        The factor of the mean cross-entropy that is added. Where no operator is named and `reduction` is "mean": 1
        for masks, 1/2 for classes; else 0.
    mode
        "binary", "multilabel" or "multiclass".
    over
        What one set is. "image": all decisions on one image (in multiclass mode, one set per image and class).
        "batch": all decisions of the batch (multiclass: per class). "class": per class or label over the batch.
        "groups": the decisions of one image, and one class or label, with one number in `groups`, 0 for those in no
        set. None: the batch in multiclass mode where no operator is named, else the image.
    classes, include_background
        Which classes have sets, by their numbers; background is class 0. Cross-entropy is of all classes.
    class_weight
        A factor per class, ``(C,)``.
    ignore_index
        Elements with this target, or of this class, belong to no set. A set without elements costs 0 and is not
        counted by "mean".
    absent
        What to do with sets that have no positive: "keep" them (any alarm is then a full loss of Dice) or "skip".
        None: skip them in multiclass mode where no operator is named, else keep them.
    reduction
        "mean" over the sets that count (weighted by `weight`), "sum", or "none" for one number per set: ``(N,)``,
        ``(N, C)`` in multiclass mode over images, ``(C,)`` over classes, ``(1,)`` over the batch, for groups in the
        order of images, classes and numbers.

    Examples
    --------
    The Lovász hinge of Jaccard, one number per image; the first image is right by a margin of 1:

    >>> import torch
    >>> logits = torch.tensor([[2.0, -1.0, -3.0], [0.5, -1.0, 1.0]], requires_grad=True)
    >>> target = torch.tensor([[1, 0, 0], [0, 1, 1]])
    >>> SetLoss("jaccard", "lovasz", reduction="none")(logits, target).tolist()
    [0.0, 1.25]
    >>> SetLoss()(logits, target).backward()  # the recommended loss
    >>> torch.sign(logits.grad)
    tensor([[-1.,  1.,  1.],
            [ 1., -1., -1.]])
    """

    class_weight: Tensor | None

    def __init__(
        self,
        loss: str | Loss = NETWORKS.loss,
        operator: str | Operator | None = None,
        *,
        scale: Scale = NETWORKS.scale,
        margins: Margins | None = None,
        soft_share: SoftShare | None = None,
        with_cross_entropy: float | None = None,
        mode: Mode = "binary",
        over: Over | None = None,
        classes: Classes = None,
        include_background: bool = True,
        class_weight: Tensor | Sequence[float] | None = None,
        ignore_index: int | None = None,
        absent: Absent | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        self.settings = Settings.completed(
            loss=loss,
            operator=operator,
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
        )
        self.plan = make_plan(self.settings.loss, self.settings.operator, self.settings.scale)
        factors = None if class_weight is None else torch.as_tensor(class_weight, dtype=torch.float32)
        self.register_buffer("class_weight", factors, persistent=False)

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        mask: Tensor | None = None,
        weight: Tensor | None = None,
        element_weight: Tensor | None = None,
        groups: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch: a mean or sum, or one number per set.

        Parameters
        ----------
        logits, target
            Binary: ``(N, ...)`` or ``(N, 1, ...)``, targets 0 and 1 or bool of that shape. Multilabel: both ``(N, C,
            ...)``. Multiclass: ``(N, C, ...)`` and class ids ``(N, ...)`` or one-hot ``(N, C, ...)``, a set per
            class. L of Jaccard takes labels between 0 and 1 as well. Logits are scores before any sigmoid or softmax.
            With margins of logits, a set with a logit that is infinite or not a number has the value NaN; a sigmoid
            takes infinite logits as certain.
        mask
            bool, where it is False elements belong to no set.
        weight
            A factor per set, of the shape that ``reduction="none"`` returns.
        element_weight
            A factor from 0 on per pixel, in the shape of the target; for L of Jaccard and cross-entropy only.
        groups
            For ``over="groups"``: integers of the shape of the target, multiclass ``(N, C, ...)``; see
            `component_groups`.
        """
        settings, mode = self.settings, self.settings.mode
        given = decisions(logits, target, mask, mode, settings.ignore_index, settings.takes_weights)
        warn_of_probabilities(logits)
        if mode == "binary":
            warn_of_classes(target)
        classes = chosen_classes(settings.classes, settings.include_background, given.logits, mode)
        if given.shares is not None or element_weight is not None:
            sets, values = _weighted_values(given, settings, classes, groups, element_weight)
        else:
            sets = _sets(given, settings, classes, groups)
            values = _values(sets, self.plan, settings)
        counted = counted_sets(sets, settings.absent)
        factors = set_factors(weight, self.class_weight, sets, classes, given.logits, mode)
        total = reduced(values.view(sets.shape), counted, factors, settings.reduction)
        if settings.with_cross_entropy:
            total = total + settings.with_cross_entropy * mean_cross_entropy(given, element_weight)
        return total if given.assertion is None else total + given.assertion

    def extra_repr(self) -> str:
        return ", ".join(f"{field.name}={getattr(self.settings, field.name)!r}" for field in fields(self.settings))


def set_loss(
    logits: Tensor,
    target: Tensor,
    *,
    mask: Tensor | None = None,
    weight: Tensor | None = None,
    element_weight: Tensor | None = None,
    groups: Tensor | None = None,
    **parameters: Any,
) -> Tensor:
    """`SetLoss` as a function: ``SetLoss(**parameters)(logits, target, ...)``, the parameters by name.

    Examples
    --------
    >>> import torch
    >>> set_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[1, 0]]), loss="hamming", operator="lovasz")
    tensor(1.)
    """
    loss = SetLoss(**parameters)
    return loss.forward(logits, target, mask=mask, weight=weight, element_weight=element_weight, groups=groups)


def _sets(given: Decisions, settings: Settings, classes: list[int] | None, groups: Tensor | None) -> Sets:
    if settings.over == "groups":
        return arrange_groups(given, groups, settings.mode, settings.margins, classes)
    if groups is not None:
        raise ValueError("groups= is for over='groups'")
    return arrange(given, settings.mode, settings.over, settings.margins, classes)


def _values(sets: Sets, plan: LossSurrogate, settings: Settings) -> Tensor:
    """Sets that are left out are computed on zeros: an infinite score among them must not reach the gradient."""
    if settings.absent == "skip":
        sets = replace(sets, scores=torch.where(sets.has_positives.unsqueeze(1), sets.scores, 0.0))
    values = values_of_sets(sets.scores, sets.truth, sets.valid, plan)
    form = settings.loss.form
    if not settings.soft_share or form is None:
        return values
    return mixed_values(sets, values, form, settings.soft_share)


def _weighted_values(
    given: Decisions,
    settings: Settings,
    classes: list[int] | None,
    groups: Tensor | None,
    element_weight: Tensor | None,
) -> tuple[Sets, Tensor]:
    if groups is not None or not settings.takes_weights:
        raise ValueError(
            "soft labels and element_weight are for L of Jaccard, which is submodular at real counts "
            '(loss="jaccard", operator="lovasz", over other than "groups"); '
            f"other losses are tables over whole counts. Got loss={settings.loss}, "
            f"operator={settings.operator!r}, over={settings.over!r}."
        )
    sets, elements = arrange_weighted(given, settings.mode, settings.over, settings.margins, classes, element_weight)
    values, form = weighted_jaccard(elements), settings.loss.form
    if settings.soft_share and form is not None:
        values = mixed(values, elements.as_positive, elements.shares, elements.weight, form, settings.soft_share)
    return sets, values
