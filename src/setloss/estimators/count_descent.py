"""L-BFGS as a method of the one loop (`setloss.solvers.loop`), for the likelihood of count models.

P has a regulariser that is 1-strongly convex, so at every point P - |grad P|^2 / 2 is a lower bound of its minimum:
the loop's `dual`. The steps are taken in the coordinates of `Whitened`, in which the curvature is near the identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from setloss.estimators.count_problem import Whitened
from setloss.solvers import Solution
from setloss.solvers.solution import State
from setloss.typing import Array

MEMORY = 20
"""Steps whose changes of the gradient are remembered."""

DECREASE, CURVATURE = 1e-4, 0.9
"""The weak Wolfe conditions: the least share of the predicted decrease, and the largest share of the slope left."""

TRIALS = 40


@dataclass
class DescentState(State):
    """P and its gradient at the point last evaluated."""

    arrays: dict[str, Array] = field(default_factory=dict)
    value: float = np.inf
    gradient: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class LimitedMemory:
    """One iteration is one direction and its line search."""

    @property
    def name(self) -> str:
        return "l-bfgs"

    def start(self, problem: Whitened, warm: Solution | None) -> DescentState:
        point = np.zeros(problem.size)
        if warm is not None and warm.parameters.shape == point.shape:
            point = problem.whitened(warm.parameters)
        memory = np.zeros((MEMORY, problem.size))
        best = problem.original(point)
        arrays = {
            "point": point,
            "bounded_at": best,
            "moves": memory,
            "changes": memory.copy(),
            "updates": np.zeros(1),
        }
        state = DescentState(best, arrays=arrays)
        _evaluate(problem, state, point)
        return state

    def finish(self, problem: Whitened, state: DescentState) -> None:
        """Every iteration leaves both values up to date."""

    def step(self, problem: Whitened, state: DescentState, tol: float) -> None:
        arrays = state.arrays
        point = arrays["point"]
        value, gradient = state.value, state.gradient
        direction = -_times_inverse(gradient, arrays)
        slope = float(gradient @ direction)
        if not slope < 0:
            direction, slope = -gradient, -float(gradient @ gradient)
        length, low, high = 1.0, 0.0, np.inf
        for _ in range(TRIALS):
            new = point + length * direction
            _evaluate(problem, state, new)
            if state.value > value + DECREASE * length * slope:
                high = length
            elif float(state.gradient @ direction) < CURVATURE * slope:
                low = length
            else:
                break
            length = (low + high) / 2 if high < np.inf else 2 * length
        state.stalled = not state.value < value
        _remember(arrays, new - point, state.gradient - gradient)
        arrays["point"] = new


def _evaluate(problem: Whitened, state: DescentState, point: Array) -> None:
    """P and its gradient at a point; both bounds are offered to the state."""
    found = problem.evaluate(point)
    state.passes += 2
    state.value, state.gradient = found.objective, found.gradient
    state.offer_primal(found.parameters, found.objective)
    if found.objective - found.distance > state.dual:
        state.offer_dual(found.objective - found.distance)
        state.arrays["bounded_at"] = found.parameters


def _remember(arrays: dict[str, Array], move: Array, change: Array) -> None:
    if float(move @ change) > 1e-12 * float(change @ change):
        place = int(arrays["updates"][0]) % MEMORY
        arrays["moves"][place], arrays["changes"][place] = move, change
        arrays["updates"] = arrays["updates"] + 1


def _times_inverse(gradient: Array, arrays: dict[str, Array]) -> Array:
    """The inverse curvature as far as it is remembered, times the gradient: the two-loop recursion."""
    updates = int(arrays["updates"][0])
    newest_first = [k % MEMORY for k in range(updates - 1, max(updates - MEMORY, 0) - 1, -1)]
    moves, changes = arrays["moves"], arrays["changes"]
    vector, shares = gradient.copy(), {}
    for k in newest_first:
        shares[k] = float(moves[k] @ vector) / float(moves[k] @ changes[k])
        vector -= shares[k] * changes[k]
    if newest_first:
        last = newest_first[0]
        vector *= float(moves[last] @ changes[last]) / float(changes[last] @ changes[last])
    for k in reversed(newest_first):
        vector += (shares[k] - float(changes[k] @ vector) / float(moves[k] @ changes[k])) * moves[k]
    return vector
