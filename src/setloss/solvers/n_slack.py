"""Algorithm 1 of the paper: cutting planes with one slack variable per bag.

    min over (W, xi) of   1/2 |W|^2 + sum_i c_i xi_i     subject to   xi_i >= o - <sigma, m_i(W)>  for all cuts in S^i

As printed, line 10 adds the label y_i to the working set; what is meant is the violated cut. Its slack test of
line 9 uses the most violated cut already in S^i. Faithful and readable rather than fast: every plane is a dense
vector and the program grows with their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import BatchCuts
from setloss.solvers.plane_qp import solve_plane_qp
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, State
from setloss.typing import Array


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
    """

    reoptimise_after: int | None = None

    @property
    def name(self) -> str:
        return "n_slack"

    def start(self, problem: Problem, warm: Solution | None) -> NSlackState:
        parameters = np.zeros(problem.shape)
        if warm is not None and warm.parameters.shape == problem.shape:
            parameters = warm.parameters.copy()
        planes = np.empty((0, parameters.size))  # Alg. 1, line 2: S^i = empty
        return NSlackState(parameters.copy(), parameters=parameters, planes=planes)

    def step(self, problem: Problem, state: NSlackState, tol: float) -> None:
        cuts = problem.cuts(problem.margins(state.parameters))
        state.passes += 1
        state.offer_primal(state.parameters, problem.primal(state.parameters, cuts.values))
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
