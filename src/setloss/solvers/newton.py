"""Proximal point steps on the dual, each solved by Newton's method: the solver for ill-conditioned problems.

    max over (o, sigma) of   D(o, sigma) - mu/2 sum_i c_i |sigma_i - centre_i|^2

The dual of this, a smooth function of W (`setloss.solvers.faces`), is minimised by a few Newton steps with line
search; then the maximiser becomes the new centre and mu shrinks. The quadratic term is measured in margins, so
features may have any correlation and any unit; only the linear systems see them. Where the answer sits at kinks, as
it does when the risk outweighs the regulariser, this takes some dozen iterations where going from bag to bag takes
thousands.

Every iteration has a dual point made of true cuts, and the best point on the segment between it and the best one so
far is a dual point too. (Li, Sun and Toh, 2018, do this for the Lasso.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.solvers.faces import ProximalPoints
from setloss.solvers.loop import State
from setloss.solvers.newton_system import Spectrum, newton_direction
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, relative_gap
from setloss.solvers.verification import ImpossibleStateError, agreeing, agreeing_array, not_above, true_dual_points
from setloss.typing import Array

SHORTEST_STEP = 1e-9
"""A line search gives up here."""

LEAST_DAMPING, MOST_DAMPING = 1e-7, 1.0

PACE = (0.4, 0.6, 0.85, 1.0, 1.0)
"""What mu is multiplied with after a smoothed problem that took one step, two, three and so on.

