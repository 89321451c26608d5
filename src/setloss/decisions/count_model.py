"""The count model: scores say which elements are positive, potentials say how many.

    P(y) = exp( sum_i y_i s_i + u_{|y|} ) / Z,        Z = sum_k e^{u_k} e_k(e^{s_1}, ..., e^{s_p}),

with e_k the elementary symmetric polynomials. With u = 0 the elements are independent, P(y_i = 1) = sigma(s_i). The
logarithm is concave in (s, u); its gradient is what was seen minus what was expected, y_i - P(y_i = 1) and
[|y| = k] - P(|y| = k). All sums take O(p K) for each example.

The model does not change when scores are shifted to s_i + theta and potentials to u_k - k theta. With chances of the
shifted scores, Z over its largest term exp(max_k (u_k - k theta)) prod_i (1 + exp(s_i + theta)) is a probability,
which underflows where scores and potentials favour sizes that are far apart. Its logarithm is concave in theta, and
largest where the expected number of positives is the one that the potentials like best. Examples that underflow are
computed at this theta, without sizes that are negligible. Those that still do are refused: potentials rule out what
scores are certain of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.decisions.scores import Counts, as_log_odds, as_numbers, as_potentials
from setloss.typing import Array, Flags


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
        Log-potentials of the number of positives, or None, as for `decide`.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat scores.

    Examples
    --------
    >>> exactly_one = CountModel([[0.0, 0.0, 1.0]], [-np.inf, 0.0])
    >>> exactly_one.marginals.round(3), exactly_one.count_probabilities
    (array([[0.212, 0.212, 0.576]]), array([[0., 1.]]))
    """

    def __init__(self, scores: ArrayLike, counts: Counts = None, bags: Bags | ArrayLike | None = None) -> None:
        array = as_log_odds(scores, "log-odds")
        self.shape = array.shape
        self.bags = bags if bags is None or isinstance(bags, Bags) else Bags.from_offsets(bags)
        if self.bags is None and (array.ndim != 2 or array.shape[1] == 0):
            raise ValueError(f"scores must be (examples, elements), or flat with bags=; got shape {array.shape}")
        if self.bags is not None and array.shape != (self.bags.elements,):
            raise ValueError(f"the bags hold {self.bags.elements} elements; scores have shape {array.shape}")
        parts = split(array, self.bags)
        self.parts = [SetsOfOneSize(*both) for both in zip(parts, self._potentials(counts, parts), strict=True)]

    @property
    def _sizes(self) -> Bags | None:
        """The places of the p + 1 counts of each bag."""
        return None if self.bags is None else Bags.from_offsets(self.bags.offsets + np.arange(len(self.bags) + 1))

    def _potentials(self, counts: Counts, parts: list[Array]) -> list[Array]:
        """Log-potentials (1, L) or (n, L) for the sets of each size, L <= p + 1."""
        if counts is None:
            return [np.zeros((1, part.shape[1] + 1)) for part in parts]
        array, sizes = as_numbers(counts, "counts"), self._sizes
        if sizes is not None and array.shape != (sizes.elements,):
            raise ValueError(
                f"counts of bags are flat, p + 1 potentials for each bag, {sizes.elements} in all; "
                f"got shape {array.shape}"
            )
        each = zip(split(array, sizes), parts, strict=True)
        return [as_potentials(one, part.shape[1], len(part)) for one, part in each]

    @cached_property
    def log_partition(self) -> Array:
        """The logarithm of Z for each example."""
        return join([part.sums.log_partition for part in self.parts], self.bags, rows=True)

    @cached_property
    def marginals(self) -> Array:
        """P(y_i = 1), in the shape of the scores."""
        return join([part.sums.marginals for part in self.parts], self.bags)

    @cached_property
    def count_probabilities(self) -> Array:
        """P(|y| = k): (n, K + 1), with bags flat, p_i + 1 numbers for each bag."""
        return join([part.sums.sizes for part in self.parts], self._sizes)

    def log_likelihood(self, y: ArrayLike, known: ArrayLike | None = None) -> Array:
        """The log-likelihood of each example; labels that are not `known` are summed out."""
        return self.likelihood(y, known).values

    def likelihood(self, y: ArrayLike, known: ArrayLike | None = None) -> Likelihood:
        """The log-likelihood of each example with its gradients in the scores and in the potentials.

        It is -inf, and its gradients mean nothing, where the potentials make the number of positives impossible.
        """
        given = np.asarray(y)
        sure = np.ones(self.shape, dtype=bool) if known is None else np.asarray(known, dtype=bool)
        for name, array in (("y", given), ("known", sure)):
            if array.shape != self.shape:
                raise ValueError(f"{name} has shape {array.shape}, the scores have shape {self.shape}")
        negative = -1 if np.any(given[sure] == -1) else 0
        labels = as_labels(np.where(sure, given, negative), "y")
        each = zip(self.parts, split(labels, self.bags), split(sure, self.bags), strict=True)
        likelihoods = [part.likelihood(positive, sure) for part, positive, sure in each]
        return Likelihood(
            join([part.values for part in likelihoods], self.bags, rows=True),
            join([part.scores for part in likelihoods], self.bags),
            join([part.counts for part in likelihoods], self._sizes),
        )


def split(values: NDArray[Any], bags: Bags | None) -> list[NDArray[Any]]:
    """One array (n, p) for each size p of the bags; rows are one part."""
    return [values] if bags is None else [values[places] for _, places in bags.by_size]


def join(parts: Sequence[NDArray[Any]], bags: Bags | None, *, rows: bool = False) -> NDArray[Any]:
    """The reverse of `split`; or, of `rows`, one number for each set."""
    if bags is None:
        return parts[0]
    values = np.empty(len(bags) if rows else bags.elements, dtype=parts[0].dtype if parts else np.float64)
    for (sets, places), one in zip(bags.by_size, parts, strict=True):
        values[sets if rows else places] = one
    return values


