"""Scores of sets that the scorer was not trained on, with their labels: what rules and count models learn from.

The cut of least held-out loss is found by an exact scan: of all places to cut the sorted scores, the best. Losses are
those of one example at a time (the mean over examples), or of elements that are judged together as one set: a label
over all examples (macro), all labels of all examples (micro).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.losses import CountLoss, TverskyFamily
from setloss.typing import Array

Flags = NDArray[np.bool_]

PRIOR = 10.0
"""Positives of a label that weigh as much as its calibrated chances, where every label has its own cut."""

SCANNED = 2**17
"""Elements whose losses are computed at a time where a threshold is sought, which bounds the memory of the scan."""

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

    @classmethod
    def of_bags(cls, scores: Array, truth: Flags, weights: Array, folds: NDArray[np.intp], bags: Bags) -> HeldOut:
        """Flat scores in any order; `weights` and `folds` are those of the bags."""
        known = np.ones(len(scores), dtype=bool)
        return cls(bags.gather(scores), bags.gather(truth), known, weights, folds, Bags(bags.offsets))

    def part(self, kept: Flags) -> HeldOut:
        """Some of the sets."""
        elements, bags = kept, None
        if self.bags is not None:
            elements = np.repeat(kept, self.bags.sizes)
            bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(self.bags.sizes[kept]))))
        scores, truth, known = self.scores[elements], self.truth[elements], self.known[elements]
        return HeldOut(scores, truth, known, self.weights[kept], self.folds[kept], bags)

    def sample(self, most: int) -> HeldOut:
        """At most so many of the sets, at random."""
        if len(self) <= most:
            return self
        kept = np.zeros(len(self), dtype=bool)
        kept[np.random.default_rng(0).permutation(len(self))[:most]] = True
        return self.part(kept)

    def splits(self) -> Iterator[tuple[HeldOut, HeldOut, Flags]]:
        """For every fold: the sets of the others, its own, and which those are."""
        for fold in np.unique(self.folds):
            inside = self.folds == fold
            yield self.part(~inside), self.part(inside), inside

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
        rows = [flag.sum(axis=1) if self.bags is None else self.bags.totals(flag.astype(np.intp)) for flag in flags]
        return np.asarray(loss.value(*rows), dtype=np.float64)


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
    return np.lexsort((-scores, np.repeat(np.arange(len(bags)), bags.sizes)))


# -------------------------------------------------------------------- thresholds


def threshold_of_sets(data: HeldOut, loss: CountLoss) -> float:
    """One threshold for all elements, of least mean loss; of equally good ones that nearest to 0.

    Lowering the threshold adds elements one by one, by falling score; each changes the loss of its own set.
    """
    chunks = np.cumsum(data.sizes) // SCANNED
    parts = (data.part(chunks == chunk) for chunk in np.unique(chunks))
    steps = np.concatenate([np.zeros(0), *(_steps(part, loss) for part in parts)])
    known = np.ravel(data.known)
    scores, steps = np.ravel(data.scores)[known], steps[known]
    order = np.argsort(-scores, kind="stable")
    scores, steps = scores[order], steps[order]
    return best_cut(scores, np.concatenate(([0.0], np.cumsum(steps))))


def _steps(data: HeldOut, loss: CountLoss) -> Array:
    """What the loss of its set grows by when an element is added to those of larger score, times the set's weight."""
    bags = data.bags or Bags.from_offsets(data.scores.shape[1] * np.arange(len(data) + 1))
    known = np.ravel(data.known)
    order = falling(np.where(known, np.ravel(data.scores), -np.inf), bags)  # labels that are not known change nothing
    flags = (np.ravel(data.truth) & known, known)
    hits, said = (_cumulated(flag[order].astype(np.intp), bags) for flag in flags)
    first, last = bags.offsets[:-1], np.repeat(bags.offsets[1:] - 1, bags.sizes)
    positives, negatives = hits[last], said[last] - hits[last]
    after = np.asarray(loss.value(positives - hits, said - hits, positives, negatives), dtype=np.float64)
    before = np.concatenate(([0.0], after[:-1]))
    before[first] = loss.value(positives[first], 0 * first, positives[first], negatives[first])
    steps = np.empty(len(order))
    steps[order] = (after - before) * np.repeat(data.weights, bags.sizes)
    return steps


