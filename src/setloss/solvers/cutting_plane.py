"""One-slack cutting planes with line search: the reference solver, and the fastest for few features.

    min over W of   1/2 |W|^2 + max_k (b_k - <A_k, W>)_+

The risk is under-estimated by planes, each the sum of one cut per bag. An iteration solves the small dual
program over the planes, searches the line from the best W so far to its solution (margins are linear in W, so
that costs no pass over X), and adds the plane at a point between the two. Two passes over X an iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.lattice import Array
from setloss.solvers.loop import State
from setloss.solvers.master import solve_master
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution

IDLE_LIMIT = 30
"""A plane without weight for this many iterations is dropped."""


@dataclass(frozen=True)
class CuttingPlane:
    """`overshoot` is how far beyond the best point, towards the solution of the program, the next cut is taken."""

    overshoot: float = 0.1
    line_steps: int = 5

    @property
    def name(self) -> str:
        return "cutting_plane"

    def start(self, problem: Problem, warm: Solution | None) -> State:
        best = np.zeros(problem.shape)
        if warm is not None and warm.parameters.shape == problem.shape:
            best = warm.parameters.copy()
        state = State(no_planes(problem), best=best)
        self._evaluate(problem, state)
        state.passes += 1
        return state

    def step(self, problem: Problem, state: State, tol: float) -> None:
        if "best_margins" not in state.derived:
            self._evaluate(problem, state)
        if len(state.arrays["planes"]):
            target = self._solve(problem, state)
            margins = problem.margins(target)
            state.passes += 1
            cut_at = self._search(problem, state, target, margins)
        else:
            cut_at = state.derived["best_margins"]
        cuts = problem.cuts(cut_at)
        self._add(state, problem.parameters(np.asarray(cuts.slopes)).ravel(), float(problem.costs @ cuts.offsets))
        state.passes += 1

    def finish(self, problem: Problem, state: State) -> None:
        """Nothing is pending between two iterations."""

    def _evaluate(self, problem: Problem, state: State) -> None:
        margins = problem.margins(state.best)
        state.derived["best_margins"] = margins
        state.offer_primal(state.best, problem.primal(state.best, problem.cuts(margins).values))

    def _add(self, state: State, plane: Array, offset: float) -> None:
        arrays = state.arrays
        gram = state.derived.get("gram")
        planes = arrays["planes"]
        if gram is None:
            gram = planes @ planes.T
        row = planes @ plane
        state.derived["gram"] = np.block([[gram, row[:, None]], [row[None, :], np.array([[plane @ plane]])]])
        grown = {
            "planes": np.vstack([planes, plane]),
            "plane_offsets": np.append(arrays["plane_offsets"], offset),
            "idle": np.append(arrays["idle"], 0),
        }
        arrays.update(grown)

    def _solve(self, problem: Problem, state: State) -> Array:
        """The program over the planes: offers its dual value and returns its W."""
        arrays = state.arrays
        if "gram" not in state.derived:
            state.derived["gram"] = arrays["planes"] @ arrays["planes"].T
        blocks = np.zeros(len(arrays["planes"]), dtype=np.intp)
        weights = solve_master(state.derived["gram"], arrays["plane_offsets"], blocks)
        target = weights @ arrays["planes"]
        state.offer_dual(float(weights @ arrays["plane_offsets"]) - 0.5 * float(target @ target))
        arrays["idle"] = np.where(weights > 1e-10, 0, arrays["idle"] + 1)
        kept = arrays["idle"] <= IDLE_LIMIT
        if not np.all(kept):
            state.derived["gram"] = state.derived["gram"][np.ix_(kept, kept)]
            arrays.update({name: arrays[name][kept] for name in ("planes", "plane_offsets", "idle")})
        return np.asarray(target.reshape(problem.shape))

    def _search(self, problem: Problem, state: State, target: Array, margins: Array) -> Array:
        """Move the best point along the line to `target`; returns the margins to cut at.

        P along the line is convex: bisection on the sign of its slope, which the cuts give.
        """
        start, from_margins = state.best, state.derived["best_margins"]
        way, margin_way = target - start, margins - from_margins
        low, high, length = 0.0, 1.0, 1.0
        best_length = 0.0
        for _ in range(self.line_steps):
            point, at = start + length * way, from_margins + length * margin_way
            cuts = problem.cuts(at)
            value = problem.primal(point, cuts.values)
            if value < state.primal:
                state.offer_primal(point, value)
                best_length = length
            weights = problem.element_costs * cuts.slopes
            slope = float(np.vdot(point, way)) - float(weights @ margin_way)
            if slope <= 0:
                low = length
            else:
                high = length
            if low >= 1.0:
                break
            length = 0.5 * (low + high)
        state.derived["best_margins"] = from_margins + best_length * margin_way
        return np.asarray(from_margins + (best_length + self.overshoot * (1 - best_length)) * margin_way)


def no_planes(problem: Problem) -> dict[str, Any]:
    """The arrays of a state without any plane."""
    size = int(np.prod(problem.shape))
    return {
        "planes": np.empty((0, size)),
        "plane_offsets": np.empty(0),
        "idle": np.empty(0, dtype=np.int64),
    }