MOST_SUMS = 150_000_000
"""Largest number of pairs of an element and a size in one table, 1.2 GB."""

NEGLIGIBLE = -70.0
"""Logarithm of a probability that is left out of examples whose sums underflow."""


class ContradictionError(ValueError):
    """Potentials rule out what scores are certain of."""


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
    is_tilted: bool = False

    @property
    def independent(self) -> bool:
        """Whether no number of positives is favoured; chances then add up to 1, and no sum underflows."""
        return self.potentials.shape == (1, self.scores.shape[1] + 1) and not self.potentials.any()

    @property
    def falling(self) -> "SetsOfOneSize":
        """The same examples, their scores from the largest on."""
        return SetsOfOneSize(-np.sort(-self.scores, axis=1), self.potentials, self.is_tilted)

    @cached_property
    def sums(self) -> Sums:
        """Those of all label sets."""
        from setloss.decisions.count_kernels import sums

        (n, p), width = self.scores.shape, self.potentials.shape[1]
        refuse_large_tables(p, width)
        totals, safe = Sums(np.empty(n), np.zeros((n, width)), np.empty((n, p))), np.empty(n, dtype=np.bool_)
        sums(self.scores, self.potentials, *totals, safe)
        if not safe.all():
            for part, again in zip(totals, self.tilted(~safe).sums, strict=True):
                part[~safe] = again
        return totals

    def tilted(self, rows: Flags) -> "SetsOfOneSize":
        """Examples whose sums underflow, with shifted scores and potentials: the same model at the largest Z."""
        if self.is_tilted:
            apart = np.ptp(self.scores[rows], axis=1).max()
            raise ContradictionError(
                "counts leave only numbers of positives that scores rule out (probability below 1e-250, scores up to "
                f"{apart:.3g} apart in log-odds); allow the numbers in between, or pass less certain scores"
            )
        scores = self.scores[rows]
        potentials = _without_negligible_sizes(scores, self._all_potentials[rows])
        sizes = np.arange(potentials.shape[1])
        low, high = -scores.max(axis=1, keepdims=True) - 50, -scores.min(axis=1, keepdims=True) + 50
        for _ in range(40):
            theta = (low + high) / 2
            likeliest = np.argmax(potentials - theta * sizes, axis=1, keepdims=True)
            too_many = expit(scores + theta).sum(axis=1, keepdims=True) > likeliest
            low, high = np.where(too_many, low, theta), np.where(too_many, theta, high)
        return SetsOfOneSize(scores + theta, np.ascontiguousarray(potentials - theta * sizes), is_tilted=True)

    @property
    def _all_potentials(self) -> Array:
        return np.broadcast_to(self.potentials, (len(self.scores), self.potentials.shape[1]))

    def take(self, rows: NDArray[np.intp] | Flags) -> "SetsOfOneSize":
        """Some of the examples."""
        potentials = self.potentials if len(self.potentials) == 1 else self.potentials[rows]
        return SetsOfOneSize(self.scores[rows], potentials, self.is_tilted)

    def likelihood(self, positive: Flags, known: Flags) -> Likelihood:
        """The log-likelihood and its gradients; `positive` is False where a label is not known."""
        seen, sums = self._of_known(positive.astype(np.float64), known), self.sums
        return Likelihood(seen.values - sums.log_partition, seen.scores - sums.marginals, seen.counts - sums.sizes)

    def _of_known(self, labels: Array, known: Flags) -> Likelihood:
        """Log of the sum of exp(sum y_i s_i + u_|y|) over the labels that are not known, and its gradients."""
        (n, p), width = self.scores.shape, self.potentials.shape[1]
        values, counts = np.einsum("ij,ij->i", self.scores, labels), np.zeros((n, width))
        positives = labels.sum(axis=1).astype(np.intp)
        if known.all():
            possible = positives < width
            values[~possible] = -np.inf
            values[possible] += self._all_potentials[possible, positives[possible]]
            counts[possible, positives[possible]] = 1.0
            return Likelihood(values, labels, counts)
        sizes, most = np.arange(width), positives + p - known.sum(axis=1)
        inside = (sizes >= positives[:, None]) & (sizes <= most[:, None])
        possible = (inside & (self._all_potentials > -np.inf)).any(axis=1)
        values[~possible] = -np.inf
        # Scores of known labels: so large that no sum over the other labels makes up for a wrong one.
        finite = np.where(self.potentials > -np.inf, self.potentials, 0.0)
        certain = (800 + np.ptp(finite, axis=1) + 2 * np.abs(self.scores).sum(axis=1))[:, None]
        fixed = np.where(known, certain * (2 * labels - 1), self.scores)
        rest, marginals = SetsOfOneSize(fixed, self.potentials).take(possible).sums, labels.copy()
        values[possible] += rest.log_partition - certain[possible, 0] * positives[possible]
        marginals[possible], counts[possible] = rest.marginals, rest.sizes
        return Likelihood(values, marginals, counts)


def _without_negligible_sizes(scores: Array, potentials: Array) -> Array:
    """Potentials, -inf for sizes whose sets are together `NEGLIGIBLE` beside the likeliest set of all sizes."""
    p, k = scores.shape[1], np.arange(potentials.shape[1])
    falling = -np.sort(-scores, axis=1)
    likeliest = potentials + np.pad(np.cumsum(falling, axis=1), ((0, 0), (1, 0)))[:, : len(k)]
    sets = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1)
    negligible = likeliest + sets < likeliest.max(axis=1, keepdims=True) + NEGLIGIBLE
    return np.where(negligible, -np.inf, potentials)
