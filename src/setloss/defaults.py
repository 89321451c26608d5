"""What is trained when nothing is named: the one place that estimators, networks, the command line and
`batch_surrogate` read.

A task decides, by the evidence named with each: linear scores and networks have different best choices, and the
operator as the paper prints it is neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

S = TypeVar("S")


@dataclass(frozen=True)
class Default(Generic[S]):
    """A loss and an operator by name, and the scale c of its rescaled part."""

    loss: str
    operator: str
    scale: S


LINEAR_MODELS: Default[float] = Default("dice", "slack", 1.0)
"""Linear scores of labels and frames: S is exact and an upper bound of every loss, and with c = 1 the tightest on the
unit cube (docs/which-operator.md has the comparison on real data)."""

NETWORKS: Default[float | Literal["mean"]] = Default("jaccard", "bd-monotone", "mean")
"""Networks: B_D of a submodular loss such as Jaccard is its Lovász hinge; for others the closure keeps it an upper
bound on mixed sets, and with c = 2 / |V| the rescaled part does not grow with the number of pixels (docs/pytorch.md;
margins and cross-entropy are in `setloss.nn.recipe`)."""

AS_PRINTED: Default[float] = Default("dice", "bd", 2.0)
"""The paper's own choice, Equations 17 and 20; for the reference API, which adds nothing to it."""
