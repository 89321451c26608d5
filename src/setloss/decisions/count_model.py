"""The count model: scores say which elements are positive, potentials say how many.

    P(y) = exp( sum_i y_i s_i + u_{|y|} ) / Z,        Z = sum_k e^{u_k} e_k(e^{s_1}, ..., e^{s_p}),

with e_k the elementary symmetric polynomials. With u = 0 the elements are independent, P(y_i = 1) = sigma(s_i). The
logarithm is concave in (s, u); its gradient is what was seen minus what was expected, y_i - P(y_i = 1) and
[|y| = k] - P(|y| = k). All sums take O(p K) for each example.

Scores and potentials that no single scale can hold are taken as a mixture over the size,

    P(y) = sum_t pi_t P(y | |y| = t),        pi_t ~ e^{u_t} e_t(e^{s_1}, ..., e^{s_p}).

Given its size the model does not change when all scores are shifted to s_i + theta. So every size gets the shift that
makes it the expected one: its chance is then about one over the standard deviation, and nothing underflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from setloss.bags import Bags
from setloss.decisions.scores import Counts, Layout, SeenLabels, as_log_odds, potentials_of
from setloss.typing import Array, Flags


@dataclass(frozen=True, eq=False)
class Likelihood:
    """log P of the labels of each example, and its gradients.

    `scores` has the shape of the scores. `counts` is (n, K + 1); with bags it is flat, p_i + 1 numbers for each bag.

    Examples
    --------
    >>> found = CountModel([[1.0, -1.0]], [0.0, 0.0, 0.0]).likelihood([[1, 0]])
    >>> found.values.round(3), found.scores.round(3)
    (array([-0.627]), array([[ 0.269, -0.269]]))
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

    Examples
    --------
    >>> exactly_one = CountModel([[0.0, 0.0, 1.0]], [-np.inf, 0.0])
    >>> exactly_one.marginals.round(3), exactly_one.count_probabilities
    (array([[0.212, 0.212, 0.576]]), array([[0., 1.]]))
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
        return self.likelihood(y, known).values

    def likelihood(self, y: ArrayLike | SeenLabels, known: ArrayLike | None = None) -> Likelihood:
        """The log-likelihood of each example with its gradients in the scores and in the potentials.

        It is -inf, and its gradients mean nothing, where the potentials make the number of positives impossible.
        """
        layout, seen = self.layout, SeenLabels.of(y, known, self.layout)
        sure = [None] * len(self.parts) if seen.all_known else layout.split(seen.known)
        each = zip(self.parts, layout.split(seen.labels), sure, layout.rows, strict=True)
        found = [part.evaluated(labels, known, seen.positives[some]) for part, labels, known, some in each]
        return Likelihood(
            layout.join_rows([part.values for part in found]) - self.log_partition,
            layout.join([part.scores for part in found]) - self.marginals,
            layout.join_counts([part.counts for part in found]) - self.count_probabilities,
        )


MOST_SUMS = 150_000_000
"""Largest number of pairs of an element and a size in one table, 1.2 GB."""

