"""Default losses and operators of estimators, networks and commands.

Linear models and networks have different best choices, and neither is the operator as printed in the paper. An
operator that a user names is used exactly as named.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Default:
    """A loss and an operator by name, and the scale c of its rescaled part."""

    loss: str
    operator: str
    scale: Any


LINEAR_MODELS = Default("dice", "slack", 1.0)
"""Linear models. S is exact and an upper bound of every loss; c = 1 is the tightest on the unit cube (comparison on
real data: docs/evidence.md)."""

NETWORKS = Default("jaccard", "bd-monotone", "mean")
"""Networks. For a submodular loss such as Jaccard B_D is the Lovász hinge; for others the monotone closure keeps it
an upper bound on mixed sets. c = 2 / |V| keeps the rescaled part from growing with the number of pixels
(docs/pytorch.md)."""

SUBMODULAR_OPERATOR = "lovasz"
"""Operator of networks for losses whose L takes weights of elements; the same as B_D for these."""
