"""The choices of a `SetLoss`: those that were made, and for the others what `setloss.defaults` recommends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from setloss.defaults import NAMED_OPERATOR, NETWORK_MODES, NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss
from setloss.nn.margins import KINDS, Margins, margins_named
from setloss.nn.plan import Scale
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.relaxed import SoftShare, takes_expected_counts
from setloss.nn.sets import Over
from setloss.nn.soft import takes_weights
from setloss.nn.targets import Mode
from setloss.operators.names import Operator


@dataclass(frozen=True)
class Recipe:
    """Every choice made."""

    loss: str | Loss
    operator: str | Operator
    scale: Scale
    margins: str
    soft_share: SoftShare
    with_cross_entropy: float
    mode: Mode
    over: Over
    classes: Sequence[int] | Literal["present"] | None
    include_background: bool
    ignore_index: int | None
    absent: Absent
    reduction: Reduction
    sync: bool

    @property
    def present_only(self) -> bool:
        """Whether sets without a positive are left out."""
        return self.absent == "skip" or self.classes == "present"

    @property
    def weighs(self) -> bool:
        """Whether elements may have weights and labels be soft."""
        sets = self.margins != "argmax" and self.over != "groups" and not self.sync
        return sets and takes_weights(self.loss, self.operator)


def recipe_of(
    loss: str | Loss,
    operator: str | Operator | None,
    *,
    scale: Scale,
    margins: Margins | None,
    soft_share: SoftShare | None,
    with_cross_entropy: float | None,
    mode: Mode,
    over: Over | None,
    absent: Absent | None,
    reduction: Reduction,
    sync: bool,
    **others: Any,
) -> Recipe:
    """The choices that were made, and the recommended ones for None; `others` have none."""
    check_choices(mode, over, absent, reduction, sync)
    _check(loss, scale)
    usual = NETWORK_MODES[mode] if operator is None else NAMED_OPERATOR
    kind = margins_named(usual.margins if margins is None else margins, mode)
    relaxes = takes_expected_counts(loss, kind)
    if soft_share is None:
        soft_share = usual.soft_share if relaxes else 0.0
    check_soft_share(soft_share, relaxes, loss, kind)
    if with_cross_entropy is None:
        with_cross_entropy = usual.cross_entropy if reduction == "mean" else 0.0
    check_cross_entropy(with_cross_entropy, reduction)
    if operator is None:
        operator = SUBMODULAR_OPERATOR if takes_weights(loss, SUBMODULAR_OPERATOR) else NETWORKS.operator
    return Recipe(
        loss,
        operator,
        scale=scale,
        margins=kind,
        soft_share=soft_share if soft_share == "adaptive" else float(soft_share),
        with_cross_entropy=with_cross_entropy,
        mode=mode,
        over=over or usual.over,
        absent=absent or usual.absent,
        reduction=reduction,
        sync=sync,
        **others,
    )


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


def _check(loss: str | Loss, scale: Scale) -> None:
    """Slips that would otherwise be taken for something else."""
    if isinstance(loss, str) and loss in KINDS:
        raise ValueError(f"{loss!r} is a mode, and the first argument is the loss: write mode={loss!r}")
    if isinstance(scale, bool):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {scale!r}')


def check_soft_share(share: object, relaxes: bool, loss: str | Loss, margins: str) -> None:
    """A number from 0 to 1 or "adaptive"; only where mistakes have probabilities and the loss takes real counts."""
    number = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1
    if not number and share != "adaptive":
        raise ValueError(
            f'soft_share is the share of the loss at expected counts, from 0 to 1, or "adaptive"; got {share!r}'
        )
    if share and not relaxes:
        raise ValueError(
            "soft_share is for Dice, Jaccard, Tversky and F-beta with margins='probabilities'; got "
            f"loss={loss!r}, margins={margins!r}"
        )


def check_cross_entropy(factor: object, reduction: str) -> None:
    """A factor of at least 0, and only for means."""
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor < float("inf"):
        raise ValueError(f"with_cross_entropy is the factor of cross-entropy, a number from 0 on; got {factor!r}")
    if factor and reduction != "mean":
        raise ValueError(
            f"cross-entropy is a mean over elements and reduction={reduction!r} is over sets; take "
            "with_cross_entropy=0, or reduction='mean'"
        )
