"""The parameters of a `SetLoss`: those that were given, and for the others what `setloss.defaults` recommends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from setloss.defaults import NAMED_OPERATOR, NETWORK_MODES, NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss, as_loss
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.sets import Classes, Margins, Over
from setloss.nn.soft_loss import SoftShare
from setloss.nn.targets import Mode
from setloss.operators.names import Operator
from setloss.operators.rescaling import Scale
from setloss.setfunctions.counts import Kind

NAMES = {"mode": Mode, "margins": Margins, "over": Over, "absent": Absent, "reduction": Reduction}
"""The parameters that are one of several names."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The parameters of `setloss.nn.SetLoss`, which says what they mean, none of them left open."""

    loss: Loss
    operator: str | Operator
    scale: Scale
    margins: Margins
    soft_share: SoftShare
    with_cross_entropy: float
    mode: Mode
    over: Over
    classes: Classes
    include_background: bool
    ignore_index: int | None
    absent: Absent
    reduction: Reduction

    @classmethod
    def completed(cls, **given: Any) -> Settings:
        """Parameters as they were given, with the recommended values for None; refuses what means nothing."""
        _check_names(given)
        given["loss"] = as_loss(given["loss"])
        named = {name: value for name, value in given.items() if value is not None}
        settings = cls(**given | _recommended(given) | named)
        settings._check_factors()
        return settings

    @property
    def takes_weights(self) -> bool:
        """Whether elements may have weights and labels be soft."""
        return self.over != "groups" and _takes_weights(self.loss, self.operator)

    def _check_factors(self) -> None:
        """Refuse shares and factors that mean nothing, or nothing for this loss."""
        share, factor = self.soft_share, self.with_cross_entropy
        if share != "adaptive" and not (_is_number(share) and share <= 1):
            raise ValueError(f'soft_share is a share, a number from 0 to 1, or "adaptive"; got {share!r}')
        if share and not _has_expected_counts(self.loss, self.margins):
            raise ValueError(
                "soft_share is for Dice, Jaccard, Tversky and F-beta with margins='probabilities'; got "
                f"loss={self.loss}, margins={self.margins!r}"
            )
        if not _is_number(factor):
            raise ValueError(f"with_cross_entropy is a factor, a number from 0 on; got {factor!r}")
        if factor and self.reduction != "mean":
            raise ValueError(
                f"cross-entropy is a mean over elements and reduction={self.reduction!r} is over sets; take "
                "with_cross_entropy=0, or reduction='mean'"
            )


def _check_names(given: dict[str, Any]) -> None:
    for name, allowed in NAMES.items():
        value = given[name]
        if value not in get_args(allowed) and not (name in ("margins", "over", "absent") and value is None):
            raise ValueError(f"{name} is one of {', '.join(map(repr, get_args(allowed)))}; got {value!r}")
    if isinstance(given["scale"], bool):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {given["scale"]!r}')


def _recommended(given: dict[str, Any]) -> dict[str, Any]:
    """The values of parameters that are None."""
    loss = given["loss"]
    usual = NETWORK_MODES[given["mode"]] if given["operator"] is None else NAMED_OPERATOR
    has_counts = _has_expected_counts(loss, given["margins"] or usual.margins)
    return {
        "operator": SUBMODULAR_OPERATOR if _takes_weights(loss, SUBMODULAR_OPERATOR) else NETWORKS.operator,
        "margins": usual.margins,
        "soft_share": usual.soft_share if has_counts else 0.0,
        "with_cross_entropy": usual.cross_entropy if given["reduction"] == "mean" else 0.0,
        "over": usual.over,
        "absent": usual.absent,
    }


def _takes_weights(loss: Loss, operator: object) -> bool:
    """Whether this is L of Jaccard by one of its names."""
    return loss.form == as_loss("jaccard").form and operator in ("lovasz", "bd", "bd-monotone")


def _has_expected_counts(loss: Loss, margins: Margins) -> bool:
    """Whether the loss has a value at expected counts, which `soft_share` needs."""
    return margins == "probabilities" and loss.form is not None and loss.form.kind is Kind.TVERSKY


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