Many easy problems take less time than few hard ones: a step that crosses many kinks has to be shortened."""

MANY_STEPS = 10
"""A smoothed problem ends after this many steps; mu doubles if it took more steps than `PACE` has factors for."""


@dataclass
class NewtonState(State):
    """The spectrum of the problem, and the proximal points where the state is."""

    spectrum: Spectrum | None = None
    points: ProximalPoints | None = None

    def arrays_replaced(self) -> None:
        self.points = None


@dataclass(frozen=True)
class Newton:
    """Configuration of the solver.

    The first `mu` is `smoothing` in units of the slopes at W = 0. A smoothed problem is left when its own gap is
    `share` of the gap of the problem; mu then shrinks if that took few steps, and grows if it took many.
    """

    smoothing: float = 1.0
    share: float = 0.3

    @property
    def name(self) -> str:
        return "newton"

    def start(self, problem: Problem, warm: Solution | None) -> NewtonState:
        parameters, centre, mu = np.zeros(problem.shape), np.zeros(len(problem.signs)), None
        if warm is not None and warm.parameters.shape == problem.shape:
            parameters = warm.parameters.copy()
            slopes = warm.arrays.get("slopes", centre)
            if slopes.shape == centre.shape and problem.surrogate.same_as(warm.surrogate):
                centre = np.array(slopes)
                mu = warm.arrays.get("mu")
        arrays: dict[str, Any] = {
            "parameters": parameters,
            "slopes": centre,
            "mu": np.array(self._first_mu(problem) if mu is None else mu),
            "steps": np.array(0),
            "damping": np.array(0.0),
            "margins": problem.margins(parameters),
        }
        state = NewtonState(arrays, best=parameters.copy())
        points = self._points(problem, state)
        arrays["dual_parameters"] = points.image
        arrays["dual_slopes"], arrays["dual_offsets"] = points.slopes, points.offsets
        state.passes += 1
        self._offer(problem, state)
        return state

    def verify(self, problem: Problem, state: NewtonState) -> None:
        """The dual point as far as it is one, margins and W of it afresh; both values from there."""
        arrays = state.arrays
        if not (arrays["mu"] > 0 and arrays["damping"] >= 0):
            raise ImpossibleStateError("mu or damping is out of range")
        arrays["margins"] = agreeing_array(arrays["margins"], problem.margins(arrays["parameters"]))
        claimed = arrays["dual_slopes"], arrays["dual_offsets"]
        arrays["dual_slopes"], arrays["dual_offsets"] = true_dual_points(problem, arrays["margins"], *claimed)
        image = problem.parameters(arrays["dual_slopes"])
        arrays["dual_parameters"] = agreeing_array(arrays["dual_parameters"], image)
        state.dual = not_above(state.dual, problem.dual(arrays["dual_parameters"], arrays["dual_offsets"]))
        state.primal = agreeing(state.primal, problem.objective(state.best))

    def _first_mu(self, problem: Problem) -> float:
        """How far a slope moves the margins: one, for slopes as large as those at W = 0."""
        slopes = problem.cuts(np.zeros(len(problem.signs))).slopes
        used = slopes[slopes > 0]
        return self.smoothing / float(used.mean()) if used.size else self.smoothing

    def step(self, problem: Problem, state: NewtonState, tol: float) -> None:
        arrays = state.arrays
        points = self._points(problem, state)
        if self._solved(problem, state, points):
            arrays["slopes"] = points.slopes
            points = self._next_problem(problem, state)
        elif int(arrays["steps"]) >= MANY_STEPS:
            points = self._next_problem(problem, state)
        gradient = arrays["parameters"] - points.image
        state.spectrum = state.spectrum or Spectrum(problem)
        direction = newton_direction(points, -gradient, state.spectrum, float(arrays["damping"]))
        length = self._search(problem, state, gradient, direction)
        arrays["damping"] = np.array(next_damping(float(arrays["damping"]), length))
        arrays["steps"] = arrays["steps"] + 1
        state.passes += 4
        self._offer(problem, state)
        if relative_gap(state.primal, state.dual) <= tol:
            self.finish(problem, state)

    def finish(self, problem: Problem, state: NewtonState) -> None:
        """Certify the answer: margins afresh from the best W."""
        state.primal = problem.objective(state.best)
        state.passes += 1

    def _points(self, problem: Problem, state: NewtonState) -> ProximalPoints:
        """The proximal points where the state is."""
        if state.points is None:
            state.points = self._at(problem, state, state.arrays["margins"])
        return state.points

    def _at(self, problem: Problem, state: NewtonState, margins: Array) -> ProximalPoints:
        return ProximalPoints.at(problem, margins, state.arrays["slopes"], float(state.arrays["mu"]))

    def _solved(self, problem: Problem, state: NewtonState, points: ProximalPoints) -> bool:
        """Whether the smoothed problem is solved well enough: it is 1-strongly convex, so its gradient tells."""
        parameters = state.arrays["parameters"]
        gradient = parameters - points.image
        gap = problem.primal(parameters, points.values) - problem.dual(points.image, points.offsets)
        return 0.5 * float(np.vdot(gradient, gradient)) <= self.share * max(gap, 0.0)

    def _next_problem(self, problem: Problem, state: NewtonState) -> ProximalPoints:
        """Another mu, by the steps that the last one took, and the points that belong to it."""
        arrays = state.arrays
        steps = max(int(arrays["steps"]), 1)
        arrays["mu"] = arrays["mu"] * (PACE[steps - 1] if steps <= len(PACE) else 2.0)
        arrays["steps"] = np.array(0)
        arrays["margins"] = problem.margins(arrays["parameters"])
        state.points = self._at(problem, state, arrays["margins"])
        return state.points

    def _search(self, problem: Problem, state: NewtonState, gradient: Array, direction: Array) -> float:
        """Shorten the step until the smoothed function falls as a convex one should; returns its length."""
        arrays, margins = state.arrays, state.arrays["margins"]
        points = self._points(problem, state)
        way = problem.margins(direction)
        height = points.smoothed(arrays["parameters"], margins, arrays["slopes"])
        slope = float(np.vdot(gradient, direction))
        length = 1.0
        while length > SHORTEST_STEP:
            there = arrays["parameters"] + length * direction
            reached = margins + length * way
            points = self._at(problem, state, reached)
            excess = points.smoothed(there, reached, arrays["slopes"]) - height - length * slope
            if excess <= -0.9999 * length * slope + 1e-13 * abs(height):
                arrays.update(parameters=there, margins=reached)
                state.points = points
                return length
            length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
        return 0.0

    def _offer(self, problem: Problem, state: NewtonState) -> None:
        """The primal value at W, and the best dual point between the best so far and that of the proximal points."""
        arrays, points = state.arrays, self._points(problem, state)
        state.offer_primal(arrays["parameters"], problem.primal(arrays["parameters"], points.values))
        start = arrays["dual_parameters"]
        way, rise = points.image - start, float(problem.costs @ (points.offsets - arrays["dual_offsets"]))
        curvature = float(np.vdot(way, way))
        gain = rise - float(np.vdot(start, way))
        length = float(np.clip(gain / curvature, 0.0, 1.0)) if curvature > 0 else float(gain > 0)
        arrays["dual_parameters"] = start + length * way
        for name, reached in (("dual_slopes", points.slopes), ("dual_offsets", points.offsets)):
            arrays[name] = arrays[name] + length * (reached - arrays[name])
        state.offer_dual(problem.dual(arrays["dual_parameters"], arrays["dual_offsets"]))


def next_damping(damping: float, length: float) -> float:
    """More where the last step had to be shortened much, less where it had not.

    A step is too long where few bags have faces and the risk looks flatter than it is.
    """
    if length >= 0.5:
        return damping / 8 if damping > LEAST_DAMPING else 0.0
    return damping if length >= 0.1 else min(max(8 * damping, 100 * LEAST_DAMPING), MOST_DAMPING)
