"""Scores of sets: which numbers they are, and where the sets of each size lie.

The kernels work on arrays (n, p). Scores are (n, p), or flat with `bags`. Log-potentials of the number of positives
are

- ``None``: elements are independent, every potential is 0;
- without bags ``(K + 1,)``, the same for all examples, or ``(n, K + 1)``; sizes beyond K are impossible;
- with bags a flat array of the ``p_i + 1`` potentials of each bag, one bag after the other.

``-inf`` makes a size impossible.

**Certainty.** A forest of 200 trees says 0 where no tree votes for a label, which happens to labels that are
positive. Taken at its word, one of them rules out every other explanation of its set. What is learned from scores
takes certainty for twice the largest odds, for or against, of those that are not certain, and keeps that number for
predictions. Only `setloss.decisions.decide` and `CountModel` take certainty at its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from setloss.arguments import as_labels, refuse_masked
from setloss.bags import Bags
from setloss.typing import Array, Flags, Shape

SCORES = ("auto", "log-odds", "probabilities")
"""What scores may be said to be."""

LARGEST = 1e6
"""Log-odds of certainty taken at its word."""

LEAST_CHANCE = 1e-6
"""Smallest probability that is believed: smaller ones are overconfidence or rounding, and count as 0."""

LARGEST_CHANCE = 1e-2
"""Largest probability that 0 may stand for."""

Counts = ArrayLike | None


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the sets of each of the `lengths` are; `elements` are their flat indices (n, p), None for whole rows."""

    shape: Shape
    sizes: NDArray[np.intp]
    lengths: tuple[int, ...]
    rows: tuple[NDArray[np.intp], ...]
    elements: tuple[NDArray[np.intp] | None, ...]
    bags: Bags | None = None

    @classmethod
    def of(cls, shape: Shape, bags: Bags | Layout | ArrayLike | None) -> Layout:
        """The layout of an array of that shape; one that is known already is taken as it is."""
        if isinstance(bags, Layout):
            return bags
        if bags is None:
            if len(shape) != 2 or shape[1] == 0:
                raise ValueError(f"scores must be (examples, elements), or flat with bags=; got shape {shape}")
            return cls(shape, np.full(*shape), shape[1:], (np.arange(shape[0]),), (None,))
        bags = bags if isinstance(bags, Bags) else Bags.from_offsets(bags)
        if shape != (bags.elements,):
            raise ValueError(f"the bags hold {bags.elements} elements; scores have shape {shape}")
        rows, elements = zip(*bags.by_size, strict=True) if len(bags) else ((), ())
        return cls(shape, bags.sizes, tuple(np.unique(bags.sizes).tolist()), rows, elements, bags)

    def __len__(self) -> int:
        return len(self.sizes)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """One array (n, p) for each size."""
        return [values if part is None else values[part] for part in self.elements]

    def join(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The reverse of `split`."""
        return self._joined(parts, self.elements, self.shape)

    def join_rows(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """One number for each set."""
        return self._joined(parts, self.rows, len(self))

    def join_counts(self, parts: Sequence[Array]) -> Array:
        """Counts (n, K + 1), or those of bags in one flat array."""
        return self._joined(parts, self.counts, int(np.sum(self.sizes + 1)))

    def _joined(self, parts: Sequence[NDArray[Any]], places: Sequence[Any], shape: int | Shape) -> NDArray[Any]:
        if self.bags is None:
            return parts[0]
        values = np.empty(shape, dtype=parts[0].dtype if parts else np.float64)
        for where, found in zip(places, parts, strict=True):
            values[where] = found
        return values

    @cached_property
    def counts(self) -> tuple[NDArray[np.intp], ...]:
        """The places (n, p + 1) of the counts of the bags of each size, in a flat array of p + 1 of each bag."""
        starts = np.concatenate(([0], np.cumsum(self.sizes + 1)))
        return tuple(
            starts[some][:, None] + np.arange(p + 1) for p, some in zip(self.lengths, self.rows, strict=True)
        )

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over every set."""
        return values.sum(axis=1) if self.bags is None else self.bags.totals(self.bags.gather(values))


def as_log_odds(values: ArrayLike, scores: str = "auto", name: str = "scores") -> Array:
    """Scores as log-odds in float64, by the word `scores` of `decide`, `decide_pixels` and `SetDecision`.

    "auto" takes log-odds as they are, but refuses numbers that all lie in [0, 1]: they are nearly always
    probabilities, and taken for log-odds every one of them would say "rather yes". "log-odds" insists, and
    "probabilities" are turned into log-odds. All are clipped at +-1e6, infinite ones of probabilities 0 and 1 too.
    """
    array = as_numbers(values, name)
    check_scores(array, scores, name)
    return np.ascontiguousarray(np.clip(logit(array) if scores == "probabilities" else array, -LARGEST, LARGEST))


def check_scores(array: Array, scores: str, name: str = "scores") -> None:
    """Refuse numbers that are not what the word `scores` says, or which "auto" cannot tell."""
    check_scores_word(scores)
    if scores == "log-odds" or not array.size:
        return
    inside = bool(np.all((array >= 0) & (array <= 1)))
    if scores == "auto" and inside:
        raise ValueError(
            f"all {name} lie in [0, 1], as probabilities do, and log-odds are expected; pass "
            'scores="probabilities" if they are probabilities, scores="log-odds" if they are not'
        )
    if scores == "probabilities" and not inside:
        raise ValueError(
            f"{name} are not probabilities: they reach from {array.min():.4g} to {array.max():.4g}. For log-odds "
            'or margins pass scores="log-odds".'
        )


def check_scores_word(scores: Any) -> None:
    """Refuse any other word for what scores are."""
    if scores not in SCORES:
        raise ValueError(f"scores is one of {', '.join(SCORES)}; got {scores!r}")


def odds_of_certainty(values: Array, chances: bool) -> float:
    """Log-odds that certainty counts as, learned from probabilities, or from log-odds in any unit."""
    log_odds = np.abs(logit(values) if chances else values)
    most = -logit(LEAST_CHANCE) if chances else np.inf
    largest = log_odds.max(where=log_odds < most, initial=0.0)
    return float(np.clip(largest + np.log(2), -logit(LARGEST_CHANCE), most))


def without_certainty(values: Array, chances: bool, certainty: float) -> Array:
    """Log-odds where certainty is `certainty`; probabilities are kept within it, finite log-odds stay as they are."""
    if chances:
        return np.asarray(np.clip(logit(values), -certainty, certainty))
    infinite = np.isinf(values)
    return np.where(infinite, np.copysign(certainty, values), values) if infinite.any() else values


def as_numbers(values: Any, name: str) -> Array:
    """Real numbers as float64; NaN, complex numbers, masked arrays and text are refused with a sentence."""
    if hasattr(values, "toarray"):
        raise ValueError(f"{name} are a sparse matrix; every element needs a score, pass {name}.toarray()")
    refuse_masked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and (given.dtype != object or np.iscomplexobj(values)):
            raise TypeError
        array = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        kind = getattr(values, "dtype", type(values).__name__)
        raise ValueError(f"{name} must be real numbers, one for each element; got {kind}") from None
    if np.isnan(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise ValueError(f"{name} must be numbers; the one at {place} is NaN")
    return array


def potentials_of(counts: Counts, layout: Layout) -> list[Array]:
    """Log-potentials (1, L) or (n, L) for the sets of each size, L <= p + 1."""
    if counts is None:
        return [np.zeros((1, p + 1)) for p in layout.lengths]
    if layout.bags is None:
        return [_checked(np.atleast_2d(as_numbers(counts, "counts")), layout.shape[1], layout.rows[0])]
    flat, length = as_numbers(counts, "counts"), int(np.sum(layout.sizes + 1))
    if flat.shape != (length,):
        raise ValueError(
            f"counts of bags are flat, p + 1 potentials for each bag, {length} in all; got shape {flat.shape}"
        )
    return [
        _checked(flat[places], p, some)
        for p, places, some in zip(layout.lengths, layout.counts, layout.rows, strict=True)
    ]


def _checked(potentials: Array, p: int, rows: NDArray[np.intp]) -> Array:
    """Potentials of the right shape that leave some size to every example."""
    if potentials.ndim != 2 or len(potentials) not in (1, len(rows)) or not 0 < potentials.shape[1] <= p + 1:
        raise ValueError(
            f"counts must be (K + 1,) or (examples, K + 1) with K at most {p}, the number of elements; "
            f"got shape {potentials.shape} for {len(rows)} examples"
        )
    most = potentials.max(axis=1)
    if len(rows) and np.isinf(most).any():
        i = int(np.argmax(np.isinf(most)))
        if most[i] < 0:
            raise ValueError(f"row {i} of counts makes every number of positives impossible; all are -inf")
        raise ValueError(f"the potential of {int(np.argmax(potentials[i]))} positives in row {i} of counts is inf")
    return np.ascontiguousarray(potentials)


@dataclass(frozen=True, eq=False)
class SeenLabels:
    """1.0 for every known positive, which labels are `known`, and the number of known positives of each set."""

    layout: Layout
    labels: Array
    known: Flags
    positives: NDArray[np.intp]
    all_known: bool

    @classmethod
    def of(cls, y: ArrayLike | SeenLabels, known: ArrayLike | None, layout: Layout) -> SeenLabels:
        """Labels in the shape of the scores; those that are not `known` may be anything."""
        if isinstance(y, SeenLabels):
            return y
        given = np.asarray(y)
        sure = np.ones(layout.shape, dtype=bool) if known is None else np.asarray(known, dtype=bool)
        for name, array in (("y", given), ("known", sure)):
            if array.shape != layout.shape:
                raise ValueError(f"{name} has shape {array.shape}, the scores have shape {layout.shape}")
        negative = -1 if np.any(given[sure] == -1) else 0
        labels = as_labels(np.where(sure, given, negative), "y").astype(np.float64)
        return cls(layout, labels, sure, layout.totals(labels).astype(np.intp), bool(sure.all()))