NEGLIGIBLE = 1e-30
"""Sizes of smaller probability are left out of a mixture."""


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

    @property
    def independent(self) -> bool:
        """Whether no number of positives is favoured; chances then add up to 1, and no sum underflows."""
        return self.potentials.shape == (1, self.scores.shape[1] + 1) and not self.potentials.any()

    @property
    def sums(self) -> Sums:
        return self._found[0]

    @property
    def mixtures(self) -> dict[int, tuple[Array, SetsOfOneSize]]:
        """The examples whose sums underflow, as models of one size each and the chances of these."""
        return {} if self.independent else self._found[1]

    @cached_property
    def _found(self) -> tuple[Sums, dict[int, tuple[Array, SetsOfOneSize]]]:
        from setloss.decisions.count_kernels import sums

        (n, p), width = self.scores.shape, self.potentials.shape[1]
        refuse_large_tables(p, width)
        found, safe = Sums(np.empty(n), np.zeros((n, width)), np.empty((n, p))), np.empty(n, dtype=np.bool_)
        sums(self.scores, self.potentials, *found, safe)
        mixtures = {}
        for i in np.flatnonzero(~safe):
            chances, parts, found.log_partition[i] = _mixture(self.scores[i], self._all_potentials[i])
            mixtures[int(i)] = chances, parts
            found.sizes[i] = chances @ parts.sums.sizes
            found.marginals[i] = chances @ parts.sums.marginals
        return found, mixtures

    @property
    def _all_potentials(self) -> Array:
        return np.broadcast_to(self.potentials, (len(self.scores), self.potentials.shape[1]))

    def take(self, rows: NDArray[np.intp]) -> SetsOfOneSize:
        """Some of the examples."""
        return SetsOfOneSize(self.scores[rows], np.ascontiguousarray(self._all_potentials[rows]))

    def evaluated(self, labels: Array, known: Flags | None, positives: NDArray[np.intp]) -> Likelihood:
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

    def _sum_out(self, rows: NDArray[np.intp], known: Flags, positives: NDArray[np.intp], found: Likelihood) -> None:
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


def _mixture(scores: Array, potentials: Array) -> tuple[Array, SetsOfOneSize, float]:
    """The chances pi_t of one example with scores (p,) and potentials (L,), a model for each size t, and log Z.

    The logarithm of pi_t is that of its likeliest set, the t largest scores, and what all others add to it. Sums of
    scores are taken from the likeliest of these sets on, so that large scores cost no digits.
    """
    from setloss.decisions.count_kernels import chances_of_sizes

    width, sizes, falling = len(potentials), np.flatnonzero(potentials > -np.inf), -np.sort(-scores)
    shifts, potentials = _shifts(falling, sizes), potentials[sizes]
    sums = np.concatenate(([0.0], np.cumsum(falling)))
    start = int(np.argmax(sums[sizes] + potentials))
    middle = int(sizes[start])
    up, down = np.cumsum(falling[middle:]), np.cumsum(falling[:middle][::-1])
    relative = np.concatenate((-down[::-1], [0.0], up))[sizes] + (potentials - potentials[start])
    tilted = falling + shifts[:, None]
    inside = np.arange(len(falling)) < sizes[:, None]
    chances = np.empty(len(sizes))
    chances_of_sizes(tilted, sizes, chances)
    logs = relative + np.logaddexp(0.0, np.where(inside, -tilted, tilted)).sum(axis=1) + np.log(chances)
    total = float(logsumexp(logs))
    chances = np.exp(logs - total)
    kept = chances > NEGLIGIBLE
    one_size = np.where(np.arange(width) == sizes[kept, None], 0.0, -np.inf)
    parts = SetsOfOneSize(scores + shifts[kept, None], one_size)
    return chances[kept] / chances[kept].sum(), parts, float(sums[middle] + potentials[start]) + total


def _shifts(falling: Array, sizes: NDArray[np.intp]) -> Array:
    """The theta that make each size the expected one; for no or all elements one that is far enough."""
    p = len(falling)
    shifts = _bisect(np.broadcast_to(falling, (len(sizes), p)), np.clip(sizes, 0.5, p - 0.5))
    shifts[sizes == 0] = -falling[0] - 50.0
    shifts[sizes == p] = -falling[-1] + 50.0
    return shifts


def _bisect(scores: Array, target: Array) -> Array:
    """The theta with sum_i sigma(s_i + theta) = target, for every row."""
    lower, upper = -scores.max(axis=1) - 50.0, -scores.min(axis=1) + 50.0
    for _ in range(60):
        middle = (lower + upper) / 2
        too_few = (0.5 * (1 + np.tanh((scores + middle[:, None]) / 2))).sum(axis=1) < target
        lower, upper = np.where(too_few, middle, lower), np.where(too_few, upper, middle)
    return np.asarray((lower + upper) / 2)
