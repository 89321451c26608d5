"""Losses of your own: from a callable of counts or of labels, or from one set function.

A training problem needs the loss of every set of mistakes. For a callable of labels that depends on the numbers of
false negatives and false positives only, that is a small table: one call for each pair of numbers, made once and
kept. That the callable is such a loss is verified on labels in other orders, with other elements wrong.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels
from setloss.losses.families import CountLoss, Loss
from setloss.setfunctions.differences import RELATIVE_TOLERANCE
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array, Flags

Metric = Callable[[NDArray[np.int64], NDArray[np.int64]], float]

MAX_CALLS = 2**14
"""Pairs of numbers of mistakes that a callable is asked for at once, about 126 + 126 elements."""

HINT = "write it as a function of counts, from_counts(lambda fn, fp, positives, negatives: ...)"


@dataclass(frozen=True)
class CallableLoss(CountLoss):
    """A loss given by a callable of (fn, fp, positives, negatives); see `from_counts`."""

    function: Callable[[Any, Any, Any, Any], Any]

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        tallies = np.broadcast_arrays(false_negatives, false_positives, positives, negatives)
        try:
            values = np.asarray(self.function(*tallies), dtype=np.float64)
        except (TypeError, ValueError):  # as where it compares numbers by if, min or max
            values = np.empty(0)
        if values.shape != tallies[0].shape:
            values = np.vectorize(self.function, otypes=[float])(*tallies)
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).ravel())[0]
            n, q, m, r = (int(t.ravel()[bad]) for t in tallies)
            raise ValueError(
                f"a loss must be finite and non-negative; with {n} false negatives of {m} positives and "
                f"{q} false positives of {r} negatives this one is {values.ravel()[bad]}"
            )
        return values


@dataclass(frozen=True, eq=False)
class FixedSetLoss(Loss):
    """The same set function of mistakes for every example, whatever its labels; see `from_set_function`."""

    function: SetFunction

    def _on_sets(self, truth: Flags, wrong: Flags, total: Callable[[Flags], NDArray[np.intp]]) -> Array:
        self._check_sizes(total(np.ones_like(truth)))
        return np.asarray(self.function(wrong.reshape(-1, self.function.p)))

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        self._check_sizes(positives + negatives)  # also where an operator asks for no value of the loss
        return super().distinct_counts(positives, negatives)

    def _check_sizes(self, sizes: NDArray[np.intp]) -> None:
        if np.any(wrong := sizes != self.function.p):
            raise ValueError(f"this loss is for sets of {self.function.p} elements; got one of {sizes[wrong][0]}")

    @property
    def by_size(self) -> bool:  # type: ignore[override]
        return len(self.function.sizes) == 1

    @property
    def trial(self) -> tuple[int, int]:  # type: ignore[override]
        return self.function.p, 0

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.on_counts(len(as_labels(y_true, "y_true", ndim=(1,))), 0)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        self._check_sizes(np.array([positives + negatives]))
        return self.function

    def element_partition(self, truth: Flags) -> NDArray[np.intp]:
        return np.tile(self.function.partition, len(truth) // self.function.p)


def from_counts(function: Callable[[Any, Any, Any, Any], Any]) -> CallableLoss:
    """A loss from a callable of (false negatives, false positives, positives, negatives).

    The callable is called with arrays; where it cannot deal with them, with one number each.

    Examples
    --------
    >>> alarms = from_counts(lambda fn, fp, positives, negatives: fn / max(positives, 1) + 0.5 * (fp > 2))
    >>> float(alarms([1, 1, 0, 0], [1, 0, 1, 0]))
    0.5
    """
    _check_arguments(function, 4, "from_counts takes a callable of (fn, fp, positives, negatives)", "from_metric")
    return CallableLoss(function)


def from_set_function(function: SetFunction) -> FixedSetLoss:
    """A loss from one set function of mistakes over a fixed number of elements.

    Examples
    --------
    >>> pairs = from_set_function(SetFunction.from_values([0.0, 1.0, 3.0, 6.0]))  # of {}, {1}, {0}, {0, 1}
    >>> float(pairs([1, 0], [0, 0]))
    3.0
    """
    if not isinstance(function, SetFunction):
        raise TypeError(f"from_set_function takes a SetFunction; got {type(function).__name__}")
    return FixedSetLoss(function)


@dataclass(frozen=True)
class MetricLoss(CountLoss):
    """A loss of counts known through a callable of labels and predictions; see `from_metric`."""

    metric: Metric
    _known: dict[tuple[int, int, int, int], float] = field(default_factory=dict, repr=False, compare=False)

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        tallies = np.broadcast_arrays(false_negatives, false_positives, positives, negatives)
        cells, places = np.unique(np.stack([t.ravel() for t in tallies], axis=1), axis=0, return_inverse=True)
        if len(cells) > MAX_CALLS:
            raise ValueError(
                f"this loss is a callable of labels and predictions, which would be called {len(cells)} times, more "
                f"than {MAX_CALLS}; {HINT}"
            )
        values = np.array([self._at(*(int(count) for count in cell)) for cell in cells])
        return values[places.ravel()].reshape(tallies[0].shape)

    def _at(self, n: int, q: int, m: int, r: int) -> float:
        """The loss of n false negatives of m positives and q false positives of r negatives."""
        if (0, 0, m, r) not in self._known:
            self._known[0, 0, m, r] = self._call(*_example(0, 0, m, r))
            self._verify(m, r)
        cell = (n, q, m, r)
        if cell not in self._known:
            self._known[cell] = self._call(*_example(n, q, m, r))
        return self._known[cell]

    def _verify(self, m: int, r: int) -> None:
        """A perfect prediction costs nothing, and neither order nor choice of the wrong elements matters."""
        perfect = self._known[0, 0, m, r]
        if perfect != 0:
            score = " It looks like a score: pass lambda y_true, y_pred: 1 - score(y_true, y_pred)." * (perfect == 1)
            raise ValueError(
                f"a perfect prediction must cost 0; for {m} positives and {r} negatives this callable says "
                f"{perfect:g}.{score}"
            )
        generator = np.random.default_rng(m + 1000 * r)
        for _ in range(6):  # pairs of numbers of mistakes
            n, q = int(generator.integers(m + 1)), int(generator.integers(r + 1))
            first = self._at(n, q, m, r)
            other = self._call(*generator.permutation(_example(n, q, m, r), axis=1))
            if abs(first - other) > RELATIVE_TOLERANCE * max(abs(first), abs(other)):
                raise ValueError(
                    f"this callable is no function of the numbers of mistakes: with {n} false negatives of {m} and "
                    f"{q} false positives of {r} it says {first:g} and {other:g}. If it depends on which elements "
                    f"are wrong, use from_set_function(SetFunction.from_callable(...)); else {HINT}."
                )

    def _call(self, truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
        """The answer of the callable as a loss, or what is wrong with it."""
        value: Any = self.metric(truth, predicted)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"a loss maps labels and predictions to a number; this callable returns {type(value).__name__}"
            ) from None
        if not (np.isfinite(number) and number >= 0):
            raise ValueError(
                f"a loss must be finite and non-negative; for labels {truth.tolist()[:12]} and predictions "
                f"{predicted.tolist()[:12]} this callable says {number}"
            )
        return number


def _example(n: int, q: int, m: int, r: int) -> NDArray[np.int64]:
    """Labels, the m positives first, and a prediction with its first n wrong, and the first q negatives."""
    return np.array([np.repeat([1, 0], [m, r]), np.repeat([0, 1, 1, 0], [n, m - n, q, r - q])])


def from_metric(metric: Metric) -> MetricLoss:
    """A loss from a callable of labels and predictions, arrays of 0 and 1 of one example.

    It must depend on the numbers of false negatives and false positives, positives and negatives only, which is
    verified on the way. A loss of *which* elements are wrong is a `from_set_function`.

    Examples
    --------
    >>> at_least_one = from_metric(lambda y_true, y_pred: float((y_true != y_pred).any()))
    >>> at_least_one([1, 0, 0], [1, 1, 0])
    1.0
    """
    _check_arguments(metric, 2, "a loss is a callable of (y_true, y_pred)", "from_counts")
    return MetricLoss(metric)


def _check_arguments(function: Callable[..., Any], number: int, wanted: str, other: str) -> None:
    """Refuse what cannot be called with so many arguments, where Python can tell."""
    if not callable(function):
        raise TypeError(f"{wanted}; got {type(function).__name__}")
    with suppress(ValueError):  # built in, without a signature
        arguments = signature(function)
        try:
            arguments.bind(*range(number))
        except TypeError:
            raise TypeError(f"{wanted}; this one takes {arguments}. See also setloss.{other}.") from None


remembered = lru_cache(maxsize=64)(from_metric)
"""`from_metric`, the same loss for the same callable: it is tabulated once in the life of a process."""
