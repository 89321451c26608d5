"""Dual points, which Frank-Wolfe and ADMM improve: one convex combination of cuts (o_i, sigma_i) per bag.

`ActiveCuts` keeps the cuts that a combination is made of and their weights; where B is a hinge per element it needs
none. It knows which elements are active. The others are at rest: their slopes are at a bound and their margins far on
its side, so that they are not visited until `rest` looks at all of them again.
"""

import os
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from setloss.plans.build import PythonPlans
from setloss.plans.records import LINEAR, NONE, TVERSKY_SUBMODULAR, BatchCuts, Plans
from setloss.solvers.kernel_arrays import Active, Combination, ElementMaps, VisitSpace
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, State, Status
from setloss.typing import Array

Visits = NDArray[np.int64]

MOST_CUTS, FEWEST_CUTS = 64, 12
"""Maximum number of active cuts per bag, and of bags short of memory."""

CUT_MEMORY = 2**25
"""Numbers that the cuts may take (256 MiB), unless `FEWEST_CUTS` per bag take more."""

REACH = 0.05
"""Distance of a margin from those that matter at which its element is at rest; a hinge has its corner at 1."""

FEW_ELEMENTS = 16
"""Bags of up to this many elements have all of them visited."""


@dataclass
class ActiveCuts:
    """The active cuts of every bag with their weights, and its active elements."""

    point: Combination
    active: Active

    @classmethod
    def none(cls, problem: Problem) -> Self:
        """The zero cut for every bag, with memory for p + 2 cuts where there is as much."""
        n, size, hinge = problem.n_bags, len(problem.signs), is_hinge(problem)
        most = int(np.clip(CUT_MEMORY // max(size, 1), FEWEST_CUTS, MOST_CUTS))
        capacity = 1 if hinge else min(most, int(problem.surrogate.bags.sizes.max()) + 2)
        _check_memory(8 * size * (capacity + 4), size)
        weights, counts = np.zeros((n, capacity)), np.ones(n, dtype=np.int64)
        weights[:, 0] = 1.0
        atoms = np.zeros(0 if hinge else size * capacity)
        point = Combination(hinge, np.zeros(size), np.zeros(n), atoms, np.zeros((n, capacity)), weights, counts)
        sizes = problem.surrogate.bags.sizes
        every = np.arange(sizes.max(initial=0), dtype=np.int32)
        return cls(point, Active(np.empty(size, dtype=np.int32), sizes.astype(np.int64), every))

    @property
    def slopes(self) -> Array:
        return self.point.slopes

    @property
    def offsets(self) -> Array:
        return self.point.offsets

    def start_at(self, problem: Problem, slopes: Array, offsets: Array) -> None:
        """Make one point the only cut of every bag; all elements are active."""
        self.slopes[:], self.offsets[:], self.point.atom_offsets[:, 0] = slopes, offsets, offsets
        if self.point.hinge:
            return
        bags = problem.surrogate.bags
        blocks = (self.point.weights.shape[1] - 1) * np.repeat(bags.offsets[:-1], bags.sizes)
        self.point.atoms[np.arange(len(slopes)) + blocks] = slopes

    def rest(self, problem: Problem, bags: slice, margins: Array, cuts: BatchCuts) -> None:
        """Choose the active elements of neighbouring bags at their margins and the cuts there.

        Active are those with a slope, in the cut of the bag or in any cut that its point is made of, and all whose
        margins are less than `REACH` above the margin of one of these; for a hinge see `choose_active_of_hinge`.
        """
        from setloss.solvers.visits import choose_active, choose_active_of_hinge

        widest = int(problem.surrogate.bags.sizes.max())
        if self.point.hinge:
            choose_active_of_hinge(problem.surrogates, margins, REACH, self.slopes, self.active)
        elif widest > FEW_ELEMENTS:
            data, kept = problem.surrogates, _groups_kept(problem.surrogate.plans)
            own = margins, cuts.slopes, REACH, self.point, self.active
            choose_active(bags.start, bags.stop, data, kept, *own, widest)

    def visit(self, problem: Problem, visits: Visits, W: Array, curvatures: Array, gaps: Array, how: Any) -> None:
        """Improve the given bags in turn, and W = W(sigma), features x labels, with them."""
        from setloss.solvers.visits import epoch

        maps = ElementMaps(problem.rows, problem.tasks, problem.signs)
        data = problem.design.arrays, maps, problem.surrogates, problem.costs
        own = self.point, self.active, gaps, how.inner_steps, how.shrink
        epoch(visits, *data, curvatures, W, *own, self._space(problem))

    def move_to_points(
        self, problem: Problem, bags: slice, margins: Array, centre: Array, mu: float, relaxation: float, how: Any
    ) -> tuple[Array, Array]:
        """Move neighbouring bags to their proximal points at the margins of their elements, then the centre of all.

        Returns the slopes of the points, which are not kept for a hinge, and three sums; see the kernel.
        """
        from setloss.solvers.visits import move_to_points

        slopes, sums = np.empty_like(margins), np.zeros(3)
        data = problem.surrogates, problem.costs, self.point, self.active
        own = margins, centre, mu, relaxation, how.inner_steps, how.shrink, slopes, sums
        move_to_points(bags.start, bags.stop, *data, self._space(problem), *own)
        return slopes, sums

    def _space(self, problem: Problem) -> VisitSpace:
        """The workspace of visits."""
        widest, capacity = int(problem.surrogate.bags.sizes.max()), self.point.weights.shape[1]
        chosen, groups, labels = (np.empty(widest, dtype=dtype) for dtype in (np.bool_, np.int16, np.int64))
        corral = *np.empty((2, capacity, capacity)), *np.empty((3, capacity))
        margins, centre, point, shifted, slope = np.empty((5, widest))
        elements = margins, centre, point, shifted, slope, groups, chosen, labels
        return VisitSpace(*elements, np.empty(problem.n_tasks), corral)


def _groups_kept(plans: Plans | PythonPlans) -> NDArray[np.int64]:
    """How many groups stay active in all bags of a kind, the first ones.

    An L without element-wise positive part is no minorant with slopes 0 for some elements, unless f has its last
    value without these. The f of Dice and its like has it where all positives are mistakes.
    """
    assert isinstance(plans, Plans)
    kinds = plans.records["lovasz"]["kind"]
    free = (plans.records["elementwise"] != 0) | (kinds == NONE)
    every = np.where(kinds == TVERSKY_SUBMODULAR, 1, plans.records["axes"])
    return np.where(free, 0, every).astype(np.int64)


def _check_memory(needed: int, elements: int) -> None:
    """Before work starts, refuse a problem that the memory of this machine cannot hold."""
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not known on this system
        return
    if needed > memory:
        raise MemoryError(
            f"{elements} frames or labels of all sets need {needed / 1e9:.1f} GB in this solver, this machine has "
            f'{memory / 1e9:.1f} GB: take fewer sets or labels, operator="hinge", or solver="cutting_plane"'
        )


def first_dual_point(problem: Problem, warm: Solution | None, *kinds: type[State]) -> ActiveCuts:
    """The dual point of an earlier solution with a state of these kinds and the same surrogates, else zero."""
    cuts = ActiveCuts.none(problem)
    if warm is not None and isinstance(warm.state, kinds):
        known: ActiveCuts = warm.state.cuts  # type: ignore[attr-defined]
        if cuts.point.weights.shape == known.point.weights.shape and problem.surrogate.same_as(warm.surrogate):
            return known if warm.status is Status.STALLED else deepcopy(known)  # who stalled has no more use for it
    return cuts


def is_hinge(problem: Problem) -> bool:
    """Whether B is ``sum_e largest_e (1 - m_e)_+``: slopes from 0 to the largest, and offsets their sums."""
    plans = problem.surrogate.plans
    if not isinstance(plans, Plans):
        return False
    records, lovasz = plans.records, plans.records["lovasz"]
    alone = (lovasz["kind"] == LINEAR) & (records["rescaled"]["kind"] == NONE) & (records["elementwise"] != 0)
    largest = lovasz["weight"] * np.minimum(lovasz["false_negative"], lovasz["false_positive"])
    return bool(np.all(alone & (largest >= 0)))
