"""Losses of your own: from a callable of the counts, or from one set function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.losses.base import CountLoss, Loss, sizes_only
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array


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

    def _on_rows(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
        self.on_counts(truth.shape[1], 0)
        return np.asarray(self.function(truth != predicted))

    def _on_bags(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], bags: Bags) -> Array:
        wrong_size = np.flatnonzero(bags.sizes != self.function.p)
        if wrong_size.size:
            raise ValueError(
                f"this loss is for sets of {self.function.p} elements; bag {wrong_size[0]} has "
                f"{bags.sizes[wrong_size[0]]}"
            )
        return np.asarray(self.function((truth != predicted).reshape(len(bags), -1)))

    @property
    def by_size(self) -> bool:
        return len(self.function.sizes) == 1

    @property
    def trial(self) -> tuple[int, int]:
        return self.function.p, 0

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.on_counts(len(as_labels(y_true, "y_true", ndim=(1,))), 0)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        if positives + negatives != self.function.p:
            raise ValueError(
                f"this loss is for sets of {self.function.p} elements; got one of {positives + negatives}"
            )
        return self.function

    def element_partition(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        return np.tile(self.function.partition, len(bags))

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        return sizes_only(positives, negatives)


def from_counts(function: Callable[[Any, Any, Any, Any], Any]) -> CallableLoss:
    """A loss from a callable of (false negatives, false positives, positives, negatives).

    The callable is called with arrays; where it cannot deal with them, with one number each.

    Examples
    --------
    >>> alarms = from_counts(lambda fn, fp, positives, negatives: fn / max(positives, 1) + 0.5 * (fp > 2))
    >>> float(alarms([1, 1, 0, 0], [1, 0, 1, 0]))
    0.5
    """
    if not callable(function):
        raise TypeError(f"from_counts takes a callable (fn, fp, positives, negatives); got {type(function).__name__}")
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
