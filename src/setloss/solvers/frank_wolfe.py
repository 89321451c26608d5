"""Block-coordinate ascent on the dual, one block per bag (block-coordinate Frank-Wolfe): the main solver.

    max over (o, sigma) of   D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2

One iteration is an epoch: bags are visited in random order, those whose gap is large more often. A visit reads the
margins of a bag and improves its dual point (`setloss.solvers.kernels`). The gap is a true one: when the visits
suggest that it is reached, all margins and W are computed afresh and both objectives compared.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.plans.records import LINEAR, NONE, Plans
from setloss.solvers.deadline import check_time
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, State, Status, relative_gap
from setloss.typing import Array

_log = logging.getLogger(__name__)

Visits = NDArray[np.int64]

MOST_CUTS, FEWEST_CUTS = 64, 4
"""Maximum number of active cuts per bag, and of bags short of memory."""

CUT_MEMORY = 2**25
"""Numbers that the cuts may take (256 MiB), unless `FEWEST_CUTS` per bag take more."""

BAGS_AT_ONCE = 2**12
"""Bags that are moved between two looks at the clock."""

MUCH_MEMORY = 1e9
"""Bytes from which on a warning is logged."""

STEPS = 20
"""Maximum number of cuts that a visit asks for."""


@dataclass
class ActiveCuts:
    """The active cuts of every bag with their weights. `atoms` has their slopes, bag after bag."""

    slopes: Array
    offsets: Array
    atoms: Array
    atom_offsets: Array
    weights: Array
    counts: NDArray[np.int64]

    @classmethod
    def none(cls, problem: Problem, capacity: int | None) -> ActiveCuts:
        """The zero cut for every bag, with room for `capacity` cuts, by default p + 2 where memory allows."""
        n, size = problem.n_bags, len(problem.signs)
        if capacity is None:
            room = int(np.clip(CUT_MEMORY // max(size, 1), FEWEST_CUTS, MOST_CUTS))
            capacity = min(room, int(problem.surrogate.bags.sizes.max()) + 2)
        _check_memory(8 * size * (capacity + 4), size)
        weights = np.zeros((n, capacity))
        weights[:, 0] = 1.0
        atoms, atom_offsets = np.zeros(size * capacity), np.zeros((n, capacity))
        return cls(np.zeros(size), np.zeros(n), atoms, atom_offsets, weights, np.ones(n, dtype=np.int64))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.slopes, self.offsets, self.atoms, self.atom_offsets, self.weights, self.counts

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

    def curvatures(self, problem: Problem) -> Array:
        """A number per bag that is no less than <way, K way> / |way|^2: |x|^2 of a label set, a sum over frames."""
        norms = problem.design.squared_norms()[problem.rows]
        return norms if problem.n_tasks > 1 else problem.surrogate.bags.totals(norms)

    def visit(self, problem: Problem, visits: Visits, W: Array, curvatures: Array, gaps: Array, how: Any) -> None:
        """Improve the given bags in turn, and W = W(sigma), features x labels, with them."""
        from setloss.solvers.kernels import epoch

        data = (visits, problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        work = (np.empty(problem.n_tasks), *self._room(problem))
        epoch(*data, curvatures, (W, *self.arrays, gaps), how.inner_steps or STEPS, how.shrink, work)

    def move_to_points(self, problem: Problem, margins: Array, centre: Array, mu: float, how: Any) -> None:
        """Move all bags towards their proximal points at the margins, from the cuts they have."""
        from setloss.solvers.kernels import move_to_points

        data, room = problem.surrogate.kernel_data, self._room(problem)
        for start in range(0, problem.n_bags, BAGS_AT_ONCE):
            check_time()
            some = np.arange(start, min(start + BAGS_AT_ONCE, problem.n_bags))
            move_to_points(some, data, margins, centre, mu, self.arrays, how.inner_steps, how.shrink, room)

    def _room(self, problem: Problem) -> tuple[Any, ...]:
        widest, cuts = int(problem.surrogate.bags.sizes.max()), self.weights.shape[1]
        return (
            *np.empty((5, widest)),
            np.empty(widest, dtype=bool),
            *np.empty((2, cuts, cuts)),
            *np.empty((2, cuts)),
        )


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

    def copy(self) -> BoundedSlopes:
        return BoundedSlopes(self.slopes.copy(), self.offsets.copy(), self.gains)

    def like(self, other: Any) -> bool:
        return isinstance(other, BoundedSlopes) and other.slopes.shape == self.slopes.shape

    def start_at(self, problem: Problem, slopes: Array, offsets: Array) -> None:
        self.slopes[:], self.offsets[:] = slopes, offsets

    def recombine(self, problem: Problem) -> None:
        self.offsets[:] = problem.surrogate.bags.totals(self.slopes)

    def curvatures(self, problem: Problem) -> Array:
        """|x|^2 of every row."""
        return problem.design.squared_norms()

    def visit(self, problem: Problem, visits: Visits, W: Array, curvatures: Array, gaps: Array, how: Any) -> None:
        from setloss.solvers.kernels import hinge_epoch

        state, work = (W, self.slopes, self.offsets, gaps), np.empty((2, problem.n_tasks))
        data = (visits, problem.design.arrays, problem.maps, problem.surrogate.arrays[:3], problem.costs)
        hinge_epoch(*data, curvatures, self.gains, state, (work[0], work[1]))

    def move_to_points(self, problem: Problem, margins: Array, centre: Array, mu: float, how: Any) -> None:
        from setloss.solvers.kernels import hinge_points

        check_time()
        hinge_points(problem.surrogate.arrays[:3], margins, centre, mu, self.gains, self.slopes, self.offsets)


def _check_memory(needed: int, elements: int) -> None:
    """Before work starts: say that a problem is large, and refuse one that the memory of this machine cannot hold."""
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not known on this system
        memory = np.inf
    if needed <= min(MUCH_MEMORY, memory):
        return
    sentence = (
        f"{elements} frames or labels of all sets need {needed / 1e9:.1f} GB in this solver, this machine has "
        f"{memory / 1e9:.1f} GB"
    )
    remedy = 'take fewer sets or labels, operator="hinge", or solver="cutting_plane"'
    if needed > memory:
        raise MemoryError(f"{sentence}: {remedy}")
    _log.warning("%s. For less, %s", sentence, remedy)


def first_dual_point(
    problem: Problem, capacity: int | None, warm: Solution | None, *kinds: type[State]
) -> ActiveCuts | BoundedSlopes:
    """The dual point of an earlier solution with a state of these kinds and the same surrogates, else zero."""
    gains = hinge_gains(problem)
    cuts: ActiveCuts | BoundedSlopes
    cuts = ActiveCuts.none(problem, capacity) if gains is None else BoundedSlopes.none(problem, gains)
    if warm is not None and isinstance(warm.state, kinds):
        known: ActiveCuts | BoundedSlopes = warm.state.cuts  # type: ignore[attr-defined]
        if cuts.like(known) and problem.surrogate.same_as(warm.surrogate):
            return known if warm.status is Status.STALLED else known.copy()  # who stalled has no more use for it
    return cuts


def hinge_gains(problem: Problem) -> Array | None:
    """The largest slopes, by group and kind of bag, where B is a hinge per element, else None."""
    plans = problem.surrogate.plans
    if not isinstance(plans, Plans):
        return None
    records, lovasz = plans.records, plans.records["lovasz"]
    alone = (lovasz["kind"] == LINEAR) & (records["rescaled"]["kind"] == NONE) & (records["elementwise"] != 0)
    gains = lovasz["weight"] * np.stack([lovasz["false_negative"], lovasz["false_positive"]])
    return gains if np.all(alone) and gains.min() >= 0 else None


@dataclass
class FrankWolfeState(State):
    """W = W(sigma) of the dual point, and the gap of every bag.

    `noted` is an epoch and the gap after it, from which the fall of the gap is predicted; `curvatures` are those of
    the blocks, computed from the problem.
    """

    parameters: Array = field(kw_only=True)
    cuts: ActiveCuts | BoundedSlopes = field(kw_only=True)
    gaps: Array = field(kw_only=True)
    noted: tuple[int, float] = (0, 1.0)
    curvatures: Array | None = None

    def dual_slopes(self) -> Array:
        return self.cuts.slopes

    def drop_caches(self) -> None:
        self.curvatures = None


@dataclass(frozen=True)
class FrankWolfe:
    """Configuration of the solver; the defaults suit both frames and labels.

    A visit takes up to `inner_steps` steps, or until the gap of the bag is down to `shrink` times what it was; a bag
    keeps up to `capacity` active cuts. The chance of a bag to be visited in an epoch is `eagerness` times its share
    of the gap.
    """

    inner_steps: int | None = None
    capacity: int | None = None
    shrink: float = 0.2
    eagerness: float = 4.0
    check_every: int = 5
    random_state: int = 0

    @property
    def name(self) -> str:
        return "frank_wolfe"

    def start(self, problem: Problem, warm: Solution | None) -> FrankWolfeState:
        cuts = first_dual_point(problem, self.capacity, warm, FrankWolfeState)
        parameters = problem.parameters(cuts.slopes)
        gaps = np.full(problem.n_bags, np.inf)
        state = FrankWolfeState(parameters.copy(), parameters=parameters, cuts=cuts, gaps=gaps)
        if warm is not None and warm.state is None and warm.parameters.shape == problem.shape:
            self._start_at(problem, state, warm.parameters)
        return state

    def _start_at(self, problem: Problem, state: FrankWolfeState, parameters: Array) -> None:
        """Offer W itself, and begin with the cuts at W, each of the weight that raises the dual most."""
        found = problem.cuts(problem.margins(parameters))
        state.offer_primal(parameters, problem.primal(parameters, found.values))
        slopes = np.asarray(found.slopes)
        image, rise = problem.parameters(slopes), float(problem.costs @ found.offsets)
        curvature = float(np.vdot(image, image))
        weight = float(np.clip(rise / curvature, 0.0, 1.0)) if curvature > 0 else 0.0
        state.cuts.start_at(problem, weight * slopes, weight * found.offsets)
        state.parameters = weight * image
        state.passes += 2

    def step(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        self._epoch(problem, state)
        estimate = float(problem.costs @ state.gaps)
        reference = max(problem.dual(state.parameters, state.cuts.offsets), 0.0)
        due = (state.iteration + 1) % self.check_every == 0
        if due or estimate <= 2 * tol * (reference + estimate):
            self._measure(problem, state, tol)

    def _epoch(self, problem: Problem, state: FrankWolfeState) -> None:
        """Visit the bags once."""
        if state.curvatures is None:
            state.curvatures = state.cuts.curvatures(problem)
        visits = self._visits(state.gaps, state.iteration)
        W = np.ascontiguousarray(state.parameters.T)  # visits read W by features, label after label
        state.parameters = W.T
        for some in np.array_split(visits, min(32, 1 + len(visits) // 128)):
            check_time()
            state.cuts.visit(problem, some, W, state.curvatures, state.gaps, self)
        bags = problem.surrogate.bags
        state.passes += 2 * float(bags.sizes[visits].sum()) / bags.elements

    def finish(self, problem: Problem, state: FrankWolfeState) -> None:
        """Measure the last epochs."""
        self._measure(problem, state, tol=np.inf)

    def _visits(self, gaps: Array, iteration: int) -> Visits:
        """Every bag once at first; then those that hold nearly all of the gap, in random order."""
        generator = np.random.default_rng([self.random_state, iteration])
        if not np.all(np.isfinite(gaps)):
            return generator.permutation(len(gaps))
        chance = np.minimum(1.0, self.eagerness * gaps / max(float(gaps.mean()), 1e-300)) + 0.05
        return generator.permutation(np.flatnonzero(generator.random(len(gaps)) < chance))

    def _measure(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        """True primal and dual values, and the gap of every bag at one and the same W."""
        margins = problem.margins(state.parameters)
        heights = state.cuts.offsets - problem.products(state.cuts.slopes, margins)
        values = problem.cuts(margins, consume=True).values
        state.gaps[:] = np.maximum(values - heights, 0.0)
        state.passes += 1
        state.offer_primal(state.parameters, problem.primal(state.parameters, values))
        dual = problem.dual(state.parameters, state.cuts.offsets)
        if relative_gap(state.primal, dual) <= tol:
            # Certify the answer: the dual point afresh from its cuts, and W afresh from the dual point.
            state.cuts.recombine(problem)
            state.parameters = problem.parameters(state.cuts.slopes)
            state.passes += 1
            dual = problem.dual(state.parameters, state.cuts.offsets)
        state.offer_dual(dual)
