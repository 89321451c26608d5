"""Set-level losses: targets -> sets -> cuts -> reduction, one module of `setloss.nn` each."""

from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch import Tensor, nn

from setloss.arguments import is_number_within
from setloss.defaults import NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss, as_loss
from setloss.nn.cuts import make_plan, values_of_sets
from setloss.nn.reduction import Absent, Reduction, counted_sets, mean_cross_entropy, reduced, set_factors
from setloss.nn.sets import Classes, Margins, Over, Sets, arrange, arrange_groups, chosen_classes
from setloss.nn.soft_loss import SoftShare, mixed
from setloss.nn.targets import Decisions, Mode, decisions, warn_of_classes, warn_of_probabilities
from setloss.nn.weighted_jaccard import element_weights, weighted_jaccard
from setloss.operators import Operator
from setloss.operators.rescaling import Scale
from setloss.setfunctions.counts import Kind

AS_NAMED = {"margins": "logits", "soft_share": 0.0, "with_cross_entropy": 0.0, "over": "image", "absent": "keep"}
"""Values where an operator is named: that operator, of the logits, and nothing else."""

RECOMMENDED: dict[str, dict[str, Any]] = {
    "binary": AS_NAMED | {"margins": "probabilities", "soft_share": "adaptive", "with_cross_entropy": 1.0},
    "multilabel": AS_NAMED | {"soft_share": 0.5},
    "multiclass": {
        "margins": "probabilities", "soft_share": 0.5, "with_cross_entropy": 0.5, "over": "batch", "absent": "skip",
    },
}  # fmt: skip
"""Values without a named operator (comparisons: docs/pytorch.md). Pixels: the surrogate of probabilities, mixed with
the loss at expected counts (`setloss.nn.soft_loss`), and cross-entropy; masks choose the share set by set, classes
have equal parts, half as much cross-entropy and one set per class of the batch. Label sets: that of logits."""

NAMES = {"mode": Mode, "margins": Margins, "over": Over, "absent": Absent, "reduction": Reduction}
"""The parameters that are one of several names."""


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
        check_names(mode=mode, margins=margins, over=over, absent=absent, reduction=reduction)
        self.loss, self.mode, self.reduction = as_loss(loss), mode, reduction
        self.classes, self.include_background, self.ignore_index = classes, include_background, ignore_index
        usual = recommended(self.loss, operator, mode, margins, reduction)
        self.operator: str | Operator = usual["operator"] if operator is None else operator
        self.margins: Margins = margins or usual["margins"]
        self.soft_share: SoftShare = usual["soft_share"] if soft_share is None else soft_share
        self.with_cross_entropy: float = (
            usual["with_cross_entropy"] if with_cross_entropy is None else with_cross_entropy
        )
        self.over: Over = over or usual["over"]
        self.absent: Absent = absent or usual["absent"]
        check_factors(self.loss, self.margins, self.soft_share, self.with_cross_entropy, reduction)
        self.plan = make_plan(self.loss, self.operator, scale)
        self.soft_form = self.loss.form if self.soft_share else None
        self.takes_weights = self.over != "groups" and takes_weights(self.loss, self.operator)
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
        mode = self.mode
        given = decisions(logits, target, mask, mode, self.ignore_index, self.takes_weights)
        warn_of_probabilities(logits)
        if mode == "binary":
            warn_of_classes(target)
        classes = chosen_classes(self.classes, self.include_background, given.logits, mode)
        sets = self._sets(given, classes, groups, element_weight)
        counted = counted_sets(sets, self.absent)
        if counted is not None and self.absent == "skip":  # an infinite score must not reach the gradient
            sets = sets._replace(predicted=torch.where(counted.view(-1, 1), sets.predicted, 0.0))
        if given.shares is not None or element_weight is not None:
            values = weighted_jaccard(sets)
        else:
            values = values_of_sets(sets.scores, sets.truth, sets.valid, self.plan)
        if self.soft_form is not None:
            values = mixed(values, sets, self.soft_form, self.soft_share)
        factors = set_factors(weight, self.class_weight, sets, classes, given.logits, mode)
        values = values if values.shape == sets.shape else values.view(sets.shape)
        total = reduced(values, counted, factors, self.reduction)
        if self.with_cross_entropy:
            total = torch.add(total, mean_cross_entropy(given, element_weight), alpha=self.with_cross_entropy)
        return total if given.assertion is None else total + given.assertion

    def _sets(
        self, given: Decisions, classes: list[int] | None, groups: Tensor | None, element_weight: Tensor | None
    ) -> Sets:
        if element_weight is not None and not self.takes_weights:
            raise ValueError(
                'element_weight is for L of Jaccard (loss="jaccard", operator="lovasz", over other than "groups"), '
                "which is submodular at real counts; other losses are tables over whole counts. Got "
                f"loss={self.loss}, operator={self.operator!r}, over={self.over!r}."
            )
        if self.over == "groups":
            return arrange_groups(given, groups, self.mode, self.margins, classes)
        if groups is not None:
            raise ValueError("groups= is for over='groups'")
        return arrange(given, self.mode, self.over, self.margins, classes, element_weights(given, element_weight))

    def extra_repr(self) -> str:
        names = ("loss", "operator", "margins", "soft_share", "with_cross_entropy", "mode", "over", "absent")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


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


