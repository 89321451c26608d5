"""`solve` and the choice of a method: by name, or with "auto" by modelled cost, and again in mid-run.

Cutting planes take problems of few parameters: small ones, and those of large bags, on which Newton's method is slow.
Small ones of several labels go on with Newton's method where C is so large that they need many planes. Else
Frank-Wolfe begins: its epochs are cheap, and where features are many or C is small it needs few of them. As soon as
the fall of its gap predicts more work than Newton's method takes, that goes on from where it is. Costs are counted in
operations of a product of matrices, never in seconds: the same data take the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from setloss.solvers.cutting_plane import CuttingPlane, NSlack, PlaneState, Reachable
from setloss.solvers.frank_wolfe import FrankWolfe, FrankWolfeState
from setloss.solvers.loop import Limits, Method, run
from setloss.solvers.newton import SLOWER_THAN_BLAS, Newton, system_cost
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, relative_gap

SOLVER_NAMES = ("auto", "frank_wolfe", "newton", "cutting_plane", "n_slack")

VISITS_BAGS = ("auto", "frank_wolfe", "newton")
"""Solvers whose kernels ask for the cuts of single bags."""

CUT_OF_AN_ELEMENT = 1000.0
"""Operations of a product of matrices in the time that the cut of a bag takes per element."""

NEWTON_STEPS, CUTS_A_STEP = 30.0, 5.0
"""Steps of Newton's method, and cuts per bag in each, to reckon with in small bags."""

CUTS_A_STEP_AND_ELEMENT = 3.0
"""Cuts per bag in each step of Newton's method for every element of a larger bag: with 20 and with 50 elements it
takes as many."""

PLANES_A_PARAMETER, CUTS_A_PLANE = 8.0, 6.0
"""Planes until cutting planes converge, for every parameter, and cuts in the search along a line that gives one. Less
than half as many planes were seen; more of them keep cutting planes for where they are clearly cheaper."""

TRIAL = 0.125
"""The share of its patience that Frank-Wolfe spends in any case: its gap may fall late."""

FEW_EPOCHS = 200
"""A run that stays with one method begins with Newton's where that costs fewer epochs of Frank-Wolfe than this."""

SMALL_BAG, LARGE_BAG = 16, 128
"""In small bags Frank-Wolfe leaves Newton's method little to do; large ones have faces too large for it."""

MOST_PARAMETERS_AN_ELEMENT = 0.5
"""Newton's method is left out where label sets have more parameters per element than this, as in text: nearly every
bag is curved then, and its systems take hundreds of conjugate gradients."""

FEW_PARAMETERS = 200
"""Up to this many parameters cutting planes converge in a few iterations."""

SMALL_WORK = 200_000
"""Where elements times parameters are no more than this, and parameters are few, cutting planes take a second or two:
less than the kernels of the other methods take to compile on a new machine."""

FEW_PLANES = 150
"""Planes of a small problem of several tasks, after which Newton's method goes on: one plane for all tasks says
little of each, and with C = 1000 a thousand planes are too few where some dozen of its steps are enough."""


def method_named(name: str, problem: Problem, random_state: int = 0) -> Method[Problem, Any]:
    """The method of that name; "auto" is the one that a run would stay with from beginning to end.

    Methods whose kernels visit single bags need a compiled surrogate; for others, such as one that a user wrote,
    cutting planes stand in for them.
    """
    if name in VISITS_BAGS and not problem.surrogate.compiled:
        name = "cutting_plane"
    if name == "auto":
        patience = patience_with_epochs(problem)
        name = "cutting_plane" if patience is None else "newton" if patience < FEW_EPOCHS else "frank_wolfe"
    methods: dict[str, Method[Problem, Any]] = {
        "frank_wolfe": FrankWolfe(random_state=random_state),
        "cutting_plane": CuttingPlane(),
        "n_slack": NSlack(),
        "newton": Newton(),
    }
    if name not in methods:
        raise ValueError(f"there is no solver {name!r}; the names are {', '.join(SOLVER_NAMES)}")
    return methods[name]


