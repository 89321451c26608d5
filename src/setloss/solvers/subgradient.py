"""Stochastic subgradient descent with step 1/t, averaged: the baseline.

After t visits ``W = 1/t sum_s n c_{i_s} W(cut_s)``. Visiting every bag once an epoch, W is the image of the average
cut of each bag: a dual point, so that even the baseline reports a true gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from setloss.solvers.deadline import check_time
from setloss.solvers.frank_wolfe import pieces_of
from setloss.solvers.loop import State
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution
from setloss.solvers.verification import agreeing, not_above, true_dual_points


@dataclass(frozen=True)
class Subgradient:
    """One iteration is one epoch in random order."""

    random_state: int = 0

    @property
    def name(self) -> str:
        return "subgradient"

    def start(self, problem: Problem, warm: Solution | None) -> State:
        arrays: dict[str, Any] = {
            "parameters": np.zeros(problem.shape),
            "slopes": np.zeros(len(problem.signs)),
            "offsets": np.zeros(problem.n_bags),
            "dual_slopes": np.zeros(len(problem.signs)),
            "dual_offsets": np.zeros(problem.n_bags),
        }
        return State(arrays, best=arrays["parameters"].copy())

    def verify(self, problem: Problem, state: State) -> None:
        """The averages of cuts, as far as they are that; both values from them."""
        arrays = state.arrays
        margins = problem.margins(state.best)
        for kind in ("", "dual_"):
            claimed = arrays[f"{kind}slopes"], arrays[f"{kind}offsets"]
            arrays[f"{kind}slopes"], arrays[f"{kind}offsets"] = true_dual_points(problem, margins, *claimed)
        image = problem.parameters(arrays["dual_slopes"])
        state.dual = not_above(state.dual, problem.dual(image, arrays["dual_offsets"]))
        state.primal = agreeing(state.primal, problem.primal(state.best, problem.cuts(margins).values))

    def finish(self, problem: Problem, state: State) -> None:
        """Before any other exit than convergence: an epoch that was cut short has an average too."""
        if not np.isfinite(state.primal):
            self._measure(problem, state)

    def step(self, problem: Problem, state: State, tol: float) -> None:
        from setloss.solvers.kernels import subgradient_epoch

        arrays = state.arrays
        generator = np.random.default_rng([self.random_state, state.iteration])
        dual_point = (arrays["parameters"], arrays["slopes"], arrays["offsets"])
        visits = generator.permutation(problem.n_bags)
        data = (problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        widest = int(problem.surrogate.bags.sizes.max())
        work = (*np.empty((2, widest)), np.empty(widest, dtype=bool))
        bounds = np.linspace(0, len(visits), pieces_of(len(visits)) + 1).astype(int)
        for first, last in pairwise(bounds):
            check_time()
            subgradient_epoch(*data, dual_point, visits, first, last, state.iteration, work)
        state.passes += 2
        self._measure(problem, state)

    def _measure(self, problem: Problem, state: State) -> None:
        """True primal and dual values of the average cuts."""
        arrays = state.arrays
        average = problem.parameters(arrays["slopes"])
        values = problem.cuts(problem.margins(average)).values
        state.passes += 2
        state.offer_primal(average, problem.primal(average, values))
        dual = problem.dual(average, arrays["offsets"])
        if dual > state.dual:
            arrays.update(dual_slopes=arrays["slopes"].copy(), dual_offsets=arrays["offsets"].copy())
        state.offer_dual(dual)
