"""Proximal point steps on the dual, each solved by Newton's method: the solver for ill-conditioned problems.

    max over (o, sigma) of   D(o, sigma) - mu/2 sum_i c_i |sigma_i - centre_i|^2

The dual of this, a smooth function of W (`setloss.solvers.proximal_points`), is minimised by a few Newton steps with
line search; then the maximiser becomes the new centre and mu shrinks. The quadratic term is measured in margins, so
features may have any correlation and any unit; only the linear systems see them. Where the answer sits at kinks, as
it does when the risk outweighs the regulariser, this takes some dozen iterations where going from bag to bag takes
thousands.

Every iteration has a dual point made of true cuts, and the best point on the segment between it and the best one so
far is a dual point too. (Li, Sun and Toh, 2018, do this for the Lasso.)

The linear systems are ``(H + damping) x = b``, ``H = I + U^T U``, U one row per curved direction; damping is a share
of the diagonal that H would have if every bag were curved in all directions. Three ways, by the fewest operations: a
Cholesky factor of H, where there are few parameters; of ``I + U U^T``, where there are fewer directions than
parameters; conjugate gradients, where there are many of both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from setloss.solvers.problem import Problem
from setloss.solvers.proximal_points import ProximalPoints
from setloss.solvers.solution import Solution, State, relative_gap
from setloss.typing import Array

SHORTEST_STEP = 1e-9
"""Length at which a line search gives up."""

LEAST_DAMPING, MOST_DAMPING = 1e-7, 1.0

PACE = (0.4, 0.6, 0.85, 1.0, 1.0)
"""Factors of mu after a smoothed problem that took one step, two, three and so on.

