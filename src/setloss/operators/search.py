"""Loss-augmented inference: the set A that maximises a rescaled loss.

    slack:   l(A) (1 - c sum_{i in A} m_i)            margin:   l(A) - c sum_{i in A} m_i

Inside a group the worst k elements are those of smallest margin, so with ``P_b(k)`` the sum of the k smallest
margins of group b the maximum runs over the cells of the table, ``l(a)`` against ``sum_b P_b(a_b)``, and is
**exact for any l**. Three cases need less than the cells:

* l depends on one group only: the others contribute their negative margins, a scan over one count remains;
* one group: the same scan;
* l(a, .) is concave and increasing in one count for every value of the other (Dice, Jaccard, Tversky): for
  fixed a both objectives are unimodal in b to the right of the number of negative margins, and a binary
  search for every a at once is exact in O(p log p), at any p.

What is known only through calls is searched by a heuristic the user names; such answers are never exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from setloss.operators.cut import OrderedMargins
from setloss.setfunctions.combinations import Sum, unscaled
from setloss.setfunctions.counts import MAX_CELLS, CountCurve, CountFunction, TableTooLargeError, cells_in_words
from setloss.setfunctions.set_function import SetFunction
from setloss.setfunctions.tolerance import RELATIVE_TOLERANCE
from setloss.typing import Array

Search = Literal["exact", "greedy"]
Mask = NDArray[np.bool_]

MAX_ENUMERATED_ELEMENTS = 20
GRID_CELLS = 4096
"""Up to here the whole grid of cells is cheaper than any shortcut."""


@dataclass(frozen=True)
class Objective:
    """One of the two rescalings: its value, and whether one more element helps.

    ``combine(l, m)`` is the objective of a set with loss l and margin sum m.
    ``gain(step, l, m, next)`` has the sign of the change when the loss grows by `step` and the margin sum m,
    the new element included, by `next`; it is written without differences of nearly equal numbers.
    """

    combine: Callable[[Any, Any], Array]
    gain: Callable[[Any, Any, Any, Any], Array]


def slack_objective(scale: float) -> Objective:
    """L (1 - c m)."""
    return Objective(
        lambda loss, total: np.where(loss > 0, loss * (1 - scale * total), 0.0),
        lambda step, loss, total, margin: step * (1 - scale * total) - scale * loss * margin,
    )


def margin_objective(scale: float) -> Objective:
    """L - c m."""
    return Objective(
        lambda loss, total: loss - scale * total,
        lambda step, _loss, _total, margin: step - scale * margin,
    )


@dataclass(frozen=True)
class Found:
    """The set that was found, its loss, and whether it is certainly the best."""

    mask: Mask
    loss: float
    exact: bool


def find_worst_set(function: SetFunction, ordered: OrderedMargins, objective: Objective, search: Search) -> Found:
    """Maximise the objective over all sets; the empty set, value 0, wins ties."""
    with np.errstate(over="ignore", invalid="ignore"):
        mask = _SEARCHES[search](function, ordered, objective)
        loss = function(mask)
        if not objective.combine(loss, ordered.margins[mask].sum()) > 0:
            mask, loss = np.zeros(function.p, dtype=bool), 0.0
    return Found(mask, loss, exact=search == "exact")


# ---------------------------------------------------------------- exact, by counts


@dataclass(frozen=True)
class _Ranked:
    """The margins of one group in ascending order, and the sums of the k smallest, k = 0..n."""

    elements: NDArray[np.intp]
    margins: Array
    sums: Array

    @classmethod
    def of(cls, ordered: OrderedMargins, members: Mask) -> _Ranked:
        elements = ordered.within(members)
        margins = ordered.margins[elements]
        return cls(elements, margins, np.concatenate(([0.0], np.cumsum(margins))))

    @property
    def negative(self) -> int:
        """The number of negative margins: the count of least margin sum."""
        return int(np.searchsorted(self.margins, 0.0))


def _rank(function: SetFunction, ordered: OrderedMargins) -> list[_Ranked]:
    return [_Ranked.of(ordered, function.partition == b) for b in range(len(function.sizes))]


def _exact(function: SetFunction, ordered: OrderedMargins, objective: Objective) -> Mask:
    ranked = _rank(function, ordered)
    best = _best_counts(function, ranked, objective)
    mask = np.zeros(function.p, dtype=bool)
    for group, count in zip(ranked, best, strict=True):
        mask[group.elements[:count]] = True
    return mask


def _best_counts(function: SetFunction, ranked: list[_Ranked], objective: Objective) -> list[int]:
    """The kind of set function picks the algorithm; `setloss.plans` does the same for compiled cuts."""
    weight, counts = unscaled(function.counts)
    if isinstance(counts, Sum) and not counts.terms:
        return [group.negative for group in ranked]
    if isinstance(counts, CountCurve):
        return _scan_axis(counts, weight, ranked, objective)
    if counts.cells > GRID_CELLS and len(ranked) == 2 and counts.concave_axis is not None:
        return _search_concave(function.counts, counts.concave_axis, ranked, objective)
    if counts.cells > MAX_CELLS or (counts.by_calls and function.p > MAX_ENUMERATED_ELEMENTS):
        raise TableTooLargeError(
            f"exact maximisation over {cells_in_words(counts.cells)} cells is out of reach for a function without a "
            'closed form. Choose a heuristic by name, search="greedy" (its cuts never certify), or describe the '
            "function by counts."
        )
    return _scan_grid(function, ranked, objective)


def _scan_axis(counts: CountCurve, weight: float, ranked: list[_Ranked], objective: Objective) -> list[int]:
    best = [group.negative for group in ranked]
    others = sum(group.sums[group.negative] for b, group in enumerate(ranked) if b != counts.axis)
    values = objective.combine(weight * counts.values, ranked[counts.axis].sums + others)
    best[counts.axis] = int(np.argmax(values))
    return best


def _scan_grid(function: SetFunction, ranked: list[_Ranked], objective: Objective) -> list[int]:
    total = np.zeros(())
    for group in ranked:
        total = total[..., None] + group.sums
    values = objective.combine(_non_negative(function.table), total)
    return [int(a) for a in np.unravel_index(int(np.argmax(values)), values.shape)]


def _search_concave(counts: CountFunction, searched: int, ranked: list[_Ranked], objective: Objective) -> list[int]:
    """Binary search in the concave count, for every value of the other count at once."""
    group, other = ranked[searched], ranked[1 - searched]

    def at(b: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return (b, scanned) if searched == 0 else (scanned, b)

    scanned = np.arange(len(other.sums))
    low = np.full(len(scanned), group.negative)
    high = np.full(len(scanned), len(group.margins))
    while np.any(low < high):
        middle = (low + high) // 2
        inside = np.minimum(middle, len(group.margins) - 1)
        cell = at(inside)
        total = other.sums + group.sums[inside + 1]
        better = objective.gain(counts.step(searched, *cell), counts(*cell), total, group.margins[inside]) > 0
        better &= low < high
        low, high = np.where(better, middle + 1, low), np.where(better, high, np.minimum(middle, high))
    values = objective.combine(counts(*at(low)), other.sums + group.sums[low])
    a = int(np.argmax(values))
    return [int(n[a]) for n in at(low)]


def _non_negative(values: Array) -> Array:
    """The values of a function that may be known through calls only, and was not checked before."""
    if values.min() < -RELATIVE_TOLERANCE * np.abs(values).max():
        raise ValueError(f"rescaling needs a non-negative function; this one has the value {values.min():.6g}")
    return values


# ---------------------------------------------------------------- a heuristic


def _greedy(function: SetFunction, ordered: OrderedMargins, objective: Objective) -> Mask:
    """Best-first: add the element that raises the objective most, until none does."""
    ranked = _rank(function, ordered)
    sizes = np.array(function.sizes)
    counts = np.zeros(len(sizes), dtype=np.intp)
    total, value = 0.0, 0.0
    while np.any(counts < sizes):
        open_groups = np.flatnonzero(counts < sizes)
        candidates = counts + np.eye(len(sizes), dtype=np.intp)[open_groups]
        totals = total + np.array([ranked[b].margins[counts[b]] for b in open_groups])
        values = objective.combine(function.counts(*candidates.T), totals)
        best = int(np.argmax(values))
        if not values[best] > value:
            break
        counts, total, value = candidates[best], float(totals[best]), float(values[best])
    mask = np.zeros(function.p, dtype=bool)
    for group, count in zip(ranked, counts, strict=True):
        mask[group.elements[:count]] = True
    return mask


_SEARCHES: dict[Search, Callable[[SetFunction, OrderedMargins, Objective], Mask]] = {
    "exact": _exact,
    "greedy": _greedy,
}