def solve(
    problem: Problem,
    solver: str | Method[Problem, Any] = "auto",
    limits: Limits | None = None,
    warm: Solution | None = None,
    random_state: int = 0,
) -> Solution:
    """Minimise P(W) to the relative gap asked for, or to a limit; see `Limits`.

    "auto" begins with Frank-Wolfe, or with a few planes, and may go on with Newton's method.
    """
    limits = limits or Limits()
    if solver == "auto" and problem.surrogate.compiled:
        patience = patience_with_epochs(problem)
        after = Newton(smoothing=0.3)
        if patience is not None:
            most = limits.max_iter if np.isfinite(patience) else np.inf
            start = Patient(random_state=random_state, patience=patience, most=most)
            return run(problem, start, limits, warm, after)
        if problem.n_tasks > 1:
            return run(problem, FewPlanes(), limits, warm, after)
        solver = "cutting_plane"
    method = method_named(solver, problem, random_state) if isinstance(solver, str) else solver
    return run(problem, method, limits, warm)


def regularization_path(
    problem: Problem, Cs: Sequence[float], solver: str | Method[Problem, Any] = "auto", limits: Limits | None = None
) -> Iterator[tuple[float, Solution]]:
    """Solutions for several C, in the order given, each started from the one before.

    The costs of `problem` are taken as those of C = 1.
    """
    warm: Solution | None = None
    for C in Cs:
        warm = solve(replace(problem, costs=C * problem.costs), solver, limits, warm)
        yield C, warm


@dataclass(frozen=True)
class Patient(FrankWolfe):
    """Frank-Wolfe that stops when its gap falls so slowly that it would take more than `patience` further epochs.

    It also stops when it would take more than `most` epochs in all.
    """

    patience: float = np.inf
    most: float = np.inf

    def step(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        super().step(problem, state, tol)
        gap = relative_gap(state.primal, state.dual)
        epochs = state.iteration + 1
        if epochs % self.check_every == 0 and gap > tol:
            seen, before = state.noted
            # An average over the last half of the way: single steps jump.
            fall = log(before / gap) / (epochs - seen) if gap < before else 0.0
            left = log(gap / max(tol, 1e-12)) / fall if fall > 0 else np.inf
            room = min(self.patience, (self.most - epochs) / 2)  # its gap falls ever more slowly
            state.stalled = epochs >= TRIAL * self.patience and left > room
            if epochs >= 2 * max(seen, self.check_every):
                state.noted = (epochs, min(gap, 1.0))


@dataclass(frozen=True)
class FewPlanes(CuttingPlane):
    """Cutting planes that stop after `FEW_PLANES` of them."""

    def step(self, problem: Reachable, state: PlaneState, tol: float) -> None:
        super().step(problem, state, tol)
        state.stalled = state.iteration + 1 >= FEW_PLANES and relative_gap(state.primal, state.dual) > tol


def patience_with_epochs(problem: Problem) -> float | None:
    """How many epochs of Frank-Wolfe take as long as Newton's method takes in all; None if cutting planes take less.

    All costs are modelled, in operations of a product of matrices.
    """
    elements, sizes = len(problem.signs), problem.surrogate.bags.sizes
    size = problem.shape[0] * problem.shape[1]
    if size <= FEW_PARAMETERS and size * elements <= SMALL_WORK:
        return None
    pass_over = SLOWER_THAN_BLAS * elements * problem.design.row_entries
    cuts = CUT_OF_AN_ELEMENT * elements
    typical = float(np.sum(sizes.astype(np.float64) ** 2) / elements)  # the size of the bag of an element
    cuts_a_step = CUTS_A_STEP if typical <= SMALL_BAG else CUTS_A_STEP_AND_ELEMENT * typical
    system = system_cost(problem, size, min(1.5 * size, elements), elements)
    crowded = problem.n_tasks > 1 and size > MOST_PARAMETERS_AN_ELEMENT * elements
    fits_newton = typical <= LARGE_BAG and not crowded
    newton = NEWTON_STEPS * (4 * pass_over + cuts_a_step * cuts + system) if fits_newton else np.inf
    planes = PLANES_A_PARAMETER * size * (2 * pass_over + CUTS_A_PLANE * cuts)
    # With several tasks, one plane for all of them says little of each.
    if problem.n_tasks == 1 and planes < newton:
        return None
    return newton / (2 * pass_over + 3 * cuts)
