"""Cuts of a whole data set: one plan per kind of bag, and the interpreter that reads it.

Bags of equal (positives, negatives) share one plan. What is computed is the cut of the reference operator, to
rounding error; `setloss.plans.kernels` says how.

Sets of equal size are rows of scores and truth, without flat copies and offsets; for losses with a closed form the
record of a set follows from its number of positives.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.losses import Loss
from setloss.operators import Operator
from setloss.operators.cut import MAX_MARGIN
from setloss.operators.rescaling import Scale
from setloss.plans.build import LossSurrogate, PythonPlans
from setloss.plans.records import BatchCuts, Plans
from setloss.typing import Array

Scores = NDArray[np.floating]
Truth = NDArray[np.bool_]

REMEMBERED_WIDTH = 1024
"""Largest number of elements for which the records of all numbers of positives are kept."""


@dataclass(frozen=True, eq=False)
class BatchSurrogate:
    """The surrogates of all bags of a data set, ready for repeated calls of `cuts`.

    Examples
    --------
    >>> from setloss import Dice
    >>> prepared = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3], "lovasz")
    >>> prepared.cuts(np.zeros(3)).values.round(3), prepared.exact, prepared.compiled
    (array([1., 1.]), True, True)
    """

    bags: Bags
    partition: NDArray[np.int16]
    which: NDArray[np.intp]
    plans: Plans | PythonPlans = field(repr=False)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Offsets, partitions and kinds of the bags, and the plans of the kinds: all that compiled cuts depend on."""
        own = self.bags.offsets, self.partition, self.which
        return (*own, *self.plans.arrays) if isinstance(self.plans, Plans) else own

    @property
    def exact(self) -> bool:
        """Whether all cuts so far touch their surrogates; those of a heuristic do not, and certify nothing."""
        return self.plans.exact

    @property
    def compiled(self) -> bool:
        """Whether the kernels of solvers can ask for the cut of any one bag."""
        return isinstance(self.plans, Plans)

    def same_as(self, other: Self | None) -> bool:
        """Whether both are compiled, with the same surrogate for every bag: cuts of one are cuts of the other."""
        if other is None or not (self.compiled and other.compiled):
            return False
        return all(np.array_equal(left, right) for left, right in zip(self.arrays, other.arrays, strict=True))

    def of_bags(self, some: slice) -> Self:
        """The surrogates of neighbouring bags, whose elements lie one after the other."""
        starts = self.bags.offsets[some.start : some.stop + 1]
        elements = slice(starts[0], starts[-1])
        bags = Bags.from_offsets(starts - starts[0])
        return replace(self, bags=bags, partition=self.partition[elements], which=self.which[some])

    def cuts(self, margins: ArrayLike, *, threads: int = 1, consume: bool = False) -> BatchCuts:
        """The cuts at flat margins, in the order of the labels; the result does not depend on `threads`.

        Slopes have the dtype of the margins, float32 or float64; all sums are float64. With `consume` they may take
        the place of the margins, which saves memory of that size.
        """
        flat = self.bags.gather(_flat_margins(margins, self.bags.elements))
        cuts = run_kernel(flat, self, threads, consume=consume or self.bags.order is not None)
        return replace(cuts, slopes=self.bags.scatter(cuts.slopes))


def batch_surrogate(
    loss: Loss,
    labels: ArrayLike,
    bags: Bags | ArrayLike,
    operator: str | Operator = "bd",
    scale: Scale = 2.0,
) -> BatchSurrogate:
    """Prepare the surrogates of every bag.

    Parameters
    ----------
    loss
        The loss of one bag.
    labels
        Flat labels of all elements in {0, 1}, {-1, +1} or bool.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat arrays.
    operator, scale
        One of `setloss.operators.OPERATOR_NAMES` and the scale c of its rescaled part, a number or "mean" for
        two over the size of the bag; or a function from set functions to surrogates, such as `B_D`. By default those
        of the paper, Equations 17 and 20.

    Examples
    --------
    >>> from setloss import Dice
    >>> prepared = batch_surrogate(Dice(), [1, 0, 1, 1], Bags.from_groups(["a", "a", "b", "b"]), "bd")
    >>> prepared.cuts([2.0, 1.5, -1.0, 0.5]).values.round(3)
    array([0. , 1.5])
    """
    bags = bags if isinstance(bags, Bags) else Bags.from_offsets(bags)
    truth = bags.gather(as_labels(labels, "labels", ndim=(1,)))
    positives = np.add.reduceat(truth, bags.offsets[:-1], dtype=np.intp) if len(bags) else np.zeros(0, dtype=np.intp)
    counts = loss.distinct_counts(positives, bags.sizes - positives)
    base = int(counts[:, 1].max(initial=0)) + 1
    codes, which = np.unique(counts[:, 0] * base + counts[:, 1], return_inverse=True)
    plans = LossSurrogate(loss, operator, scale).plans(*np.divmod(codes, base))
    return BatchSurrogate(bags, loss.element_partition(truth).astype(np.int16, copy=False), which, plans)


