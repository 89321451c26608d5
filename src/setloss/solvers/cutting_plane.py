"""One-slack cutting planes with line search: the reference solver, and the fastest for few features.

    min over W of   1/2 |W|^2 + max_k (b_k - <A_k, W>)_+

The risk is under-estimated by planes, each the sum of one cut per bag. An iteration solves the small dual
program over the planes, searches the line from the best W so far to its solution (margins are linear in W, so
that costs no pass over X), and adds the plane at a point between the two. Two passes over X an iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.solvers.active_planes import improved_weights
from setloss.solvers.loop import State
from setloss.solvers.master import ENOUGH, plane_bound, solve_master
from setloss.solvers.solution import Solution
from setloss.solvers.verification import agreeing, agreeing_planes, not_above
from setloss.typing import Array

STALL = 1e-3
"""An iteration that closes less of the gap than this share is followed by a cut at the solution of the program."""

PROGRAM_SHARE = 0.01
"""The program over the planes is solved to this share of the gap."""

IDLE_LIMIT = 30
"""A plane without weight for this many iterations is dropped."""

PER_PLANE = ("planes", "plane_offsets", "idle", "points", "multipliers", "ids")
"""The arrays of a state that have one row per plane."""


class Place(Protocol):
    """A point W where the risk is within reach."""

    @property
    def parameters(self) -> Array: ...

    @property
    def known(self) -> Array:
        """What a pass over X has found here and a checkpoint stores: the margins, or nothing."""
        ...

    def recalled(self, known: Array) -> Place:
        """The same point with what was known of it before, where that is right to rounding."""
        ...

    def risk(self) -> float:
        """R(W)."""
        ...

    def cut(self) -> tuple[float, Array]:
        """Offset b and flat slope A of a plane below the risk that touches it here: R(W') >= b - <A, W'>."""
        ...


class Line(Protocol):
    """The points between two places: 0 is where it starts, 1 where it ends."""

    def at(self, length: float) -> tuple[float, float]:
        """R and a slope of it along the line."""
        ...

    def place(self, length: float) -> Place:
        """The point at that length."""
        ...


class Reachable(Protocol):
    """What the method asks of a problem, in memory or not: the risk at a point and along a line."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the parameters."""
        ...

    def place(self, parameters: Array) -> Place:
        """A point, one pass over X."""
        ...

    def planes_at(self, points: Array) -> tuple[Array, Array]:
        """Offsets and flat slopes of the planes that touch the risk at the rows of `points`."""
        ...

    def line(self, start: Any, target: Array) -> Line:
        """The way from a place of this problem to other parameters, one pass over X."""
        ...


@dataclass
class PlaneState(State):
    """`place` is where the best point is, None until it is evaluated; `gram` holds the products of the planes."""

    place: Place | None = None
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))

    def arrays_replaced(self) -> None:
        self.place, self.gram = None, np.empty((0, 0))

    def stand_at(self, place: Place) -> None:
        """The place of the best point, from where the next line starts."""
        self.place = place
        self.arrays["margins"] = place.known


