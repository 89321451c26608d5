"""What is trained when nothing is named, in one place for estimators, networks, commands and `batch_surrogate`.

A task decides, by the evidence named with each: linear scores and networks have different best choices, and the
operator as the paper prints it is neither. Naming an operator asks for exactly that operator.
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
bound on mixed sets, and with c = 2 / |V| the rescaled part does not grow with the number of pixels
(docs/pytorch.md)."""

SUBMODULAR_OPERATOR = "lovasz"
"""Networks, losses whose L takes weights of elements: B_D of a submodular loss is its Lovász hinge, so this is the
same rule."""


@dataclass(frozen=True)
class NetworkMode:
    """What surrounds the surrogate in a network: the margins, how much of the loss at expected counts and of
    cross-entropy is mixed in, and over which sets.
    """

    margins: Literal["logits", "sigmoid", "softmax"]
    cross_entropy: float
    soft_share: float | Literal["adaptive"] = 0.5
    over: Literal["image", "batch"] = "image"
    absent: Literal["keep", "skip"] = "keep"


NETWORK_MODES = {
    "binary": NetworkMode("sigmoid", 0.5, soft_share="adaptive"),
    "multilabel": NetworkMode("logits", 0.0),
    "multiclass": NetworkMode("softmax", 0.5, over="batch", absent="skip"),
}
"""Networks without a named operator: for pixels the surrogate of probabilities mixed with the loss at expected counts
(`setloss.nn.soft_loss`), and half as much cross-entropy. For masks every set has its own share; for classes the two
have equal parts, with a set for every class that occurs in the batch. For label sets the surrogate of the logits
alone (docs/pytorch.md has the comparisons)."""

NAMED_OPERATOR = NetworkMode("logits", 0.0, soft_share=0.0)
"""Networks with a named operator: that operator, of the logits, and nothing else."""

AS_PRINTED: Default[float] = Default("dice", "bd", 2.0)
"""The paper's own choice, Equations 17 and 20; for the reference API, which adds nothing to it."""

LOOSER_FOLDS = 3.0
"""Fits on folds, which are compared and then forgotten, end at this many times the gap of the last fit."""

ENOUGH_HELD_OUT = 2000
"""Folds are held out one after the other until this many sets are held out: a rule has few numbers to learn."""