def run_kernel(
    flat: NDArray[np.floating], batch: BatchSurrogate, threads: int, *, consume: bool = False
) -> BatchCuts:
    """The cuts at gathered margins, bags shared out among threads; the slopes in their place if `consume`."""
    if isinstance(batch.plans, PythonPlans):
        return batch.plans.cuts(flat, batch.bags, batch.partition, batch.which)
    from setloss.plans.kernels import write_cuts

    slopes, totals = flat if consume else np.empty_like(flat), np.empty((len(batch.bags), 2))
    data = (flat, batch.bags.offsets, batch.partition, batch.which)
    kinds = batch.plans

    def work(first: int, last: int) -> None:
        widest = int(batch.bags.sizes[first:last].max(initial=0))
        space, chosen = space_for_cuts(kinds, widest, flat.dtype), np.empty(widest, dtype=bool)
        write_cuts(first, last, data, kinds.arrays, space, chosen, (slopes, totals))

    share_out(work, len(batch.bags), threads)
    return BatchCuts(totals[:, 0], slopes, totals[:, 1])


def share_out(work: Callable[[int, int], None], n: int, threads: int) -> None:
    """``work(first, last)`` for neighbouring shares of n bags, one per thread."""
    if min(threads, n) <= 1:
        return work(0, n)
    shares = np.linspace(0, n, min(threads, n) + 1, dtype=np.intp)
    with ThreadPoolExecutor(len(shares) - 1) as pool:
        list(pool.map(work, shares[:-1], shares[1:]))


class SortSpace(NamedTuple):
    """Workspace for sorting the elements of one bag."""

    spare: Any  # a second array for them
    tallies: Any  # counters
    keys: Any  # their margins
    words: Any  # the same memory, 32 bits at a time; None where they are at most `SMALL`


class SearchSpace(NamedTuple):
    """Workspace for worst sets where several counts matter."""

    sums: Any  # the memory of `keys`: of the smallest margins of each group
    counts: Any  # of each group in the worst set
    turning: Any  # of each group in the cell that is looked at
    within: Any  # of each group among the ranked elements


class CutSpace(NamedTuple):
    """Workspace for the cut of one bag, whatever its plan is."""

    order: Any  # the elements, as they are sorted
    sorting: SortSpace
    ranked: Any  # the memory of `spare`: margins in this order, then those of group after group
    search: SearchSpace | None  # if a plan needs it


def space_for_sorting(widest: int, dtype: Any, memory: Array | None = None) -> SortSpace:
    """Workspace for up to `widest` elements with margins of this type; `memory` of as many floats is for the keys."""
    from setloss.plans.kernels import BUCKETS, SMALL

    memory = np.empty(widest) if memory is None else memory
    spare = np.empty(widest * np.dtype(dtype).itemsize // 4, dtype=np.int64)
    tallies = np.empty(BUCKETS, dtype=np.int64)
    return SortSpace(spare, tallies, memory.view(dtype), memory.view(np.int32) if widest > SMALL else None)


def space_for_cuts(plans: Plans, widest: int, dtype: Any) -> CutSpace:
    """Workspace for bags of up to `widest` elements with margins of this type."""
    axes = plans.sizes.shape[1]
    sums = np.empty(widest + axes)
    search = SearchSpace(sums, *np.empty((3, axes), dtype=np.int64)) if plans.search_counts else None
    sorting = space_for_sorting(widest, dtype, sums)
    return CutSpace(np.empty(widest, dtype=np.int64), sorting, sorting.spare.view(dtype), search)


def _flat_margins(margins: ArrayLike, size: int) -> NDArray[np.floating]:
    flat = np.ascontiguousarray(margins)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float64)
    if flat.shape != (size,):
        raise ValueError(f"the bags hold {size} elements; margins have shape {flat.shape}")
    # The least and the largest, NaN included, take no memory of the size of the data.
    if not (float(flat.min(initial=0.0)) >= -MAX_MARGIN and float(flat.max(initial=0.0)) <= MAX_MARGIN):
        i = int(np.argmin(np.abs(flat.astype(np.float64)) <= MAX_MARGIN))
        raise ValueError(f"margins must be finite; element {i} has margin {flat[i]}")
    return flat


# ---------------------------------------------------------------- sets of equal size


def row_cuts(scores: Scores, truth: Truth, surrogate: LossSurrogate, threads: int) -> tuple[Array, Scores]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite.

    The surrogate is one whose sets are all read at once (`LossSurrogate.closed`).
    """
    n, width = scores.shape
    from setloss.plans.kernels import write_row_cuts

    every_kind = width <= REMEMBERED_WIDTH
    if every_kind:
        plans = _plans_of_width(surrogate, width)
    else:
        positives = np.count_nonzero(truth, axis=1)
        plans = surrogate.plans(positives, width - positives)
    assert isinstance(plans, Plans)
    values, gradient = np.empty(n), np.empty_like(scores)

    def work(first: int, last: int) -> None:
        space = space_for_cuts(plans, width, scores.dtype)
        own = np.empty(width, dtype=np.int16), np.empty(width, dtype=bool)
        write_row_cuts(first, last, (scores, truth, every_kind), plans.arrays, space, own, (values, gradient))

    share_out(work, n, threads)
    return values, gradient


@lru_cache(maxsize=256)
def _plans_of_width(surrogate: LossSurrogate, width: int) -> Plans | PythonPlans:
    return surrogate.plans(np.arange(width + 1), np.arange(width, -1, -1))