@dataclass(frozen=True)
class CuttingPlane:
    """`overshoot` is how far beyond the best point, towards the solution of the program, the next cut is taken."""

    overshoot: float = 0.1
    line_steps: int = 5

    @property
    def name(self) -> str:
        return "cutting_plane"

    def start(self, problem: Reachable, warm: Solution | None) -> PlaneState:
        best = np.zeros(problem.shape)
        if warm is not None and warm.parameters.shape == problem.shape:
            best = warm.parameters.copy()
        state = PlaneState(no_planes(problem), best=best)
        place = problem.place(best)
        state.stand_at(place)
        state.offer_primal(best, objective_at(best, place.risk()))
        state.passes += 1
        return state

    def verify(self, problem: Reachable, state: PlaneState) -> None:
        """Cut every plane again where it touched the risk; both values from there."""
        arrays = state.arrays
        claimed = arrays["plane_offsets"], arrays["planes"]
        offsets, planes = agreeing_planes(claimed, problem.planes_at(arrays["points"]))
        arrays.update(plane_offsets=offsets, planes=planes)
        state.dual = not_above(state.dual, plane_bound(planes, offsets, arrays["multipliers"]))
        place, nothing = problem.place(state.best).recalled(arrays["margins"]), problem.place(np.zeros(problem.shape))
        value, at_nothing = (objective_at(each.parameters, each.risk()) for each in (place, nothing))
        if value > at_nothing:  # no run has kept such a point, and lines from far away lose digits
            place, value, state.best = nothing, at_nothing, nothing.parameters
        state.primal = agreeing(state.primal, value)
        state.stand_at(place)

    def step(self, problem: Reachable, state: PlaneState, tol: float) -> None:
        where = state.place or problem.place(state.best)
        if len(state.arrays["planes"]):
            before = state.primal - state.dual
            line = problem.line(where, self._solve(problem, state))
            state.passes += 1
            where = self._search(state, line)
            if np.isfinite(before) and state.primal - state.dual > (1 - STALL) * before:
                where = line.place(1.0)  # cut off the solution itself, or nothing may ever move again
        self._extend(problem, state, where)

    def _extend(self, problem: Any, state: PlaneState, where: Place) -> None:
        """Add the plane that touches the risk there."""
        offset, plane = where.cut()
        self._add(state, plane, offset, where.parameters)
        state.passes += 1

    def finish(self, problem: Reachable, state: PlaneState) -> None:
        """Nothing is pending between two iterations."""

    def _add(self, state: PlaneState, plane: Array, offset: float, point: Array) -> None:
        """One more plane, and the point where it touches the risk."""
        arrays = state.arrays
        rows = {"planes": plane, "plane_offsets": offset, "idle": 0, "points": point.ravel(), "multipliers": 0.0}
        arrays.update({name: np.concatenate((arrays[name], np.array([row]))) for name, row in rows.items()})

    def _solve(self, problem: Reachable, state: PlaneState) -> Array:
        """The program over the planes: offers its dual value and returns its W."""
        arrays = state.arrays
        planes, offsets = arrays["planes"], arrays["plane_offsets"]
        gap, highest = state.primal - state.dual, float(np.abs(offsets).max())
        accuracy = max(PROGRAM_SHARE * gap, 1e-12 * highest) if np.isfinite(gap) else ENOUGH * highest
        found = improved_weights(arrays["multipliers"], self._gram(state), offsets, accuracy)
        if found is None:
            weights, target = solve_master(planes, offsets, np.zeros(len(offsets), dtype=np.intp))
        else:
            weights, target = found, found @ planes
        image = weights @ planes
        state.offer_dual(float(weights @ offsets) - 0.5 * float(image @ image))
        arrays["multipliers"] = weights
        arrays["idle"] = np.where(weights > 1e-10 * weights.max(), 0, arrays["idle"] + 1)
        kept = arrays["idle"] <= IDLE_LIMIT
        if not kept.all():
            keep_planes(arrays, kept)
            state.gram = state.gram[np.ix_(kept, kept)]
        return np.asarray(target.reshape(problem.shape))

    def _gram(self, state: PlaneState) -> Array:
        """The products of all planes: row after row, so that a run that resumes has the same digits."""
        planes, known = state.arrays["planes"], state.gram
        gram = np.empty((len(planes), len(planes)))
        gram[: len(known), : len(known)] = known
        for k in range(len(known), len(planes)):
            gram[k, : k + 1] = gram[: k + 1, k] = np.einsum("kj,j->k", planes[: k + 1], planes[k])
        state.gram = gram
        return gram

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
        state.stand_at(line.place(best_length))
        return line.place(best_length + self.overshoot * (1 - best_length))


def objective_at(parameters: Array, risk: float) -> float:
    """P(W) from R(W)."""
    return 0.5 * float(np.vdot(parameters, parameters)) + risk


def keep_planes(arrays: dict[str, Any], kept: NDArray[np.bool_]) -> None:
    """Drop all planes but these."""
    arrays.update({name: arrays[name][kept] for name in PER_PLANE if name in arrays})


def no_planes(problem: Reachable) -> dict[str, Any]:
    """The arrays of a state without any plane."""
    size = int(np.prod(problem.shape))
    return {
        "planes": np.empty((0, size)),
        "plane_offsets": np.empty(0),
        "idle": np.empty(0, dtype=np.int64),
        "points": np.empty((0, size)),
        "multipliers": np.empty(0),
        "margins": np.empty(0),
    }
