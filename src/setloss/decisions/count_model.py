"""The count model: scores say which elements are positive, potentials say how many.

    P(y) = exp( sum_i y_i s_i + u_{|y|} ) / Z,        Z = sum_k e^{u_k} e_k(e^{s_1}, ..., e^{s_p}),

with e_k the elementary symmetric polynomials. With u = 0 the elements are independent, P(y_i = 1) = sigma(s_i). The
logarithm is concave in (s, u); its gradient is what was seen minus what was expected, y_i - P(y_i = 1) and
[|y| = k] - P(|y| = k). All sums take O(p K) for each example.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.bags import Bags
from setloss.decisions.mixtures import Mixture, balanced, mixture_over_sizes
from setloss.decisions.scores import Counts, Layout, SeenLabels, as_log_odds, potentials_of
from setloss.typing import Array


@dataclass(frozen=True, eq=False)
class Likelihood:
    """log P of the labels of each example, and its gradients.

    `scores` has the shape of the scores. `counts` is (n, K + 1); with bags it is flat, p_i + 1 numbers for each bag.
    """

    values: Array
    scores: Array
    counts: Array


class CountModel:
    """``P(y) ~ exp(sum_i y_i s_i + u_{|y|})`` for every example of a batch.

    Parameters
    ----------
    scores
        Log-odds (n, p), or flat with `bags`.
    counts
        Log-potentials of the number of positives; see `setloss.decisions.scores` for their shapes.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat scores; or the `layout` of a model of the same sets.
    """

    def __init__(
        self, scores: ArrayLike, counts: Counts = None, bags: Bags | Layout | ArrayLike | None = None
    ) -> None:
        array = as_log_odds(scores, "log-odds")
        self.layout = Layout.of(array.shape, bags)
        potentials = potentials_of(counts, self.layout)
        self.parts = [SetsOfOneSize(*part) for part in zip(self.layout.split(array), potentials, strict=True)]

    @cached_property
    def log_partition(self) -> Array:
        """The logarithm of Z for each example."""
        return self.layout.join_rows([part.sums.log_partition for part in self.parts])

    @cached_property
    def marginals(self) -> Array:
        """P(y_i = 1), in the shape of the scores."""
        return self.layout.join([part.sums.marginals for part in self.parts])

    @cached_property
    def count_probabilities(self) -> Array:
        """P(|y| = k): (n, K + 1), with bags flat, p_i + 1 numbers for each bag."""
        return self.layout.join_counts([part.sums.sizes for part in self.parts])

    def log_likelihood(self, y: ArrayLike | SeenLabels, known: ArrayLike | None = None) -> Array:
        """The log-likelihood of each example; labels that are not `known` are summed out."""
        return self._evaluated(SeenLabels.of(y, known, self.layout)).values - self.log_partition

    def likelihood(self, y: ArrayLike | SeenLabels, known: ArrayLike | None = None) -> Likelihood:
        """The log-likelihood of each example with its gradients in the scores and in the potentials."""
        seen = self._evaluated(SeenLabels.of(y, known, self.layout))
        impossible = np.flatnonzero(seen.values == -np.inf)
        if impossible.size:
            raise ValueError(
                f"the labels of example {impossible[0]} have a number of positives that counts makes impossible; "
                "give it a potential above -inf"
            )
        return Likelihood(
            seen.values - self.log_partition, seen.scores - self.marginals, seen.counts - self.count_probabilities
        )

    def sample(self, random_state: int | np.random.Generator | None = None) -> NDArray[np.bool_]:
        """One label set for each example, in the shape of the scores."""
        generator = np.random.default_rng(random_state)
        return self.layout.join([part.sample(generator) for part in self.parts])

    def _evaluated(self, seen: SeenLabels) -> Likelihood:
        """The log of the sum of exp(sum y_i s_i + u_|y|) over the unknown labels, and its gradients."""
        layout = self.layout
        known = [None] * len(self.parts) if seen.all_known else layout.split(seen.known)
        found = [
            part.evaluated(labels, sure, seen.positives[some])
            for part, some, labels, sure in zip(
                self.parts, layout.rows, layout.split(seen.labels), known, strict=True
            )
        ]
        return Likelihood(
            layout.join_rows([part.values for part in found]),
            layout.join([part.scores for part in found]),
            layout.join_counts([part.counts for part in found]),
        )


MOST_SUMS = 150_000_000
"""Largest number of pairs of an element and a size in one table, 1.2 GB."""


def refuse_large_tables(p: int, width: int) -> None:
    """Refuse what needs too much memory, before it is allocated."""
    if p * width > MOST_SUMS:
        raise ValueError(
            f"{p} elements with up to {width - 1} positives need a table of {p * width:.1e} numbers, the limit is "
            f"{MOST_SUMS:.1e}. Bound the number of positives by counts (K + 1 potentials, K small), or take "
            "independent elements (counts=None) with F1, Jaccard or Hamming."
        )


class Sums(NamedTuple):
    """log Z (n,), P(|y| = k) (n, L) and P(y_i = 1) (n, p)."""

    log_partition: Array
    sizes: Array
    marginals: Array


@dataclass(frozen=True, eq=False)
class SetsOfOneSize:
    """Count models of examples with p elements each: scores (n, p), potentials (1, L) or (n, L)."""

    scores: Array
    potentials: Array

    @cached_property
    def _found(self) -> tuple[Sums, SetsOfOneSize | None, dict[int, Mixture]]:
        found, safe = self._run()
        if np.all(safe):
            return found, None, {}  # not self: a cycle would keep the memory of every pass of a fit
        rows = np.flatnonzero(~safe)
        scores, potentials = self.scores.copy(), np.array(self._all_potentials)
        scores[rows], potentials[rows] = balanced(scores[rows], potentials[rows])
        again, safe = SetsOfOneSize(scores[rows], potentials[rows])._run()
        for array, other in zip(found, again, strict=True):
            array[rows] = other
        mixtures = {int(i): mixture_over_sizes(self.scores[i], self.potentials_of(i)) for i in rows[~safe]}
        for i, mixture in mixtures.items():
            found.log_partition[i] = mixture.log_partition
            found.sizes[i] = 0.0
            found.sizes[i, mixture.sizes] = mixture.chances
            found.marginals[i] = mixture.chances @ self.of_mixture(mixture).sums.marginals
        return found, SetsOfOneSize(scores, potentials), mixtures

    def _run(self) -> tuple[Sums, NDArray[np.bool_]]:
        from setloss.decisions.kernels import sums

        n, p = self.scores.shape
        refuse_large_tables(p, self.potentials.shape[1])
        found = Sums(np.empty(n), np.zeros((n, self.potentials.shape[1])), np.empty((n, p)))
        safe = np.empty(n, dtype=np.bool_)
        sums(self.scores, self.potentials, *found, safe)
        return found, safe

    @property
    def sums(self) -> Sums:
        return self._found[0]

    @property
    def in_scale(self) -> SetsOfOneSize:
        """The same models, shifted where a sum would underflow; all but the `mixtures` are then safe."""
        return self._found[1] or self

    @property
    def mixtures(self) -> dict[int, Mixture]:
        """The rows that no single scale can hold."""
        return self._found[2]

    @property
    def _all_potentials(self) -> Array:
        return np.broadcast_to(self.potentials, (len(self.scores), self.potentials.shape[1]))

    def potentials_of(self, row: int) -> Array:
        return np.asarray(self.potentials[row % len(self.potentials)])

    def take(self, rows: NDArray[np.intp]) -> SetsOfOneSize:
        """Some of the examples."""
        return SetsOfOneSize(self.scores[rows], np.ascontiguousarray(self._all_potentials[rows]))

    def of_mixture(self, mixture: Mixture) -> SetsOfOneSize:
        """The parts of a mixture as examples of their own."""
        return SetsOfOneSize(mixture.scores, mixture.potentials(self.potentials.shape[1]))

    def sample(self, generator: np.random.Generator) -> NDArray[np.bool_]:
        from setloss.decisions.kernels import draw

        n, p = self.scores.shape
        if n == 0:
            return np.zeros((0, p), dtype=bool)
        steps = np.cumsum(self.sums.sizes, axis=1)
        sizes = (generator.random((n, 1)) * steps[:, -1:] >= steps).sum(axis=1)
        scores = self.in_scale.scores.copy()
        for i, mixture in self.mixtures.items():
            scores[i] = mixture.scores[np.searchsorted(mixture.sizes, sizes[i])]
        sets = np.empty((n, p), dtype=np.bool_)
        draw(scores, sizes, generator.random((n, p)), sets)
        return sets

    def evaluated(self, labels: Array, known: NDArray[np.bool_] | None, positives: NDArray[np.intp]) -> Likelihood:
        """Log of the sum of exp(sum y_i s_i + u_|y|) over the labels that are not known, and its gradients."""
        width = self.potentials.shape[1]
        possible = np.flatnonzero(positives < width)
        values, counts = np.full(len(labels), -np.inf), np.zeros((len(labels), width))
        counts[possible, positives[possible]] = 1.0
        values[possible] = self._all_potentials[possible, positives[possible]]
        values += np.einsum("ij,ij->i", self.scores, labels)
        if known is None:
            return Likelihood(values, labels, counts)
        found, missing = Likelihood(values, labels.copy(), counts), (~known).sum(axis=1)
        for m in np.unique(missing[missing > 0]):
            rows = np.flatnonzero(missing == m)
            self._sum_out(rows, known[rows], positives[rows], found)
        return found

    def _sum_out(
        self, rows: NDArray[np.intp], known: NDArray[np.bool_], positives: NDArray[np.intp], found: Likelihood
    ) -> None:
        """Examples with m unknown labels: count models of those, their potentials shifted by the known positives."""
        unknown = np.nonzero(~known)[1].reshape(len(rows), -1)
        sizes = positives[:, None] + np.arange(unknown.shape[1] + 1)
        width = self.potentials.shape[1]
        shifted = np.where(
            sizes < width,
            self._all_potentials[rows[:, None], np.minimum(sizes, width - 1)],
            -np.inf,
        )
        found.counts[rows] = 0.0
        found.values[rows] = -np.inf
        possible = (shifted > -np.inf).any(axis=1)
        rows, unknown, sizes = rows[possible], unknown[possible], sizes[possible]
        rest = SetsOfOneSize(self.scores[rows[:, None], unknown], np.ascontiguousarray(shifted[possible])).sums
        found.values[rows] = (self.scores[rows] * found.scores[rows]).sum(axis=1) + rest.log_partition
        found.scores[rows[:, None], unknown] = rest.marginals
        padded = np.zeros((len(rows), max(width, int(sizes.max(initial=0)) + 1)))
        padded[np.arange(len(rows))[:, None], sizes] = rest.sizes
        found.counts[rows] = padded[:, :width]
