"""Slack and margin rescaling: the structured-output SVM's surrogates (Definition 7).

    slack:   max_A l(A) (1 - c sum_{i in A} m_i)            margin:   max_A l(A) - c sum_{i in A} m_i

Inside a group the worst k elements are those of smallest margin, so with ``P_b(k)`` the sum of the k smallest
margins of group b the maximum runs over the cells of the table, ``l(a)`` against ``sum_b P_b(a_b)``, and is
**exact for any l**. Two cases need less than the cells:

* l depends on one group only: the others contribute their negative margins, a scan over one count remains;
* l(n, .) is concave and increasing in the last count for every value of the other (Dice, Jaccard, Tversky): for
  fixed n both objectives are unimodal in q to the right of the number of negative margins, and a binary
  search for every n at once is exact in O(p log p), at any p.

A function known only through calls is searched greedily if the user says so; such answers are never exact.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.arguments import is_number_within
from setloss.operators.cut import Cut, FunctionSurrogate, OrderedMargins
from setloss.setfunctions.counts import (
    MAX_CELLS,
    CountCurve,
    CountFunction,
    Sum,
    TableTooLargeError,
    cells_in_words,
    unscaled,
)
from setloss.setfunctions.properties import is_nonnegative
from setloss.typing import Array

MAX_ENUMERATED_ELEMENTS = 20
GRID_CELLS = 4096
"""Up to here the whole grid of cells is cheaper than any shortcut."""

Scale = float | Literal["mean"]
"""The scale c of a rescaled part: a number, or "mean" for 2 / |V|, so that the mean margin of a set counts."""


def check_scale(scale: Scale, owner: str = "") -> None:
    """Raise a `ValueError` unless the scale c is a positive number or "mean"."""
    if scale != "mean" and not (is_number_within(scale, 0) and scale > 0):
        raise ValueError(f'{owner}the scale c must be a positive number or "mean"; got {scale!r}')


class Ranked(NamedTuple):
    """The elements of one group by ascending margin, their margins, and the sums of the k smallest, k = 0..n."""

    elements: NDArray[np.intp]
    margins: Array
    sums: Array

    @property
    def negative(self) -> int:
        """The number of negative margins: the count of least margin sum."""
        return int(np.searchsorted(self.margins, 0.0))


@dataclass(frozen=True)
class Rescaling(FunctionSurrogate):
    """A maximum over all sets of mistakes of one affine function each."""

    scale: Scale = 2.0
    search: Literal["exact", "greedy"] = "exact"

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_scale(self.scale, f"{name}: ")
        if self.search not in ("exact", "greedy"):
            raise ValueError(f'{name}: search is "exact" or "greedy"; got {self.search!r}')
        if self.of_family:
            return
        if self.scale == "mean":
            object.__setattr__(self, "scale", 2 / self.p)
        if self.one.counts.by_calls:
            return
        if not (verdict := is_nonnegative(self.one)):
            raise ValueError(f"{name} needs a non-negative function; here {verdict.witness}")

    @abstractmethod
    def objective(self, loss: Any, total: Any) -> Array:
        """The rescaled loss of sets with these losses and sums of margins."""

    @abstractmethod
    def gain(self, step: Any, loss: Any, total: Any, margin: Any) -> Array:
        """The sign of the change when the loss grows by `step` and the sum of margins, to `total`, by `margin`.

        It is written without differences of nearly equal numbers.
        """

    @abstractmethod
    def rate(self, loss: float) -> float:
        """The slope on a worst set of this loss."""

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        function, slope, exact = self.one, np.zeros(self.p), self.search == "exact"
        ranked = []
        for b in range(len(function.sizes)):
            elements = ordered.order[function.partition[ordered.order] == b]
            margins = ordered.margins[elements]
            ranked.append(Ranked(elements, margins, np.concatenate(([0.0], np.cumsum(margins)))))
        mask = np.zeros(self.p, dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):
            counts = self._best_counts(ranked) if exact else self._greedy_counts(ranked)
            for group, count in zip(ranked, counts, strict=True):
                mask[group.elements[:count]] = True
            loss = function(mask)
            if not self.objective(loss, ordered.margins[mask].sum()) > 0:
                return Cut(0.0, slope, exact)  # the empty set, value 0, wins ties
        if loss < 0 and function.counts.by_calls:
            where = np.flatnonzero(mask).tolist()
            raise ValueError(f"{type(self).__name__} needs a non-negative function; {where} has the value {loss:g}")
        slope[mask] = self.rate(loss)
        return Cut(loss, slope, exact)

    def _best_counts(self, ranked: list[Ranked]) -> list[int]:
        """The kind of set function picks the algorithm; `setloss.plans` does the same for compiled cuts."""
        weight, counts = unscaled(self.one.counts)
        best = [group.negative for group in ranked]
        if isinstance(counts, Sum) and not counts.terms:
            return best
        if isinstance(counts, CountCurve):
            others = sum(group.sums[group.negative] for b, group in enumerate(ranked) if b != counts.axis)
            values = self.objective(weight * counts.values, ranked[counts.axis].sums + others)
            best[counts.axis] = int(np.argmax(values))
            return best
        if counts.cells > GRID_CELLS and len(ranked) == 2 and counts.concave_in_last:
            return self._search_concave(self.one.counts, *ranked)
        if counts.cells > MAX_CELLS or (counts.by_calls and self.p > MAX_ENUMERATED_ELEMENTS):
            raise TableTooLargeError(
                f"exact maximisation over {cells_in_words(counts.cells)} cells is out of reach for a function "
                'without a closed form. Choose a heuristic by name, search="greedy" (its cuts never certify), or '
                "describe the function by counts."
            )
        total = np.zeros(())
        for group in ranked:
            total = total[..., None] + group.sums
        values = self.objective(self.one.table, total)
        return [int(a) for a in np.unravel_index(int(np.argmax(values)), values.shape)]

    def _search_concave(self, counts: CountFunction, first: Ranked, last: Ranked) -> list[int]:
        """Binary search in the last count, for every value of the first at once."""
        n = np.arange(len(first.sums))
        low, high = np.full(len(n), last.negative), np.full(len(n), len(last.margins))
        while np.any(low < high):
            middle = (low + high) // 2
            q = np.minimum(middle, len(last.margins) - 1)
            total = first.sums + last.sums[q + 1]
            better = self.gain(counts.step(1, n, q), counts(n, q), total, last.margins[q]) > 0
            better &= low < high
            low, high = np.where(better, middle + 1, low), np.where(better, high, np.minimum(middle, high))
        best = int(np.argmax(self.objective(counts(n, low), first.sums + last.sums[low])))
        return [best, int(low[best])]

    def _greedy_counts(self, ranked: list[Ranked]) -> list[int]:
        """Best-first: add the element that raises the objective most, until none does."""
        function = self.one
        sizes = np.array(function.sizes)
        counts = np.zeros(len(sizes), dtype=np.intp)
        total, value = 0.0, 0.0
        while np.any(counts < sizes):
            open_groups = np.flatnonzero(counts < sizes)
            candidates = counts + np.eye(len(sizes), dtype=np.intp)[open_groups]
            totals = total + np.array([ranked[b].margins[counts[b]] for b in open_groups])
            values = self.objective(function.counts(*candidates.T), totals)
            best = int(np.argmax(values))
            if not values[best] > value:
                break
            counts, total, value = candidates[best], float(totals[best]), float(values[best])
        return [int(count) for count in counts]


@dataclass(frozen=True)
class SlackRescaling(Rescaling):
    """S l(m) = max_A l(A) (1 - c sum_{i in A} m_i)   (Equation 17; c = 2 as printed).

    An extension of every non-negative increasing l, for any c >= 1; c = 1 is the tightest on the unit cube.

    Examples
    --------
    >>> from setloss import SetFunction
    >>> surrogate = SlackRescaling(SetFunction.symmetric([0.0, 0.25, 1.0]), scale=1.0)
    >>> surrogate([1.0, 0.5]), surrogate([0.0, 0.0])
    (0.125, 1.0)
    """

    def objective(self, loss: Any, total: Any) -> Array:
        return np.where(loss > 0, loss * (1 - float(self.scale) * total), 0.0)

    def gain(self, step: Any, loss: Any, total: Any, margin: Any) -> Array:
        scale = float(self.scale)
        return np.asarray(step * (1 - scale * total) - scale * loss * margin)

    def rate(self, loss: float) -> float:
        return float(self.scale) * loss


@dataclass(frozen=True)
class MarginRescaling(Rescaling):
    """M l(m) = max_A l(A) - c sum_{i in A} m_i, the baseline.

    Examples
    --------
    >>> from setloss import SetFunction
    >>> MarginRescaling(SetFunction.symmetric([0.0, 0.25, 1.0]), scale=1.0)([0.0, 0.0])
    1.0
    """

    def objective(self, loss: Any, total: Any) -> Array:
        return np.asarray(loss - float(self.scale) * total)

    def gain(self, step: Any, loss: Any, total: Any, margin: Any) -> Array:
        return np.asarray(step - float(self.scale) * margin)

    def rate(self, loss: float) -> float:
        return float(self.scale)
