"""The parameters of a `SetLoss`: recommended values for those that are not given, and those that mean nothing."""

from typing import Any, get_args

from setloss.arguments import is_number_within
from setloss.defaults import NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss, as_loss
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.sets import Margins, Over
from setloss.nn.targets import Mode
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