# ---------------------------------------------------------------- parameters


def recommended(
    loss: Loss, operator: object, mode: Mode, margins: Margins | None, reduction: Reduction
) -> dict[str, Any]:
    """The values of parameters that are not given."""
    values = dict(RECOMMENDED[mode] if operator is None else AS_NAMED)
    values["operator"] = SUBMODULAR_OPERATOR if takes_weights(loss, SUBMODULAR_OPERATOR) else NETWORKS.operator
    if not _has_expected_counts(loss, margins or values["margins"]):
        values["soft_share"] = 0.0
    if reduction != "mean":
        values["with_cross_entropy"] = 0.0
    return values


def takes_weights(loss: Loss, operator: object) -> bool:
    """Whether this is L of Jaccard by one of its names: elements may have weights and labels be soft."""
    return loss.form == as_loss("jaccard").form and operator in ("lovasz", "bd", "bd-monotone")


def _has_expected_counts(loss: Loss, margins: Margins) -> bool:
    """Whether the loss has a value at expected counts, which `soft_share` needs."""
    return margins == "probabilities" and loss.form is not None and loss.form.kind is Kind.TVERSKY


def check_names(**given: Any) -> None:
    """Refuse what is none of the names of a parameter; None stands for the recommended one."""
    for name, value in given.items():
        allowed = get_args(NAMES[name])
        if value not in allowed and not (name in ("margins", "over", "absent") and value is None):
            raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}; got {value!r}")


def check_factors(loss: Loss, margins: Margins, share: object, factor: object, reduction: Reduction) -> None:
    """Refuse shares of the soft loss and factors of cross-entropy that mean nothing, or nothing for this loss."""
    if share != "adaptive" and not is_number_within(share, 0, 1):
        raise ValueError(f'soft_share is a share, a number from 0 to 1, or "adaptive"; got {share!r}')
    if share and not _has_expected_counts(loss, margins):
        raise ValueError(
            "soft_share is for Dice, Jaccard, Tversky and F-beta with margins='probabilities'; got "
            f"loss={loss}, margins={margins!r}"
        )
    if not is_number_within(factor, 0):
        raise ValueError(f"with_cross_entropy is a factor, a number from 0 on; got {factor!r}")
    if factor and reduction != "mean":
        raise ValueError(
            f"cross-entropy is a mean over elements and reduction={reduction!r} is over sets; take "
            "with_cross_entropy=0, or reduction='mean'"
        )
