"""The blocks of block-coordinate ascent: the dual point of every bag, and how a visit improves it.

Three kinds, by what is known of the Gram matrix ``K[e, e'] = y_e y_e' <x_e, x_e'>`` (0 for different tasks) of a bag:

- bags of frames have a full one; a visit takes a few pairwise Frank-Wolfe steps;
- in a label set it is |x|^2 times the identity; a visit solves its block, up to a share of its gap, by corrals;
- in a label set with a hinge per label a visit is a closed form, and no cuts are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.plans.records import LINEAR, NONE, Plans
from setloss.solvers.deadline import check_time
from setloss.solvers.problem import Problem
from setloss.typing import Array

MIN_GRAM_ENTRIES = 2**22
"""Numbers that Gram matrices may take however small X is (32 MiB)."""

GRAM_SHARE = 0.25
"""Share of the memory of X that Gram matrices may take beyond that, the smallest bags first."""

WORTH_A_CALL = 20_000
"""Operations of a Gram matrix from which on a call of BLAS is faster than the kernel."""

FRAME_CUTS, LABEL_CUTS, FEWEST_CUTS = 16, 64, 4
"""Maximum number of active cuts per bag of frames and per label set, and of label sets short of memory."""

CUT_MEMORY = 2**25
"""Numbers that the cuts of label sets may take (256 MiB), unless `FEWEST_CUTS` per set take more."""

LABEL_STEPS = 20
"""Maximum number of cuts that a visit of a label set asks for."""


class DualPoint(Protocol):
    """One convex combination of cuts (o_i, sigma_i) per bag."""

    slopes: Array
    offsets: Array

    def copy(self) -> Any: ...

    def like(self, other: Any) -> bool:
        """Whether another point has the same layout, so that a copy of it can take the place of this one."""
        ...

    def recombine(self, problem: Problem) -> None:
        """Compute slopes and offsets afresh from what they are made of."""
        ...

    def snapshot(self) -> Any:
        """The place of the point now, for `moved`."""
        ...

    def moved(self, problem: Problem, before: Any, reach: float) -> Any:
        """A feasible point beyond this one, in the direction from a snapshot."""
        ...


@dataclass
class ActiveCuts:
    """The active cuts of every bag with their weights. `atoms` holds their slopes, bag after bag; `versions` counts
    the changes that leave cuts in other places.
    """

    slopes: Array
    offsets: Array
    atoms: Array
    atom_offsets: Array
    weights: Array
    counts: NDArray[np.int64]
    versions: NDArray[np.int64]

    @classmethod
    def none(cls, problem: Problem, capacity: int) -> ActiveCuts:
        """The zero cut for every bag, with room for `capacity` cuts."""
        n, size = problem.n_bags, len(problem.signs)
        weights, whole = np.zeros((n, capacity)), np.zeros(n, dtype=np.int64)
        weights[:, 0] = 1.0
        return cls(
            np.zeros(size), np.zeros(n), np.zeros(size * capacity), np.zeros((n, capacity)), weights, whole + 1, whole
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.slopes, self.offsets, self.atoms, self.atom_offsets, self.weights, self.counts, self.versions

    def copy(self) -> ActiveCuts:
        return ActiveCuts(*(array.copy() for array in self.arrays))

    def like(self, other: Any) -> bool:
        same = isinstance(other, ActiveCuts) and other.slopes.shape == self.slopes.shape
        return same and other.weights.shape == self.weights.shape

    def start_at(self, problem: Problem, slopes: Array, offsets: Array, weight: float) -> None:
        """Give one more cut per bag this weight, and the zero cut the rest."""
        sizes, capacity = problem.surrogate.bags.sizes, self.weights.shape[1]
        starts = np.repeat(problem.surrogate.bags.offsets[:-1], sizes)
        places = capacity * starts + np.repeat(sizes, sizes) + np.arange(len(slopes)) - starts
        self.atoms[places], self.atom_offsets[:, 1] = slopes, offsets
        self.weights[:, :2], self.counts[:] = (1.0 - weight, weight), 2
        self.recombine(problem)

    def recombine(self, problem: Problem) -> None:
        from setloss.solvers.kernels import recombine

        cuts = (self.atoms, self.atom_offsets, self.weights)
        recombine(problem.surrogate.bags.offsets, *cuts, self.slopes, self.offsets)

    def snapshot(self) -> tuple[Array, NDArray[np.int64]]:
        return self.weights.copy(), self.versions.copy()

    def moved(self, problem: Problem, before: tuple[Array, NDArray[np.int64]], reach: float) -> ActiveCuts:
        """Negative weights are clipped; bags whose cuts have changed places keep their weights."""
        weights, versions = before
        direction = np.where((versions == self.versions)[:, None], self.weights - weights, 0.0)
        moved = replace(self, weights=np.maximum(self.weights + reach * direction, 0.0))
        moved.slopes, moved.offsets = np.empty_like(self.slopes), np.empty_like(self.offsets)
        moved.recombine(problem)
        return moved


@dataclass
class BoundedSlopes:
    """The dual point of ``sum_e largest_e (1 - m_e)_+``: slopes from 0 to `largest`, offsets their sums."""

    slopes: Array
    offsets: Array
    largest: Array

    def copy(self) -> BoundedSlopes:
        return BoundedSlopes(self.slopes.copy(), self.offsets.copy(), self.largest)

    def like(self, other: Any) -> bool:
        return isinstance(other, BoundedSlopes) and np.array_equal(other.largest, self.largest)

    def start_at(self, problem: Problem, slopes: Array, offsets: Array, weight: float) -> None:
        """Take this share of a cut per bag."""
        self.slopes[:] = np.minimum(weight * slopes, self.largest)
        self.recombine(problem)

    def recombine(self, problem: Problem) -> None:
        self.offsets[:] = problem.surrogate.bags.totals(self.slopes)

    def snapshot(self) -> Array:
        return self.slopes.copy()

    def moved(self, problem: Problem, before: Array, reach: float) -> BoundedSlopes:
        slopes = np.clip(self.slopes + reach * (self.slopes - before), 0.0, self.largest)
        return BoundedSlopes(slopes, problem.surrogate.bags.totals(slopes), self.largest)


def empty_dual_point(problem: Problem, capacity: int | None) -> ActiveCuts | BoundedSlopes:
    """The dual point zero, of the kind that the problem needs."""
    if not problem.label_sets:
        return ActiveCuts.none(problem, capacity or FRAME_CUTS)
    largest = _separable_slopes(problem)
    if largest is not None:
        return BoundedSlopes(np.zeros(len(largest)), np.zeros(problem.n_bags), largest)
    room = int(np.clip(CUT_MEMORY // max(len(problem.signs), 1), FEWEST_CUTS, LABEL_CUTS))
    widest = int(problem.surrogate.bags.sizes.max())
    return ActiveCuts.none(problem, capacity or min(room, widest + 2))


def _separable_slopes(problem: Problem) -> Array | None:
    """The largest slope of every element where B is a hinge per element, else None."""
    plans = problem.surrogate.plans
    if not isinstance(plans, Plans):
        return None
    records, lovasz = plans.records, plans.records["lovasz"]
    alone = (lovasz["kind"] == LINEAR) & (records["rescaled"]["kind"] == NONE) & (records["elementwise"] != 0)
    gains = np.stack([lovasz["weight"] * lovasz["false_negative"], lovasz["weight"] * lovasz["false_positive"]])
    if not np.all(alone) or gains.min() < 0:
        return None
    which = np.repeat(problem.surrogate.which, problem.surrogate.bags.sizes)
    return np.asarray(gains[(problem.surrogate.partition > 0).astype(np.intp), which])


class Blocks(Protocol):
    """What visits need of a problem beside the dual point, computed once."""

    def visit(self, problem: Problem, visits: NDArray[np.int64], W: Array, point: Any, gaps: Array) -> None:
        """Improve the given bags in turn, and W = W(sigma) with them, features x labels for label sets."""
        ...


def blocks_of(problem: Problem, inner_steps: int | None, shrink: float) -> Blocks:
    """The blocks of the kind that the problem needs."""
    if problem.label_sets:
        norms = problem.design.squared_norms()[problem.rows[problem.surrogate.bags.offsets[:-1]]]
        return LabelBlocks(norms, inner_steps or LABEL_STEPS, shrink)
    return GramBlocks(*_grams(problem), inner_steps or _balanced_steps(problem), shrink)


@dataclass(frozen=True, eq=False)
class LabelBlocks:
    """`norms` is |x|^2 of every example, the constant feature included."""

    norms: Array
    most: int
    shrink: float

    def visit(self, problem: Problem, visits: NDArray[np.int64], W: Array, point: Any, gaps: Array) -> None:
        from setloss.solvers.label_kernels import label_epoch, separable_epoch

        widest = int(problem.surrogate.bags.sizes.max())
        work = (np.empty(problem.n_tasks), *np.empty((4, widest)))
        data = (visits, problem.design.arrays, problem.maps)
        if isinstance(point, BoundedSlopes):
            state = (W, point.slopes, point.offsets, gaps)
            starts = problem.surrogate.bags.offsets
            separable_epoch(*data, starts, problem.costs, self.norms, point.largest, state, work)
            return
        cuts = point.weights.shape[1]
        room = (*work, np.empty(widest, dtype=bool), *np.empty((2, cuts, cuts)), *np.empty((2, cuts)))
        batch = problem.surrogate.kernel_data
        state = (W, *point.arrays, gaps)
        label_epoch(*data, batch, problem.costs, self.norms, state, self.most, self.shrink, room)


@dataclass(frozen=True, eq=False)
class GramBlocks:
    """Gram matrices one after the other, and where each begins; bags without one take a single step a visit."""

    starts: NDArray[np.int64]
    grams: Array
    most: int
    shrink: float

    def visit(self, problem: Problem, visits: NDArray[np.int64], W: Array, point: Any, gaps: Array) -> None:
        from setloss.solvers.kernels import frank_wolfe_epoch

        widest = int(problem.surrogate.bags.sizes.max())
        work = (*np.empty((5, widest)), np.empty(widest, dtype=bool), np.empty(problem.shape))
        data = (problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        dual = (W, *point.arrays, gaps)
        frank_wolfe_epoch(*data, (self.starts, self.grams), dual, visits, self.most, self.shrink, work)


def _balanced_steps(problem: Problem) -> int:
    """Inner steps that cost about as much as the two passes over the rows of a bag: none is free."""
    length = len(problem.signs) / problem.n_bags
    return int(np.clip(2 * problem.design.row_entries / (40 + length), 3, 20))


def _grams(problem: Problem) -> tuple[NDArray[np.int64], Array]:
    """The Gram matrices of the smallest bags, as far as they fit the memory."""
    bags = problem.surrogate.bags
    stored = problem.design.data.size if problem.design.sparse else problem.design.dense.size
    entries = bags.sizes.astype(np.int64) ** 2
    by_size = np.argsort(entries, kind="stable")
    fits = np.zeros(len(entries), dtype=bool)
    fits[by_size] = np.cumsum(entries[by_size]) <= max(GRAM_SHARE * stored, MIN_GRAM_ENTRIES)
    starts = np.concatenate(([0], np.cumsum(np.where(fits, entries, 0))))
    grams = np.empty(int(starts[-1]))
    for some in np.array_split(np.flatnonzero(fits), 4 * pieces_of(len(entries))):
        check_time()
        write_some_grams(problem, some, starts, grams)
    return starts, grams


def pieces_of(visits: int) -> int:
    """The number of pieces of an epoch, so that the clock is looked at more often than once per pass over X."""
    return min(32, 1 + visits // 128)


def write_some_grams(problem: Problem, bags: NDArray[np.intp], gram_starts: NDArray[np.int64], grams: Array) -> None:
    """Write the matrices of the given bags, each from its place in `gram_starts` on: large ones by BLAS."""
    from setloss.solvers.kernels import write_grams

    design, starts = problem.design, problem.surrogate.bags.offsets
    large = _side_by_side(problem, bags)
    for i in bags[large]:
        lo, hi = starts[i], starts[i + 1]
        block, signs = design.dense[problem.rows[lo] : problem.rows[hi - 1] + 1], problem.signs[lo:hi]
        gram = grams[gram_starts[i] : gram_starts[i + 1]].reshape(hi - lo, hi - lo)
        np.multiply(np.outer(signs, signs), block @ block.T + design.constant**2, out=gram)
    small = bags[~large]
    if len(small):
        write_grams(small, design.arrays, problem.maps, starts, gram_starts, np.zeros(design.features), grams)


def _side_by_side(problem: Problem, bags: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Large bags of one task that are a block of rows of a dense X."""
    if problem.design.sparse:
        return np.zeros(len(bags), dtype=bool)
    starts = problem.surrogate.bags.offsets
    first, last = starts[bags], starts[bags + 1] - 1
    sizes = last - first + 1
    block = (problem.rows[last] - problem.rows[first] == sizes - 1) & (problem.tasks[first] == problem.tasks[last])
    return np.asarray(block & (sizes**2 * problem.design.features >= WORTH_A_CALL))
