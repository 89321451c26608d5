"""Scores of sets that the scorer was not trained on, with their labels: what rules and count models learn from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.losses import CountLoss
from setloss.typing import Array, Flags

TURNS = 5
"""Folds that sets are put into where their scores do not come from several folds."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of elements the scorer was not trained on, their labels, which are known, and the weight of each set.

    Scores are (n, p); with bags they are flat, one bag after the other. `folds` numbers the fold of every set.
    """

    scores: Array
    truth: Flags
    known: Flags
    weights: Array
    folds: NDArray[np.intp]
    bags: Bags | None = None

    def part(self, kept: Flags) -> "HeldOut":
        """Some of the sets."""
        elements, bags = kept, None
        if self.bags is not None:
            elements = np.repeat(kept, self.bags.sizes)
            bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(self.bags.sizes[kept]))))
        scores, truth, known = self.scores[elements], self.truth[elements], self.known[elements]
        return HeldOut(scores, truth, known, self.weights[kept], self.folds[kept], bags)

    def without(self, fold: int) -> "HeldOut":
        """The same sets, those of a fold with weight 0."""
        return replace(self, weights=np.where(self.folds == fold, 0.0, self.weights))

    def sample(self, most: int) -> "HeldOut":
        """At most so many of the sets, at random."""
        if len(self) <= most:
            return self
        kept = np.zeros(len(self), dtype=bool)
        kept[np.random.default_rng(0).permutation(len(self))[:most]] = True
        return self.part(kept)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of elements of every set."""
        return np.full(*self.scores.shape) if self.bags is None else self.bags.sizes

    @property
    def element_weights(self) -> Array:
        """The weight of every element in the shape of the scores; 0 where the label is not known."""
        weights = self.weights[:, None] if self.bags is None else np.repeat(self.weights, self.bags.sizes)
        return np.asarray(weights * self.known, dtype=np.float64)

    def losses(self, chosen: Flags, loss: CountLoss) -> Array:
        """The loss of every set on its known labels."""
        truth = self.truth & self.known
        flags = [truth & ~chosen, self.known & ~self.truth & chosen, truth, self.known & ~self.truth]
        return np.asarray(loss.value(*(self.totals(flag) for flag in flags)), dtype=np.float64)

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over the elements of each set."""
        return values.sum(axis=1) if self.bags is None else self.bags.totals(values.astype(np.float64))


def mean_loss(data: HeldOut, chosen: Flags, loss: CountLoss, average: str) -> float:
    """The mean loss of the sets (samples), or of the labels (macro), or of everything as one set (micro)."""
    if average == "samples":
        return float(np.average(data.losses(chosen, loss), weights=data.weights))
    flags = np.stack([data.truth & ~chosen, ~data.truth & chosen, data.truth, ~data.truth]) & data.known
    tallies = np.einsum("tij,i->tj", flags, data.weights)
    return float(np.mean(loss.value(*(tallies if average == "macro" else tallies.sum(axis=1)))))


def numbered_folds(splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None, n: int) -> NDArray[np.intp]:
    """The number of the fold that holds each example out, -1 where no fold does.

    Rules are compared on several folds: without splits, or with only one, the examples are put into `TURNS` folds at
    random.
    """
    if splits is None:
        return np.random.default_rng(0).permutation(n) % min(TURNS, max(n, 1))
    folds = np.full(n, -1, dtype=np.intp)
    for k, (_, test) in enumerate(splits):
        folds[test] = k if len(splits) > 1 else numbered_folds(None, len(test))
    return folds


def thinned(scores: Array, bags: Bags, longest: int) -> tuple[NDArray[np.intp], Bags]:
    """Indices of elements, evenly spaced in the falling order of each bag, at most `longest` of each; and their bags.

    Bags must lie one after the other.
    """
    order, starts = falling(scores, bags), bags.offsets[:-1]
    sizes = np.minimum(bags.sizes, longest)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    ranks = ((2 * place + 1) * np.repeat(bags.sizes, sizes)) // (2 * np.repeat(sizes, sizes))
    return order[np.repeat(starts, sizes) + ranks], Bags.from_offsets(offsets)


def falling(scores: Array, bags: Bags) -> NDArray[np.intp]:
    """Elements by bag, and in each bag by falling score, of equal ones the first."""
    if len(bags) and np.all(bags.sizes == bags.sizes[0]):
        rows = np.argsort(-scores.reshape(len(bags), -1), axis=1, kind="stable")
        return np.ravel(rows + bags.offsets[:-1, None])
    return np.lexsort((-scores, np.repeat(np.arange(len(bags)), bags.sizes)))
