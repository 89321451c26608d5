"""The dual point of block-coordinate ascent: one convex combination of cuts (o_i, sigma_i) per bag."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.plans.records import LINEAR, NONE, Plans
from setloss.solvers.problem import Problem
from setloss.typing import Array

Visits = NDArray[np.int64]

MOST_CUTS, FEWEST_CUTS = 64, 4
"""Maximum number of active cuts per bag, and of bags short of memory."""

CUT_MEMORY = 2**25
"""Numbers that the cuts may take (256 MiB), unless `FEWEST_CUTS` per bag take more."""

STEPS = 20
"""Maximum number of cuts that a visit asks for."""


@dataclass
class ActiveCuts:
    """The active cuts of every bag with their weights. `atoms` has their slopes, bag after bag; `versions` counts
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
    def none(cls, problem: Problem, capacity: int | None) -> ActiveCuts:
        """The zero cut for every bag, with room for `capacity` cuts, by default p + 2 where memory allows."""
        n, size = problem.n_bags, len(problem.signs)
        if capacity is None:
            room = int(np.clip(CUT_MEMORY // max(size, 1), FEWEST_CUTS, MOST_CUTS))
            capacity = min(room, int(problem.surrogate.bags.sizes.max()) + 2)
        weights, whole = np.zeros((n, capacity)), np.zeros(n, dtype=np.int64)
        weights[:, 0] = 1.0
        atoms, atom_offsets = np.zeros(size * capacity), np.zeros((n, capacity))
        return cls(np.zeros(size), np.zeros(n), atoms, atom_offsets, weights, whole + 1, whole)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.slopes, self.offsets, self.atoms, self.atom_offsets, self.weights, self.counts, self.versions

    def copy(self) -> ActiveCuts:
        return ActiveCuts(*(array.copy() for array in self.arrays))

    def like(self, other: Any) -> bool:
        """Whether another point has the same layout, so that a copy of it can take the place of this one."""
        same = isinstance(other, ActiveCuts) and other.slopes.shape == self.slopes.shape
        return same and other.weights.shape == self.weights.shape

    def start_at(self, problem: Problem, slopes: Array, offsets: Array) -> None:
        """Make one point the only cut of every bag."""
        bags, others = problem.surrogate.bags, self.weights.shape[1] - 1
        self.atoms[np.arange(len(slopes)) + others * np.repeat(bags.offsets[:-1], bags.sizes)] = slopes
        self.slopes[:], self.offsets[:], self.atom_offsets[:, 0] = slopes, offsets, offsets

    def recombine(self, problem: Problem) -> None:
        """Compute slopes and offsets afresh from what they are made of."""
        from setloss.solvers.kernels import recombine

        cuts = (self.atoms, self.atom_offsets, self.weights)
        recombine(problem.surrogate.bags.offsets, *cuts, self.slopes, self.offsets)

    def snapshot(self) -> tuple[Array, NDArray[np.int64]]:
        """The place of the point now, for `moved`."""
        return self.weights.copy(), self.versions.copy()

    def moved(self, problem: Problem, before: tuple[Array, NDArray[np.int64]], reach: float) -> ActiveCuts:
        """A point beyond this one, in the direction from a snapshot.

        Negative weights are clipped; bags whose cuts have changed places keep theirs.
        """
        weights, versions = before
        direction = np.where((versions == self.versions)[:, None], self.weights - weights, 0.0)
        moved = replace(self, weights=np.maximum(self.weights + reach * direction, 0.0))
        moved.slopes, moved.offsets = np.empty_like(self.slopes), np.empty_like(self.offsets)
        moved.recombine(problem)
        return moved

    def curvatures(self, problem: Problem) -> Array:
        """A number per bag that is no less than <way, K way> / |way|^2: |x|^2 of a label set, a sum over frames."""
        norms = problem.design.squared_norms()[problem.rows]
        return norms if problem.n_tasks > 1 else problem.surrogate.bags.totals(norms)

    def visit(
        self, problem: Problem, visits: NDArray[np.int64], W: Array, curvatures: Array, gaps: Array, how: Any
    ) -> None:
        """Improve the given bags in turn, and W = W(sigma), features x labels, with them."""
        from setloss.solvers.kernels import epoch

        widest, cuts = int(problem.surrogate.bags.sizes.max()), self.weights.shape[1]
        room = (np.empty(widest, dtype=bool), *np.empty((2, cuts, cuts)), *np.empty((2, cuts)))
        work = (np.empty(problem.n_tasks), *np.empty((5, widest)), *room)
        data = (visits, problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        epoch(*data, curvatures, (W, *self.arrays, gaps), how.inner_steps or STEPS, how.shrink, work)


@dataclass
class BoundedSlopes:
    """The dual point of ``sum_e largest_e (1 - m_e)_+``: slopes from 0 to the largest, offsets their sums.

    `gains` has the largest slopes, by group of elements and kind of bag.
    """

    slopes: Array
    offsets: Array
    gains: Array

    @classmethod
    def none(cls, problem: Problem, gains: Array) -> BoundedSlopes:
        return cls(np.zeros(len(problem.signs)), np.zeros(problem.n_bags), gains)

    def largest(self, problem: Problem) -> Any:
        """The largest slope of every element, one number where it is the same for all."""
        if self.gains.min() == self.gains.max():
            return float(self.gains.max())
        which = np.repeat(problem.surrogate.which, problem.surrogate.bags.sizes)
        return self.gains[np.minimum(problem.surrogate.partition, 1), which]

    def copy(self) -> BoundedSlopes:
        return BoundedSlopes(self.slopes.copy(), self.offsets.copy(), self.gains)

    def like(self, other: Any) -> bool:
        return isinstance(other, BoundedSlopes) and other.slopes.shape == self.slopes.shape

    def start_at(self, problem: Problem, slopes: Array, offsets: Array) -> None:
        self.slopes[:], self.offsets[:] = slopes, offsets

    def recombine(self, problem: Problem) -> None:
        self.offsets[:] = problem.surrogate.bags.totals(self.slopes)

    def snapshot(self) -> Array:
        return self.slopes.copy()

    def moved(self, problem: Problem, before: Array, reach: float) -> BoundedSlopes:
        slopes = self.slopes - before
        slopes *= reach
        slopes += self.slopes
        np.clip(slopes, 0.0, self.largest(problem), out=slopes)
        return BoundedSlopes(slopes, problem.surrogate.bags.totals(slopes), self.gains)

    def curvatures(self, problem: Problem) -> Array:
        """|x|^2 of every row."""
        return problem.design.squared_norms()

    def visit(
        self, problem: Problem, visits: NDArray[np.int64], W: Array, curvatures: Array, gaps: Array, how: Any
    ) -> None:
        from setloss.solvers.kernels import hinge_epoch

        state, work = (W, self.slopes, self.offsets, gaps), np.empty((2, problem.n_tasks))
        data = (visits, problem.design.arrays, problem.maps, problem.surrogate.arrays[:3], problem.costs)
        hinge_epoch(*data, curvatures, self.gains, state, (work[0], work[1]))


def empty_dual_point(problem: Problem, capacity: int | None) -> ActiveCuts | BoundedSlopes:
    """The dual point zero, of the kind that the problem needs."""
    gains = _hinge_gains(problem)
    return ActiveCuts.none(problem, capacity) if gains is None else BoundedSlopes.none(problem, gains)


def _hinge_gains(problem: Problem) -> Array | None:
    """The largest slopes, by group and kind of bag, where B is a hinge per element, else None."""
    plans = problem.surrogate.plans
    if not isinstance(plans, Plans):
        return None
    records, lovasz = plans.records, plans.records["lovasz"]
    alone = (lovasz["kind"] == LINEAR) & (records["rescaled"]["kind"] == NONE) & (records["elementwise"] != 0)
    gains = lovasz["weight"] * np.stack([lovasz["false_negative"], lovasz["false_positive"]])
    return gains if np.all(alone) and gains.min() >= 0 else None
