"""Default losses and operators of estimators, networks, commands and `batch_surrogate`.

Linear models and networks have different best choices, and neither is the operator as printed in the paper. An
operator that a user names is used exactly as named.
"""

from dataclasses import dataclass
from typing import Any, Literal


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

AS_PRINTED = Default("dice", "bd", 2.0)
"""The paper's own choice, Equations 17 and 20; default of `batch_surrogate`."""

LOOSER_FOLDS = 3.0
"""Ratio of the gap of fits on folds, which are only compared, to the gap of the final fit."""


@dataclass(frozen=True)
class NetworkMode:
    """Margins of a network's loss, shares of the loss at expected counts and of cross-entropy, and its sets."""

    margins: Literal["logits", "probabilities"]
    cross_entropy: float
    soft_share: float | Literal["adaptive"] = 0.5
    over: Literal["image", "batch"] = "image"
    absent: Literal["keep", "skip"] = "keep"


NETWORK_MODES = {
    "binary": NetworkMode("probabilities", 1.0, soft_share="adaptive"),
    "multilabel": NetworkMode("logits", 0.0),
    "multiclass": NetworkMode("probabilities", 0.5, over="batch", absent="skip"),
}
"""Modes of networks without a named operator (comparisons: docs/pytorch.md). Pixels: the surrogate of probabilities,
mixed with the loss at expected counts (`setloss.nn.soft_loss`), and cross-entropy; masks choose the share set by set,
classes have equal parts, half as much cross-entropy and one set per class of the batch. Label sets: the surrogate of
the logits alone."""

NAMED_OPERATOR = NetworkMode("logits", 0.0, soft_share=0.0)
"""Mode of networks with a named operator: that operator, of the logits, and nothing else."""
