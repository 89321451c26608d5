"""The choices of a `SetLoss`: those that were made, and for the others what `setloss.defaults` recommends."""

from __future__ import annotations

from dataclasses import dataclass

from setloss.defaults import NAMED_OPERATOR, NETWORK_MODES, NETWORKS, SUBMODULAR_OPERATOR
from setloss.losses import Loss
from setloss.nn.margins import KINDS, margins_named
from setloss.nn.plan import Scale
from setloss.nn.soft import takes_weights
from setloss.operators.names import Operator


@dataclass(frozen=True)
class Recipe:
    """Every choice made."""

    loss: str | Loss
    operator: str | Operator
    scale: Scale
    margins: str
    with_cross_entropy: float
    absent: str
    over: str


def recipe_of(
    loss: str | Loss,
    operator: str | Operator | None,
    scale: Scale,
    margins: str | None,
    with_cross_entropy: float | None,
    absent: str | None,
    over: str | None,
    mode: str,
    reduction: str,
) -> Recipe:
    """The choices that were made, and the recommended ones for None."""
    _check(loss, scale)
    usual = NETWORK_MODES[mode] if operator is None else NAMED_OPERATOR
    kind = margins_named(usual.margins if margins is None else margins, mode)
    if with_cross_entropy is None:
        with_cross_entropy = usual.cross_entropy if reduction == "mean" else 0.0
    check_cross_entropy(with_cross_entropy, reduction)
    if operator is None:
        operator = SUBMODULAR_OPERATOR if takes_weights(loss, SUBMODULAR_OPERATOR) else NETWORKS.operator
    return Recipe(loss, operator, scale, kind, with_cross_entropy, absent or usual.absent, over or usual.over)


def _check(loss: str | Loss, scale: Scale) -> None:
    """Slips that would otherwise be taken for something else."""
    if isinstance(loss, str) and loss in KINDS:
        raise ValueError(f"{loss!r} is a mode, and the first argument is the loss: write mode={loss!r}")
    if isinstance(scale, bool):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {scale!r}')


def check_cross_entropy(factor: object, reduction: str) -> None:
    """A factor of at least 0, and only for means."""
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor < float("inf"):
        raise ValueError(f"with_cross_entropy is the factor of cross-entropy, a number from 0 on; got {factor!r}")
    if factor and reduction != "mean":
        raise ValueError(
            f"cross-entropy is a mean over elements and reduction={reduction!r} is over sets; take "
            "with_cross_entropy=0, or reduction='mean'"
        )
