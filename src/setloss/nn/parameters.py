"""The parameters of a `SetLoss`: those that were given, and for the others what `setloss.defaults` recommends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from setloss.defaults import NAMED_OPERATOR, NETWORK_MODES, NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss, as_loss
from setloss.nn.margins import Margins
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.sets import Classes, Over
from setloss.nn.soft_loss import SoftShare
from setloss.nn.targets import Mode
from setloss.nn.weighted_jaccard import takes_weights
from setloss.operators.names import Operator
from setloss.operators.rescaling import Scale
from setloss.setfunctions.counts import Kind


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of `setloss.nn.SetLoss`, which says what they mean, as they were given."""

    loss: str | Loss = NETWORKS.loss
    operator: str | Operator | None = None
    scale: Scale = NETWORKS.scale
    margins: Margins | None = None
    soft_share: SoftShare | None = None
    with_cross_entropy: float | None = None
    mode: Mode = "binary"
    over: Over | None = None
    classes: Classes = None
    include_background: bool = True
    ignore_index: int | None = None
    absent: Absent | None = None
    reduction: Reduction = "mean"
    sync: bool = False

    def completed(self) -> Settings:
        """With the recommended values for None; refuses what means nothing."""
        self._check_names()
        given = {name: value for name, value in vars(self).items() if value is not None}
        settings = Settings(**vars(self) | self._recommended() | given)
        settings.check_factors()
        return settings

    @property
    def judge(self) -> Loss:
        """The loss, also where it was given by its name."""
        return as_loss(self.loss)

    def _recommended(self) -> dict[str, Any]:
        """The values of parameters that are None."""
        usual = NETWORK_MODES[self.mode] if self.operator is None else NAMED_OPERATOR
        has_counts = has_expected_counts(self.judge, self.margins or usual.margins)
        submodular = takes_weights(self.judge, SUBMODULAR_OPERATOR)
        return {
            "operator": SUBMODULAR_OPERATOR if submodular else NETWORKS.operator,
            "margins": usual.margins,
            "soft_share": usual.soft_share if has_counts else 0.0,
            "with_cross_entropy": usual.cross_entropy if self.reduction == "mean" else 0.0,
            "over": usual.over,
            "absent": usual.absent,
        }

    def _check_names(self) -> None:
        named = {"mode": Mode, "margins": Margins, "over": Over, "absent": Absent, "reduction": Reduction}
        for name, allowed in named.items():
            value = getattr(self, name)
            if value not in get_args(allowed) and not (name in ("margins", "over", "absent") and value is None):
                raise ValueError(f"{name} is one of {', '.join(map(repr, get_args(allowed)))}; got {value!r}")
        if self.sync and self.over in (None, "image", "groups"):
            raise ValueError("sets over an image lie in one process; sync is for over='batch' and over='class'")
        if isinstance(self.loss, str) and self.loss in get_args(Mode):
            raise ValueError(f"{self.loss!r} is a mode, and the first argument is the loss: write mode={self.loss!r}")
        if isinstance(self.scale, bool):
            raise ValueError(f'the scale c must be a positive number or "mean"; got {self.scale!r}')


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Parameters none of which is left open."""

    operator: str | Operator
    margins: Margins
    soft_share: SoftShare
    with_cross_entropy: float
    over: Over
    absent: Absent

    @property
    def takes_weights(self) -> bool:
        """Whether elements may have weights and labels be soft."""
        return self.over != "groups" and not self.sync and takes_weights(self.judge, self.operator)

    def check_factors(self) -> None:
        """Refuse shares and factors that mean nothing, or nothing for this loss."""
        share, factor = self.soft_share, self.with_cross_entropy
        if share != "adaptive" and not (_is_number(share) and share <= 1):
            raise ValueError(f'soft_share is a share, a number from 0 to 1, or "adaptive"; got {share!r}')
        if share and not has_expected_counts(self.judge, self.margins):
            raise ValueError(
                "soft_share is for Dice, Jaccard, Tversky and F-beta with margins='probabilities'; got "
                f"loss={self.loss!r}, margins={self.margins!r}"
            )
        if not _is_number(factor):
            raise ValueError(f"with_cross_entropy is a factor, a number from 0 on; got {factor!r}")
        if factor and self.reduction != "mean":
            raise ValueError(
                f"cross-entropy is a mean over elements and reduction={self.reduction!r} is over sets; take "
                "with_cross_entropy=0, or reduction='mean'"
            )


def has_expected_counts(loss: Loss, margins: Margins) -> bool:
    """Whether the loss has a value at expected counts, which `soft_share` needs."""
    return margins == "probabilities" and loss.form is not None and loss.form.kind is Kind.TVERSKY


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
