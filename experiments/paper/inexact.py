"""Slack rescaling trained with approximate inference: baselines of the reproduction, which certify nothing.

The paper maximises ``l(A) (1 - c sum_{i in A} m_i)`` greedily. Two readings of that are here, under names of their
own, because neither is the operator S, which `setloss.operators` maximises exactly:

``greedy``
    Best first: add the element that raises the objective most, until none does. The cut is one of those S is the
    maximum of, so its plane is a minorant of S, but it need not touch S.
``released``
    As the authors' released code does: one pass over the elements in the order of the data, keeping what raises the
    objective, and a cut of offset l(A) and slope c on A, without the factor l(A). Its planes are no minorants of
    anything that was asked for.

Training is the one-slack cutting-plane loop, which ends when the search finds no plane above those it has. With an
exact search that is a certificate; here it is not, and the status of the solution says so.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from experiments.paper.inexact_search import flat_tables, search_bags
from setloss.bags import Bags
from setloss.estimators import BagClassifier
from setloss.losses import Loss
from setloss.operators import SlackRescaling
from setloss.plans.batch import BatchCuts, BatchSurrogate, batch_surrogate
from setloss.setfunctions.set_function import SetFunction
from setloss.solvers import CuttingPlane, Limits, Problem, Solution, Status, solve
from setloss.solvers.cutting_plane import PlaneState, Reachable, objective_at

Approximation = Literal["greedy", "released"]
APPROXIMATIONS: tuple[Approximation, ...] = ("greedy", "released")
INEXACT_METHODS: dict[str, Approximation] = {"slack-greedy": "greedy", "slack-released": "released"}
"""What the approximations are called beside the operators."""


@dataclass(frozen=True)
class GreedySlack:
    """Slack rescaling whose worst sets are sought by a heuristic: an operator."""

    scale: float

    def __call__(self, function: SetFunction) -> SlackRescaling:
        return SlackRescaling(function, self.scale, "greedy")


@dataclass(frozen=True, eq=False)
class InexactSlack(BatchSurrogate):
    """Slack rescaling of every bag by an approximation; `values` of its cuts are what that sees."""

    search: Approximation = "greedy"
    scale: float = 2.0
    exact = False

    @cached_property
    def tables(self) -> tuple[NDArray[Any], ...]:
        return flat_tables([surrogate.function for surrogate in self.plans.surrogates])

    def cuts(self, margins: ArrayLike, *, threads: int = 1, consume: bool = False) -> BatchCuts:
        flat = self.bags.gather(np.asarray(margins, dtype=np.float64))
        chosen, losses = np.zeros(len(flat), dtype=bool), np.zeros(len(self.bags))
        bags = (self.bags.offsets, self.partition, self.which)
        search_bags(flat, bags, self.tables, self.scale, self.search == "greedy", chosen, losses)
        rates = np.ones(len(losses)) if self.search == "released" else losses
        slopes = np.where(chosen, self.scale * np.repeat(rates, self.bags.sizes), 0.0)
        heights = losses - self.bags.totals(slopes * flat)
        return BatchCuts(losses, self.bags.scatter(slopes), heights, self.bags.scatter(chosen), exact=False)


def inexact_slack(
    loss: Loss, truth: ArrayLike, bags: Bags | ArrayLike, search: Approximation, scale: float
) -> InexactSlack:
    """Slack rescaling of every bag by one of the approximations."""
    found = batch_surrogate(loss, truth, bags, GreedySlack(scale))
    return InexactSlack(found.bags, found.partition, found.which, found.plans, search, scale)


@dataclass(frozen=True)
class PlainCuttingPlane(CuttingPlane):
    """One-slack cutting planes without line search: the plane is taken where the program's solution is.

    W is always the last solution, for an objective known only through an approximate search is no guide to a better
    one. Where the search sees less than the planes already found, the two objectives are reported as equal.
    """

    exact: bool = False

    def start(self, problem: Reachable, warm: Solution | None) -> PlaneState:
        return PlaneState(np.zeros(problem.shape), exact=self.exact)

    def step(self, problem: Reachable, state: PlaneState, tol: float) -> None:
        target = state.best
        if not self.exact:
            state.dual = -np.inf
        if len(state.planes):
            target = self._solve(problem, state)
        else:
            state.offer_dual(0.0)
        place = problem.place(target)
        seen = objective_at(target, place.risk())
        if self.exact:
            state.offer_primal(target, seen)
        else:
            state.best, state.primal = target, max(seen, state.dual)
        offset, plane = place.cut()
        state.add(plane, offset)
        state.passes += 2


class InexactSlackClassifier(BagClassifier):
    """A `BagClassifier` trained with slack rescaling and one of the `APPROXIMATIONS` of its inference.

    `solution_` has the status "uncertified" where the search found nothing more to add; `dual_gap_` is the difference
    between what the search sees and the planes, relative to the former. It bounds nothing.
    """

    def __init__(
        self,
        loss: str | Loss = "dice",
        search: Approximation = "greedy",
        *,
        scale: float = 2.0,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        intercept_scaling: float = 1.0,
    ) -> None:
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "intercept_scaling": intercept_scaling}
        super().__init__(loss, "slack", scale=scale, C=C, **limits)
        self.search = search

    def _solve(self, problem: Problem) -> None:
        if self.search not in APPROXIMATIONS:
            raise ValueError(f"search is one of {', '.join(APPROXIMATIONS)}; got {self.search!r}")
        truth, bags = problem.signs > 0, problem.surrogate.bags
        inexact = inexact_slack(self._loss(), truth, bags, self.search, float(self.scale))
        limits = Limits(self.tol, self.max_iter)
        solution = solve(replace(problem, surrogate=inexact), PlainCuttingPlane(), limits)
        self._store(solution, problem.design.constant)
        if solution.status is not Status.UNCERTIFIED:
            warnings.warn(
                f"{type(self).__name__} stopped ({solution.status}, {solution.iterations} iterations) while its "
                "search still found planes to add. Increase max_iter, or decrease C.",
                ConvergenceWarning,
                stacklevel=4,
            )