def threshold_of_column(
    scores: Array, positive: Array | Flags, weights: Array, loss: CountLoss, absent: float = 0.0
) -> float:
    """A threshold for flat elements that are judged together, as one set; `positive` is 0 or 1, or a chance.

    `absent` is the chance that none of them will be positive, part of the chances in `positive`.
    """
    by_score = np.argsort(-scores, kind="stable")
    hits = np.concatenate(([0.0], np.cumsum((weights * positive)[by_score])))
    said = np.concatenate(([0.0], np.cumsum(weights[by_score])))
    values = (1 - absent) * _loss_of_tallies(hits / max(1 - absent, 1e-12), said, loss)
    if absent > 0:
        values += absent * _loss_of_tallies(0 * hits, said, loss)
    return best_cut(scores[by_score], values)


def _loss_of_tallies(hits: Array, said: Array, loss: CountLoss) -> Array:
    """The loss of everything as one set, for hits[j] of the said[j] elements that are chosen first."""
    hits = np.minimum(hits, said)
    return np.asarray(loss.value(hits[-1] - hits, said - hits, hits[-1], said[-1] - hits[-1]), dtype=np.float64)


def column_thresholds(data: HeldOut, chances: Array, loss: CountLoss, average: str) -> Array:
    """Thresholds (p,) of least loss over all examples: one for each label (macro), or one for all (micro).

    The best cut of a label with few positives is a matter of chance. For labels that occur, truth is mixed with the
    calibrated `chances` of the same examples, which a cut cannot follow: with `PRIOR` positives, half and half. Of as
    many new examples, which numbers of positives are Poisson's, exp(-sum of chances) have none: where an empty label
    that is left empty scores 1, it can be best to leave it alone, and then its threshold is infinite.
    """
    weights, p = data.element_weights, data.scores.shape[1]
    if average == "micro":
        known = data.known
        return np.full(p, threshold_of_column(data.scores[known], data.truth[known], weights[known], loss))
    thresholds = np.empty(p)
    for j in range(p):
        known = data.known[:, j]
        scores, truth, weight = data.scores[known, j], data.truth[known, j].astype(np.float64), weights[known, j]
        absent = 0.0
        if isinstance(loss, TverskyFamily) and truth.any():
            truth += PRIOR / (PRIOR + truth.sum()) * (chances[known, j] - truth)
            absent = float(np.exp(-np.average(truth, weights=weight) * len(truth)))
        cut = threshold_of_column(scores, truth, weight, loss, absent)
        is_left_alone = float(loss.value(0, 0, 0, 1)) < float(loss.value(0, 1, 0, 1)) and not np.any(scores > cut)
        thresholds[j] = np.inf if is_left_alone else cut
    return thresholds


def best_cut(falling: Array, totals: Array) -> float:
    """The cut of least total between different scores, nearest to 0 among equals; totals[j] is for j scores above."""
    if not len(falling):
        return 0.0
    edges = np.concatenate(([falling[0] + 1], falling, [falling[-1] - 1]))
    possible = np.flatnonzero(edges[:-1] > edges[1:])
    found = totals[possible]
    best = possible[found <= found.min() + 1e-9 * max(1.0, float(found.max()), -float(found.min()))]
    cuts = (edges[best] + edges[best + 1]) / 2
    return float(cuts[np.argmin(np.abs(cuts))])


def _cumulated(values: NDArray[np.intp], bags: Bags) -> NDArray[np.intp]:
    """Sums within each bag, up to and with every element."""
    totals = np.concatenate(([0], np.cumsum(values)))
    return np.asarray(totals[1:] - np.repeat(totals[bags.offsets[:-1]], bags.sizes))
