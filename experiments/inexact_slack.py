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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from setloss.bags import Bags
from setloss.losses import Loss, loss_named
from setloss.operators import SlackRescaling
from setloss.plans.batch import BatchCuts, BatchSurrogate, batch_surrogate
from setloss.solvers import CuttingPlane, Design, Limits, Problem, Solution, solve
from setloss.solvers.cutting_plane import PlaneState, Reachable, objective_at

Approximation = Literal["greedy", "released"]

# ---------------------------------------------------------------- the searches


@njit(cache=True, error_model="numpy")
def _greedy(margins: Any, groups: Any, cell: int, strides: Any, values: Any, scale: float, chosen: Any) -> int:
    """Add the element that raises the objective most, until none does; returns the cell of the set."""
    order = np.argsort(margins, kind="mergesort")
    value, total = 0.0, 0.0
    while True:
        best, taken = value, -1
        for b in range(len(strides)):
            for i in order:
                if groups[i] == b and not chosen[i]:
                    loss = values[cell + strides[b]]
                    raised = loss * (1.0 - scale * (total + margins[i])) if loss > 0.0 else 0.0
                    if raised > best:
                        best, taken = raised, i
                    break
        if taken < 0:
            return cell
        chosen[taken] = True
        value, total, cell = best, total + margins[taken], cell + strides[groups[taken]]


@njit(cache=True, error_model="numpy")
def _one_pass(margins: Any, groups: Any, cell: int, strides: Any, values: Any, scale: float, chosen: Any) -> int:
    """Every element once, in the order of the data; it stays if it raises the objective."""
    value, total = 0.0, 0.0
    for i in range(len(margins)):
        loss = values[cell + strides[groups[i]]]
        raised = loss * (1.0 - scale * (total + margins[i])) if loss > 0.0 else 0.0
        if raised > value:
            chosen[i] = True
            value, total, cell = raised, total + margins[i], cell + strides[groups[i]]
    return cell


@njit(cache=True, error_model="numpy")
def search_bags(margins: Any, bags: Any, tables: Any, scale: float, greedy: bool, chosen: Any, losses: Any) -> None:
    """Mark the set that is found in every bag, and write its loss."""
    offsets, groups, which = bags
    starts, strides, values = tables
    for i in range(len(which)):
        here, kind = slice(offsets[i], offsets[i + 1]), which[i]
        bag = (margins[here], groups[here], starts[kind], strides[kind], values, scale, chosen[here])
        losses[i] = values[_greedy(*bag) if greedy else _one_pass(*bag)]


@dataclass(frozen=True, eq=False)
class InexactCuts(BatchSurrogate):
    """Slack rescaling of every bag by an approximation; `values` of its cuts are what that sees."""

    search: Approximation = "greedy"
    scale: float = 2.0
    exact = False

    @cached_property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """All tables in one array: where each starts, the stride of each of its groups, and the values."""
        plans: Any = self.plans
        tables = [surrogate.function.table for surrogate in plans.surrogates]
        strides = np.zeros((len(tables), max(table.ndim for table in tables)), dtype=np.int64)
        for row, table in zip(strides, tables, strict=True):
            row[: table.ndim] = np.array(table.strides) // table.itemsize
        return np.cumsum([0, *(table.size for table in tables)])[:-1], strides, np.concatenate(tables, axis=None)

    def cuts(self, margins: ArrayLike, *, threads: int = 1, consume: bool = False) -> BatchCuts:
        flat = self.bags.gather(np.asarray(margins, dtype=np.float64))
        chosen, losses = np.zeros(len(flat), dtype=bool), np.zeros(len(self.bags))
        bags = (self.bags.offsets, self.partition, self.which)
        search_bags(flat, bags, self.tables, self.scale, self.search == "greedy", chosen, losses)
        rates = np.ones(len(losses)) if self.search == "released" else losses
        slopes = np.where(chosen, self.scale * np.repeat(rates, self.bags.sizes), 0.0)
        heights = losses - self.bags.totals(slopes * flat)
        return BatchCuts(losses, self.bags.scatter(slopes), heights, exact=False)


def inexact_slack(
    loss: Loss, truth: ArrayLike, bags: Bags | ArrayLike, search: Approximation, scale: float
) -> InexactCuts:
    """Slack rescaling of every bag by one of the approximations."""
    found = batch_surrogate(loss, truth, bags, partial(SlackRescaling, scale=scale, search="greedy"))
    return InexactCuts(found.bags, found.partition, found.which, found.plans, search, scale)


# ---------------------------------------------------------------- training


@dataclass(frozen=True)
class PlainCuttingPlane(CuttingPlane):
    """One-slack cutting planes without line search: the plane is taken where the program's solution is.

    W is always the last solution, for an objective known only through an approximate search is no guide to a better
    one. Where the search sees less than the planes already found, the two objectives are reported as equal.
    """

    exact: bool = False

    def start(self, problem: Reachable, warm: Solution | None) -> PlaneState:
        return PlaneState(np.zeros(problem.shape))

    def step(self, problem: Reachable, state: PlaneState, tol: float) -> None:
        target = state.best
        if not self.exact:
            state.dual = -np.inf
        if len(state.planes):
            target = state.solve_program().reshape(problem.shape)
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


def bag_problem(
    X: NDArray[Any], y: NDArray[np.bool_], groups: NDArray[Any], C: float, constant: float, loss: str, operator: Any
) -> Problem:
    """1/2 |w|^2 + C sum_i B l(h_i) over bags; `operator` is a name, or ("greedy" or "released", scale)."""
    bags = Bags.from_groups(groups)
    order = np.arange(len(y)) if bags.order is None else bags.order
    truth, offsets = y[order], bags.offsets
    surrogate: BatchSurrogate
    if isinstance(operator, tuple):
        surrogate = inexact_slack(loss_named(loss), truth, offsets, *operator)
    else:
        surrogate = batch_surrogate(loss_named(loss), truth, offsets, operator)
    signs, costs = np.where(truth, 1.0, -1.0), np.full(len(offsets) - 1, C)
    return Problem(Design.of(X, constant), surrogate, signs, order, costs)


@dataclass
class InexactSlack:
    """A linear model of frames in bags, trained with slack rescaling by approximate inference.

    `solution_` has the status "uncertified" where the search found nothing more to add; its gap bounds nothing.
    """

    loss: str = "dice"
    search: Approximation = "greedy"
    scale: float = 2.0
    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    intercept_scaling: float = 1.0

    def set_params(self, C: float) -> InexactSlack:
        """Another C."""
        self.C = C
        return self

    def fit(self, X: NDArray[Any], y: NDArray[Any], groups: NDArray[Any]) -> InexactSlack:
        """Train on frames X (N, d) of bags."""
        operator = (self.search, self.scale)
        problem = bag_problem(X, np.asarray(y) == 1, groups, self.C, self.intercept_scaling, self.loss, operator)
        self.solution_ = solve(problem, PlainCuttingPlane(), Limits(self.tol, self.max_iter))
        self.coef_ = self.solution_.parameters[:, :-1]
        self.intercept_ = self.intercept_scaling * self.solution_.parameters[:, -1]
        return self
