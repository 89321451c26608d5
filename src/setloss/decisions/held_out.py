"""Scores of sets that the scorer was not trained on, with their labels: what rules and count models learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.typing import Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of elements the scorer was not trained on, their labels, which are known, and the weight of each set.

    Scores are (n, p); with bags they are flat, one bag after the other. `folds` numbers the fold of every set.
    """

    scores: Array
    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    weights: Array
    folds: NDArray[np.intp]
    bags: Bags | None = None

    def part(self, kept: NDArray[np.bool_]) -> HeldOut:
        """Some of the sets."""
        elements, bags = kept, None
        if self.bags is not None:
            elements = np.repeat(kept, self.bags.sizes)
            bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(self.bags.sizes[kept]))))
        return HeldOut(
            self.scores[elements],
            self.truth[elements],
            self.known[elements],
            self.weights[kept],
            self.folds[kept],
            bags,
        )

    def splits(self) -> Iterator[tuple[HeldOut, HeldOut, NDArray[np.bool_]]]:
        """For every fold: the sets of the others, its own, and which those are."""
        for fold in np.unique(self.folds):
            inside = self.folds == fold
            yield self.part(~inside), self.part(inside), inside

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of elements of every set."""
        return np.full(*self.scores.shape) if self.bags is None else self.bags.sizes

    @property
    def element_weights(self) -> Array:
        """The weight of every element in the shape of the scores; 0 where the label is not known."""
        return np.asarray(self.spread_weights * self.known, dtype=np.float64)

    @property
    def spread_weights(self) -> Array:
        """The weight of the set of every element, in a shape that broadcasts with the scores."""
        return self.weights[:, None] if self.bags is None else np.repeat(self.weights, self.bags.sizes)
