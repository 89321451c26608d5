"""Algorithm 1 of the paper: cutting planes with one slack variable per bag.

    min over (W, xi) of   1/2 |W|^2 + sum_i c_i xi_i     subject to   xi_i >= o - <sigma, m_i(W)>  for all cuts in S^i

As printed, line 10 adds the label y_i to the working set; what is meant is the violated cut. Its slack test of
line 9 uses the most violated cut already in S^i. Faithful and readable rather than fast: every plane is a dense
vector and the program grows with their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import BatchCuts
from setloss.solvers.loop import State
from setloss.solvers.master import plane_bound, solve_master
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution
from setloss.solvers.verification import ImpossibleStateError, agreeing, agreeing_planes, not_above
from setloss.typing import Array


@dataclass(frozen=True)
class NSlack:
    """One iteration is one run of lines 4 to 13 over all bags.

    The program of line 11 is solved once per run, or after every `reoptimise_after` new cuts; 1 is as printed.
    """

    reoptimise_after: int | None = None

    @property
    def name(self) -> str:
        return "n_slack"

    def start(self, problem: Problem, warm: Solution | None) -> State:
        size = int(np.prod(problem.shape))
        arrays: dict[str, Any] = {
            "parameters": np.zeros(problem.shape),
            "planes": np.empty((0, size)),  # Alg. 1, line 2: S^i = empty
            "plane_offsets": np.empty(0),
            "bags": np.empty(0, dtype=np.int64),
            "multipliers": np.empty(0),
            "born": np.empty(0, dtype=np.int64),
            "iterates": np.empty((0, size)),
        }
        if warm is not None and warm.parameters.shape == problem.shape:
            arrays["parameters"] = warm.parameters.copy()
        return State(arrays, best=arrays["parameters"].copy())

    def verify(self, problem: Problem, state: State) -> None:
        """Take every cut again at the W where it was found; both values from there."""
        arrays, n = state.arrays, len(state.arrays["iterates"])
        if not np.all((arrays["born"] >= 0) & (arrays["born"] < n)):
            raise ImpossibleStateError("born is out of range")
        offsets, planes = np.empty_like(arrays["plane_offsets"]), np.empty_like(arrays["planes"])
        for birth in np.unique(arrays["born"]):
            cuts = problem.cuts(problem.margins(arrays["iterates"][birth].reshape(problem.shape)))
            for k in np.flatnonzero(arrays["born"] == birth):
                offsets[k], planes[k] = self._plane(problem, int(arrays["bags"][k]), cuts)
        claimed = arrays["plane_offsets"], arrays["planes"]
        arrays["plane_offsets"], arrays["planes"] = agreeing_planes(claimed, (offsets, planes))
        state.dual = not_above(state.dual, self._bound(problem, arrays))
        state.primal = agreeing(state.primal, problem.objective(state.best))

    def step(self, problem: Problem, state: State, tol: float) -> None:
        arrays = state.arrays
        margins = problem.margins(arrays["parameters"])
        cuts = problem.cuts(margins)
        state.passes += 1
        state.offer_primal(arrays["parameters"], problem.primal(arrays["parameters"], cuts.values))
        epsilon = tol * state.primal / (2 * float(problem.costs.sum()))
        slack = self._slack(problem, arrays)
        fresh, before = 0, len(arrays["bags"])
        for i in range(problem.n_bags):  # Alg. 1, line 4
            if self.reoptimise_after is not None and fresh >= self.reoptimise_after:
                self._optimise(problem, state)
                margins = problem.margins(arrays["parameters"])
                cuts, slack, fresh = problem.cuts(margins), self._slack(problem, arrays), 0
                state.passes += 1
            if cuts.values[i] > slack[i] + epsilon:  # Alg. 1, lines 5 to 9: L and S parts in one cut
                if fresh == 0:
                    arrays["iterates"] = np.vstack([arrays["iterates"], arrays["parameters"].ravel()])
                self._add(arrays, i, *self._plane(problem, i, cuts))  # line 10, as meant
                fresh += 1
        if len(arrays["bags"]) == before and np.isfinite(state.dual):
            state.stalled = True  # Alg. 1, line 14: no S^i has changed
        self._optimise(problem, state)  # Alg. 1, line 11

    def finish(self, problem: Problem, state: State) -> None:
        """Before any other exit than convergence: the last program may have found a better W."""
        parameters = state.arrays["parameters"]
        state.offer_primal(parameters, problem.objective(parameters))

    def _slack(self, problem: Problem, arrays: dict[str, Any]) -> Array:
        """xi_i = the largest of 0 and the cuts in S^i at the current W."""
        heights = arrays["plane_offsets"] - arrays["planes"] @ arrays["parameters"].ravel()
        slack = np.zeros(problem.n_bags)
        np.maximum.at(slack, arrays["bags"], heights)
        return slack

    def _plane(self, problem: Problem, bag: int, cuts: BatchCuts) -> tuple[float, Array]:
        """Offset and flat slope of the cut of one bag, as a function of W."""
        full = np.zeros(len(problem.signs))
        lo, hi = problem.surrogate.bags.offsets[bag : bag + 2]
        full[lo:hi] = cuts.slopes[lo:hi] / problem.costs[bag]
        return float(cuts.offsets[bag]), problem.parameters(full).ravel()

    def _add(self, arrays: dict[str, Any], bag: int, offset: float, plane: Array) -> None:
        grown = {
            "planes": np.vstack([arrays["planes"], plane]),
            "plane_offsets": np.append(arrays["plane_offsets"], offset),
            "bags": np.append(arrays["bags"], bag),
            "multipliers": np.append(arrays["multipliers"], 0.0),
            "born": np.append(arrays["born"], len(arrays["iterates"]) - 1),
        }
        arrays.update(grown)

    def _optimise(self, problem: Problem, state: State) -> None:
        arrays = state.arrays
        if len(arrays["planes"]) == 0:
            arrays["parameters"] = np.zeros(problem.shape)
            state.offer_dual(0.0)
            return
        arrays["multipliers"], parameters = solve_master(*self._program(problem, arrays))
        state.offer_dual(self._bound(problem, arrays))
        arrays["parameters"] = parameters.reshape(problem.shape)

    def _program(self, problem: Problem, arrays: dict[str, Any]) -> tuple[Array, Array, NDArray[np.intp]]:
        """Planes and offsets times their costs, and the bag of each."""
        costs = problem.costs[arrays["bags"]]
        return costs[:, None] * arrays["planes"], costs * arrays["plane_offsets"], arrays["bags"].astype(np.intp)

    def _bound(self, problem: Problem, arrays: dict[str, Any]) -> float:
        """The dual value of the multipliers."""
        planes, offsets, bags = self._program(problem, arrays)
        return plane_bound(planes, offsets, arrays["multipliers"], bags)
