"""Cutting planes, with one slack variable for all bags and with one per bag.

`CuttingPlane` has one, and a line search: the reference solver, and the fastest for few features.

    min over W of   1/2 |W|^2 + max_k (b_k - <A_k, W>)_+

The risk is under-estimated by planes, each the sum of one cut per bag. An iteration solves the small dual
program over the planes, searches the line from the best W so far to its solution (margins are linear in W, so
that costs no pass over X), and adds the plane at a point between the two. Two passes over X an iteration.

`NSlack` is Algorithm 1 of the paper.

    min over (W, xi) of   1/2 |W|^2 + sum_i c_i xi_i     subject to   xi_i >= o - <sigma, m_i(W)>  for all cuts in S^i

As printed, line 10 adds the label y_i to the working set; what is meant is the violated cut. Its slack test of
line 9 uses the most violated cut already in S^i. Faithful and readable rather than fast: every plane is a dense
vector and the program grows with their number.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.plans.records import BatchCuts
from setloss.solvers.plane_qp import ENOUGH, improved_weights, solve_plane_qp
from setloss.solvers.problem import Problem, objective_at
from setloss.solvers.solution import Solution, State, starting_point
from setloss.typing import Array

PROGRAM_SHARE = 0.01
"""The program over the planes is solved to this share of the gap."""

IDLE_LIMIT = 30
"""A plane without weight for this many iterations is dropped."""


class Place(Protocol):
    """A point W where the risk is within reach."""

    @property
    def parameters(self) -> Array: ...

    def risk(self) -> float: ...

    def cut(self) -> tuple[float, Array]:
        """Offset b and flat slope A of a plane below the risk that touches it here: R(W') >= b - <A, W'>."""
        ...


class Line(Protocol):
    """The points between two places: 0 is where it starts, 1 where it ends."""

    def at(self, length: float) -> tuple[float, float]:
        """R and a slope of it along the line."""
        ...

    def place(self, length: float) -> Place: ...


class Reachable(Protocol):
    """The problem, in memory or not: the risk at a place, and along the line from one to other parameters."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def place(self, parameters: Array) -> Place: ...

    def line(self, start: Any, target: Array) -> Line: ...


@dataclass
class PlaneState(State):
    """The planes, one per row, with their offsets, multipliers, products and iterations without weight.

    `memory` holds the planes and grows by half; `place` is the best point, where the next line starts.
    """

    memory: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    offsets: Array = field(default_factory=lambda: np.empty(0))
    multipliers: Array = field(default_factory=lambda: np.empty(0))
    idle: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    place: Place | None = None

    @property
    def planes(self) -> Array:
        return self.memory[: len(self.offsets)]

    def add(self, plane: Array, offset: float) -> None:
        """One more plane, without weight."""
        size = len(self.offsets)
        if size == len(self.memory):
            before, self.memory = self.memory, np.empty((size + size // 2 + 4, plane.size))
            self.memory[:size] = before.reshape(size, plane.size)
        self.memory[size] = plane
        self.offsets = np.append(self.offsets, offset)
        self.multipliers, self.idle = np.append(self.multipliers, 0.0), np.append(self.idle, 0)
        gram = np.empty((size + 1, size + 1))
        gram[:size, :size] = self.gram
        gram[size] = gram[:, size] = np.einsum("kj,j->k", self.planes, plane)
        self.gram = gram

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all planes but these; the last ones take the places of those that go."""
        left = int(np.count_nonzero(kept))
        gone, last = np.flatnonzero(~kept[:left]), left + np.flatnonzero(kept[left:])
        self.memory[gone] = self.memory[last]
        order = np.arange(left)
        order[gone] = last
        self.offsets, self.multipliers, self.idle = self.offsets[order], self.multipliers[order], self.idle[order]
        self.gram = self.gram[np.ix_(order, order)]

    def solve_program(self) -> Array:
        """The program over the planes: offers its dual value and returns its W, flat."""
        offsets, highest = self.offsets, float(np.abs(self.offsets).max())
        gap = self.primal - self.dual
        accuracy = max(PROGRAM_SHARE * gap, 1e-12 * highest) if np.isfinite(gap) else ENOUGH * highest
        weights = improved_weights(self.multipliers, self.gram, offsets, accuracy)
        target = None if weights is None else weights @ self.planes
        if weights is None:
            weights, target = solve_plane_qp(self.planes, offsets, np.zeros(len(offsets), dtype=np.intp))
        image = weights @ self.planes
        self.offer_dual(float(weights @ offsets) - 0.5 * float(image @ image))
        self.multipliers = weights
        self.idle = np.where(weights > 1e-10 * weights.max(), 0, self.idle + 1)
        kept = self.idle <= IDLE_LIMIT
        if not kept.all():
            self.keep(kept)
        return np.asarray(target)

    def drop_caches(self) -> None:
        self.place = None


@dataclass(frozen=True)
class CuttingPlane:
    """`overshoot` is how far beyond the best point, towards the solution of the program, the next cut is taken.

    Examples
    --------
    >>> CuttingPlane(line_steps=3)  # given to `solve` in place of the name
    CuttingPlane(overshoot=0.1, line_steps=3)
    """

    overshoot: float = 0.1
    line_steps: int = 5

    def start(self, problem: Reachable, warm: Solution | None) -> PlaneState:
        best = starting_point(warm, problem.shape)
        place = problem.place(best)
        state = PlaneState(best, place=place)
        state.offer_primal(best, objective_at(best, place.risk()))
        state.passes += 1
        return state

    def step(self, problem: Reachable, state: PlaneState, tol: float) -> None:
        where = state.place or problem.place(state.best)
        if len(state.planes):
            line = problem.line(where, state.solve_program().reshape(problem.shape))
            state.passes += 1
            where = self._search(state, line)
        offset, plane = where.cut()
        state.add(plane, offset)
        state.passes += 1

    def finish(self, problem: Reachable, state: PlaneState) -> None:
        """Nothing is pending between two iterations."""

    def _search(self, state: PlaneState, line: Line) -> Place:
        """Move the best point along the line to the solution of the program; returns where to cut.

        P along the line is convex: bisection on the sign of its slope, which the cuts give.
        """
        start, end = line.place(0.0).parameters, line.place(1.0).parameters
        way = end - start
        low, high, length = 0.0, 1.0, 1.0
        best_length = 0.0
        for _ in range(self.line_steps):
            point = end if length == 1.0 else start + length * way
            risk, slope = line.at(length)
            value = objective_at(point, risk)
            if value < state.primal:
                state.offer_primal(point, value)
                best_length = length
            if float(np.vdot(point, way)) + slope <= 0:
                low = length
            else:
                high = length
            if low >= 1.0:
                break
            length = 0.5 * (low + high)
        state.place = line.place(best_length)
        return line.place(best_length + self.overshoot * (1 - best_length))


@dataclass
class NSlackState(State):
    """W, and the working sets S^i of all bags: planes, offsets and the bag of each."""

    parameters: Array = field(default_factory=lambda: np.empty((0, 0)))
    planes: Array = field(default_factory=lambda: np.empty((0, 0)))
    offsets: Array = field(default_factory=lambda: np.empty(0))
    bags: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))


@dataclass(frozen=True)
class NSlack:
    """One iteration is one run of lines 4 to 13 over all bags.

    The program of line 11 is solved once per run, or after every `reoptimise_after` new cuts; 1 is as printed.

    Examples
    --------
    >>> NSlack(reoptimise_after=1)  # given to `solve` in place of the name
    NSlack(reoptimise_after=1)
    """

    reoptimise_after: int | None = None

    def start(self, problem: Problem, warm: Solution | None) -> NSlackState:
        parameters = starting_point(warm, problem.shape)
        planes = np.empty((0, parameters.size))  # Alg. 1, line 2: S^i = empty
        return NSlackState(parameters.copy(), parameters=parameters, planes=planes)

    def step(self, problem: Problem, state: NSlackState, tol: float) -> None:
        cuts = problem.cuts(problem.margins(state.parameters))
        state.passes += 1
        state.offer_primal(state.parameters, objective_at(state.parameters, float(problem.costs @ cuts.values)))
        epsilon = tol * state.primal / (2 * float(problem.costs.sum()))
        slack = self._slack(problem, state)
        fresh, before = 0, len(state.bags)
        for i in range(problem.n_bags):  # Alg. 1, line 4
            if self.reoptimise_after is not None and fresh >= self.reoptimise_after:
                self._optimise(problem, state)
                cuts = problem.cuts(problem.margins(state.parameters))
                slack, fresh = self._slack(problem, state), 0
                state.passes += 1
            if cuts.values[i] > slack[i] + epsilon:  # Alg. 1, lines 5 to 9: L and S parts in one cut
                self._add(problem, state, i, cuts)  # line 10, as meant
                fresh += 1
        if len(state.bags) == before and np.isfinite(state.dual):
            state.stalled = True  # Alg. 1, line 14: no S^i has changed
        self._optimise(problem, state)  # Alg. 1, line 11

    def finish(self, problem: Problem, state: NSlackState) -> None:
        """The last program may have found a better W."""
        state.offer_primal(state.parameters, problem.objective(state.parameters))

    def _slack(self, problem: Problem, state: NSlackState) -> Array:
        """xi_i = the largest of 0 and the cuts in S^i at the current W."""
        heights = state.offsets - state.planes @ state.parameters.ravel()
        slack = np.zeros(problem.n_bags)
        np.maximum.at(slack, state.bags, heights)
        return slack

    def _add(self, problem: Problem, state: NSlackState, bag: int, cuts: BatchCuts) -> None:
        """The cut of one bag, as a function of W, into its working set."""
        full = np.zeros(len(problem.signs))
        lo, hi = problem.surrogate.bags.offsets[bag : bag + 2]
        full[lo:hi] = cuts.slopes[lo:hi] / problem.costs[bag]
        state.planes = np.vstack([state.planes, problem.parameters(full).ravel()])
        state.offsets = np.append(state.offsets, cuts.offsets[bag])
        state.bags = np.append(state.bags, bag)

    def _optimise(self, problem: Problem, state: NSlackState) -> None:
        if len(state.planes) == 0:
            state.parameters = np.zeros(problem.shape)
            state.offer_dual(0.0)
            return
        costs = problem.costs[state.bags]
        planes, offsets = costs[:, None] * state.planes, costs * state.offsets
        weights, parameters = solve_plane_qp(planes, offsets, state.bags)
        image = weights @ planes
        state.offer_dual(float(weights @ offsets) - 0.5 * float(image @ image))
        state.parameters = parameters.reshape(problem.shape)