Many easy problems take less time than few hard ones: a step that crosses many kinks has to be shortened."""

MANY_STEPS = 10
"""Maximum number of steps per smoothed problem; mu doubles if it took more steps than `PACE` has factors for."""


MOST_ENTRIES = 2**25
"""Matrices of up to this many numbers (256 MiB) are factorised."""

SLOWER_THAN_BLAS = 8.0
"""An operation of a pass over X takes as long as this many operations of a product of matrices."""

EXPECTED_STEPS = 60.0
"""Steps of conjugate gradients to reckon with."""

MOST_GRADIENTS = 250
CLOSE_ENOUGH = 0.03
"""Maximum number of conjugate gradients, and the share of the residual at which they stop."""


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """The mean square of every feature: what H is like if the curvature of a task is spread evenly over all rows."""

    problem: Problem

    @cached_property
    def values(self) -> Array:
        design = self.problem.design
        if design.sparse:
            totals = np.bincount(design.indices, np.square(design.data, dtype=np.float64), minlength=design.features)
        else:
            totals = np.einsum("ij,ij->j", design.dense, design.dense, dtype=np.float64)
        return np.append(totals / max(design.rows, 1), design.constant**2)

    def precondition(self, points: ProximalPoints, vector: Array) -> Array:
        """The inverse of an approximation of H."""
        weights = self.problem.task_totals(points.diagonals)
        return np.asarray(vector / (1.0 + weights[:, None] * self.values))

    def bound(self, mu: float) -> Array:
        """The diagonal of H - I if every bag were curved in all directions."""
        totals = self.problem.task_totals(np.repeat(self.problem.costs, self.problem.surrogate.bags.sizes))
        return np.asarray(totals[:, None] / mu * self.values)


def _nothing() -> Array:
    return np.empty(0)


@dataclass
class NewtonState(State):
    """W, the centre and mu of the smoothed problem, and the best dual point.

    `squares` and `points` are computed from the problem and the other fields.
    """

    parameters: Array = field(default_factory=_nothing)
    margins: Array = field(default_factory=_nothing)
    centre: Array = field(default_factory=_nothing)
    mu: float = 1.0
    steps: int = 0
    damping: float = 0.0
    dual_parameters: Array = field(default_factory=_nothing)
    slopes: Array = field(default_factory=_nothing)
    offsets: Array = field(default_factory=_nothing)
    squares: MeanSquares | None = None
    points: ProximalPoints | None = None

    def dual_slopes(self) -> Array:
        return self.slopes

    def drop_caches(self) -> None:
        self.squares = self.points = None


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
            slopes = warm.state.dual_slopes() if warm.state is not None else None
            if slopes is not None and slopes.shape == centre.shape and problem.surrogate.same_as(warm.surrogate):
                centre = slopes.copy()
                mu = warm.state.mu if isinstance(warm.state, NewtonState) else None
        state = NewtonState(
            parameters.copy(),
            parameters=parameters,
            margins=problem.margins(parameters),
            centre=centre,
            mu=self._first_mu(problem) if mu is None else mu,
        )
        points = self._points(problem, state)
        state.dual_parameters, state.slopes, state.offsets = points.image, points.slopes, points.offsets
        state.passes += 1
        self._offer(problem, state)
        return state

    def _first_mu(self, problem: Problem) -> float:
        """How far a slope moves the margins: one, for slopes as large as those at W = 0."""
        slopes = problem.cuts(np.zeros(len(problem.signs))).slopes
        used = slopes[slopes > 0]
        return self.smoothing / float(used.mean()) if used.size else self.smoothing

    def step(self, problem: Problem, state: NewtonState, tol: float) -> None:
        points = self._points(problem, state)
        if self._solved(problem, state, points):
            state.centre = points.slopes
            points = self._next_problem(problem, state)
        elif state.steps >= MANY_STEPS:
            points = self._next_problem(problem, state)
        gradient = state.parameters - points.image
        state.squares = state.squares or MeanSquares(problem)
        direction = newton_direction(points, -gradient, state.squares, state.damping)
        length = self._search(problem, state, gradient, direction)
        state.damping = next_damping(state.damping, length)
        state.steps += 1
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
            state.points = self._at(problem, state, state.margins)
        return state.points

    def _at(self, problem: Problem, state: NewtonState, margins: Array) -> ProximalPoints:
        return ProximalPoints.at(problem, margins, state.centre, state.mu)

    def _solved(self, problem: Problem, state: NewtonState, points: ProximalPoints) -> bool:
        """Whether the smoothed problem is solved well enough: it is 1-strongly convex, so its gradient tells."""
        gradient = state.parameters - points.image
        gap = problem.primal(state.parameters, points.values) - problem.dual(points.image, points.offsets)
        return 0.5 * float(np.vdot(gradient, gradient)) <= self.share * max(gap, 0.0)

    def _next_problem(self, problem: Problem, state: NewtonState) -> ProximalPoints:
        """Another mu, by the steps that the last one took, and the points that belong to it."""
        steps = max(state.steps, 1)
        state.mu *= PACE[steps - 1] if steps <= len(PACE) else 2.0
        state.steps = 0
        state.margins = problem.margins(state.parameters)
        state.points = self._at(problem, state, state.margins)
        return state.points

    def _search(self, problem: Problem, state: NewtonState, gradient: Array, direction: Array) -> float:
        """Shorten the step until the smoothed function falls as a convex one should; returns its length."""
        points = self._points(problem, state)
        way = problem.margins(direction)
        height = points.smoothed(state.parameters, state.margins, state.centre)
        slope = float(np.vdot(gradient, direction))
        length = 1.0
        while length > SHORTEST_STEP:
            there = state.parameters + length * direction
            reached = state.margins + length * way
            points = self._at(problem, state, reached)
            excess = points.smoothed(there, reached, state.centre) - height - length * slope
            if excess <= -0.9999 * length * slope + 1e-13 * abs(height):
                state.parameters, state.margins, state.points = there, reached, points
                return length
            length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
        return 0.0

    def _offer(self, problem: Problem, state: NewtonState) -> None:
        """The primal value at W, and the best dual point between the best so far and that of the proximal points."""
        points = self._points(problem, state)
        state.offer_primal(state.parameters, problem.primal(state.parameters, points.values))
        start = state.dual_parameters
        way, rise = points.image - start, float(problem.costs @ (points.offsets - state.offsets))
        curvature = float(np.vdot(way, way))
        gain = rise - float(np.vdot(start, way))
        length = float(np.clip(gain / curvature, 0.0, 1.0)) if curvature > 0 else float(gain > 0)
        state.dual_parameters = start + length * way
        state.slopes = state.slopes + length * (points.slopes - state.slopes)
        state.offsets = state.offsets + length * (points.offsets - state.offsets)
        state.offer_dual(problem.dual(state.dual_parameters, state.offsets))


def next_damping(damping: float, length: float) -> float:
    """More where the last step had to be shortened much, less where it had not.

    A step is too long where few bags have faces and the risk looks flatter than it is.
    """
    if length >= 0.5:
        return damping / 8 if damping > LEAST_DAMPING else 0.0
    return damping if length >= 0.1 else min(max(8 * damping, 100 * LEAST_DAMPING), MOST_DAMPING)


def newton_direction(points: ProximalPoints, right: Array, squares: MeanSquares, damping: float = 0.0) -> Array:
    """The solution of (H + damping) x = right."""
    sizes = points.problem.surrogate.bags.sizes
    costs = _costs(points.problem, right.size, points.rank, float(sizes[points.active].sum()))
    solve = (_by_gradients, _by_parameters, _by_directions)[int(np.argmin(costs))]
    return solve(points, right, squares, 1.0 + damping * squares.bound(points.mu))


def system_cost(problem: Problem, size: int, rank: float, elements: float) -> float:
    """Operations that a system takes: `size` parameters, `rank` curved directions, `elements` of curved bags."""
    return min(_costs(problem, size, rank, elements))


def _costs(problem: Problem, size: int, rank: float, elements: float) -> tuple[float, float, float]:
    """Operations by conjugate gradients, by a factor of H, and by one of I + U U^T."""
    entries = problem.design.row_entries
    length = len(problem.signs) / problem.n_bags
    rows = SLOWER_THAN_BLAS * rank * length * entries
    gradients = EXPECTED_STEPS * SLOWER_THAN_BLAS * 2 * elements * entries
    parameters = rows + rank * size**2 + size**3 / 3 if size * size <= MOST_ENTRIES else np.inf
    directions = rows + rank**2 * size + rank**3 / 3 if rank * max(rank, size) <= MOST_ENTRIES else np.inf
    return gradients, parameters, directions


def _by_parameters(points: ProximalPoints, right: Array, squares: MeanSquares, diagonal: Array) -> Array:
    from scipy.linalg import cho_factor, cho_solve

    hessian = np.diag(diagonal.ravel())
    for rows in points.rows():
        hessian += rows.T @ rows
    factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right.ravel(), check_finite=False)).reshape(right.shape)


def _by_directions(points: ProximalPoints, right: Array, squares: MeanSquares, diagonal: Array) -> Array:
    """With D the diagonal, x = D^-1 (b - U^T (I + U D^-1 U^T)^-1 U D^-1 b)."""
    from scipy.linalg import cho_factor, cho_solve

    if points.rank == 0:
        return np.asarray(right / diagonal)
    rows = np.vstack([rows.copy() for rows in points.rows()])
    scaled = rows / diagonal.ravel()
    factor = cho_factor(np.eye(len(rows)) + scaled @ rows.T, lower=True, overwrite_a=True, check_finite=False)
    weights = cho_solve(factor, scaled @ right.ravel(), check_finite=False)
    return np.asarray((right - (weights @ rows).reshape(right.shape)) / diagonal)


def _by_gradients(points: ProximalPoints, right: Array, squares: MeanSquares, diagonal: Array) -> Array:
    """Preconditioned conjugate gradients."""
    solution, residual = np.zeros_like(right), right.copy()
    better = squares.precondition(points, residual)
    way = better.copy()
    height = first = float(np.vdot(residual, better))
    for _ in range(MOST_GRADIENTS):
        if not height > CLOSE_ENOUGH**2 * first:
            break
        image = diagonal * way + points.curved(way)
        length = height / float(np.vdot(way, image))
        solution += length * way
        residual -= length * image
        better = squares.precondition(points, residual)
        height, before = float(np.vdot(residual, better)), height
        way = better + (height / before) * way
    return solution
