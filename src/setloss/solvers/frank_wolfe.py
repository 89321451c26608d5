"""Block-coordinate ascent on the dual, one block per bag (block-coordinate Frank-Wolfe): the main solver.

    max over (o, sigma) of   D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2

One iteration is an epoch: bags are visited in random order, those whose gap is large more often. A visit reads the
margins of a bag's active elements and improves its dual point (`setloss.solvers.visits`). Primal values are those of
the average of W over the last epochs, which is far better than W itself. The gap is a true one: when the visits
suggest that it is reached, the margins of all elements are computed and both objectives compared.
"""

from dataclasses import dataclass, field

import numpy as np

from setloss.solvers.deadline import check_time
from setloss.solvers.dual_points import ActiveCuts, Visits, first_dual_point
from setloss.solvers.problem import Problem, objective_at
from setloss.solvers.solution import Solution, State, relative_gap
from setloss.typing import Array

FRESH = 0.4
"""Weight of the newest W in the average."""

EAGERNESS = 4.0
"""Chance of a bag to be visited in an epoch, over its share of the gap."""

CHECK_EVERY = 5
"""Epochs between two measurements of the gap, at most."""

SETTLED = 0.5
"""Relative gap from which on elements may be at rest."""


@dataclass
class FrankWolfeState(State):
    """W = W(sigma) of the dual point, and the gap of every bag.

    The curvature of a bag is no less than <way, K way> / |way|^2: |x|^2 of a label set, at first a sum over frames.
    """

    parameters: Array = field(kw_only=True)
    cuts: ActiveCuts = field(kw_only=True)
    gaps: Array = field(kw_only=True)
    curvatures: Array = field(kw_only=True)
    average: Array | None = None


@dataclass(frozen=True)
class FrankWolfe:
    """Configuration of the solver; the defaults suit both frames and labels.

    A visit takes up to `inner_steps` steps, or until the gap of the bag is down to `shrink` times what it was.

    Examples
    --------
    >>> method = FrankWolfe(inner_steps=3, random_state=1)  # given to `solve` in place of the name
    """

    inner_steps: int = 12
    shrink: float = 0.2
    random_state: int = 0

    def start(self, problem: Problem, warm: Solution | None) -> FrankWolfeState:
        cuts = first_dual_point(problem, warm, FrankWolfeState)
        parameters = problem.parameters(cuts.slopes)
        gaps, norms = np.full(problem.n_bags, np.inf), problem.design.squared_norms()[problem.rows]
        curvatures = norms if problem.n_tasks > 1 else problem.surrogate.bags.totals(norms)
        state = FrankWolfeState(parameters.copy(), parameters=parameters, cuts=cuts, gaps=gaps, curvatures=curvatures)
        if warm is not None and warm.state is None and warm.parameters.shape == problem.shape:
            self._start_at(problem, state, warm.parameters)
        return state

    def _start_at(self, problem: Problem, state: FrankWolfeState, parameters: Array) -> None:
        """Offer W itself, and begin with the cuts at W, each of the weight that raises the dual most."""
        cuts = problem.cuts(problem.margins(parameters))
        state.offer_primal(parameters, objective_at(parameters, float(problem.costs @ cuts.values)))
        slopes = np.asarray(cuts.slopes)
        image, rise = problem.parameters(slopes), float(problem.costs @ cuts.offsets)
        curvature = float(np.vdot(image, image))
        weight = float(np.clip(rise / curvature, 0.0, 1.0)) if curvature > 0 else 0.0
        state.cuts.start_at(problem, weight * slopes, weight * cuts.offsets)
        state.parameters = weight * image
        state.passes += 2

    def step(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        visits = self._visits(state.gaps, state.iteration)
        W = np.ascontiguousarray(state.parameters.T)  # visits read W by features, label after label
        state.parameters = W.T
        for some in np.array_split(visits, min(32, 1 + len(visits) // 128)):
            check_time()
            state.cuts.visit(problem, some, W, state.curvatures, state.gaps, self)
        average = state.parameters if state.average is None else state.average
        state.average = average + FRESH * (state.parameters - average)
        state.passes += 2 * float(state.cuts.active.widths[visits].sum()) / problem.surrogate.bags.elements
        estimate = float(problem.costs @ state.gaps)
        reference = max(problem.dual(state.parameters, state.cuts.offsets), 0.0)
        due = (state.iteration + 1) % CHECK_EVERY == 0
        if due or estimate <= 2 * tol * (reference + estimate):
            self.finish(problem, state, tol)

    def _visits(self, gaps: Array, iteration: int) -> Visits:
        """Every bag once at first; then those that hold nearly all of the gap, in random order."""
        generator = np.random.default_rng([self.random_state, iteration])
        if not np.all(np.isfinite(gaps)):
            return generator.permutation(len(gaps))
        chance = np.minimum(1.0, EAGERNESS * gaps / max(float(gaps.mean()), 1e-300)) + 0.05
        return generator.permutation(np.flatnonzero(generator.random(len(gaps)) < chance))

    def finish(self, problem: Problem, state: FrankWolfeState, tol: float = np.inf) -> None:
        """True primal and dual values, the gap of every bag at one and the same W, and the active elements."""
        point = state.parameters if state.average is None else state.average
        margins = problem.margins(point)
        heights = state.cuts.offsets - problem.surrogate.bags.totals(state.cuts.slopes * margins)
        cuts = problem.cuts(margins)
        state.gaps[:] = np.maximum(cuts.values - heights, 0.0)
        state.passes += 1
        state.offer_primal(point, objective_at(point, float(problem.costs @ cuts.values)))
        dual = problem.dual(state.parameters, state.cuts.offsets)
        gap = relative_gap(state.primal, dual)
        if gap <= tol:
            # Certify the answer: W afresh from the dual point.
            state.parameters = problem.parameters(state.cuts.slopes)
            state.passes += 1
            dual = problem.dual(state.parameters, state.cuts.offsets)
        elif gap < SETTLED:
            state.cuts.rest(problem, slice(0, problem.n_bags), margins, cuts)
        state.offer_dual(dual)
