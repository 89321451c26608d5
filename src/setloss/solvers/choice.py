"""`solve` and the choice of a method: by name, or with "auto" by modelled cost, and again in mid-run.

Cutting planes take problems of few parameters. Alternating directions (ADMM) take those of which they cost few epochs
of block-coordinate ascent (Frank-Wolfe); for the others, of many features or labels, that begins, and ADMM goes on
from where it is as soon as the fall of its gap predicts more work than ADMM takes. Costs are counted in operations of
a product of matrices, never in seconds: the same data take the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from setloss.solvers.admm import ADMM, MOST_ROWS
from setloss.solvers.cutting_plane import CuttingPlane, NSlack, PlaneState, Reachable
from setloss.solvers.dual_points import hinge_gains
from setloss.solvers.frank_wolfe import FrankWolfe, FrankWolfeState
from setloss.solvers.loop import Limits, Method, run
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, relative_gap

SOLVER_NAMES = ("auto", "frank_wolfe", "admm", "cutting_plane", "n_slack")

VISITS_BAGS = ("auto", "frank_wolfe", "admm")
"""Solvers whose kernels ask for the cuts of single bags."""

SLOWER_THAN_BLAS = 8.0
"""An operation of a pass over X takes as long as this many operations of a product of matrices."""

CUT_OF_AN_ELEMENT, HINGE_OF_AN_ELEMENT = 1000.0, 20.0
"""Operations of a product of matrices in the time that the cut of a bag takes per element; a hinge needs no cuts."""

ADMM_STEPS, CUTS_A_STEP = 100.0, 3.0
"""Iterations of alternating directions, and cuts per bag in each, to reckon with."""

EIGENVECTORS = 8.0
"""Operations for the eigenvectors of a matrix, over the cube of its size."""

MOST_ELEMENTS = 2**23
"""Elements up to which ADMM is taken: with more labels, its dozen arrays of the size of W take too much memory."""

PLANES_A_PARAMETER, CUTS_A_PLANE = 8.0, 6.0
"""Planes until cutting planes converge, for every parameter, and cuts in the search along a line that gives one. Less
than half as many planes were seen; more of them keep cutting planes for where they are clearly cheaper."""

TRIAL = 0.125
"""The share of its patience that Frank-Wolfe spends in any case: its gap may fall late."""

FEW_EPOCHS = 150
"""ADMM begins where it costs fewer epochs of Frank-Wolfe than this: it converges in fewer than they predict."""

FEW_PARAMETERS = 200
"""Up to this many parameters cutting planes converge in a few iterations."""

SMALL_WORK = 200_000
"""Where elements times parameters are no more than this, and parameters are few, cutting planes take a second or two:
less than the kernels of the other methods take to compile on a new machine."""

FEW_PLANES = 150
"""Planes of a small problem of several tasks, after which ADMM goes on: one plane for all tasks says little of each,
and with C = 1000 a thousand planes are too few."""


def method_named(name: str, problem: Problem, random_state: int = 0, most: float = np.inf) -> Method[Problem, Any]:
    """The method of that name; "auto" is the one of least modelled cost, for up to `most` iterations.

    Methods whose kernels visit single bags need a compiled surrogate; for others, such as one that a user wrote,
    cutting planes stand in for them.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.plans.batch import batch_surrogate
    >>> from setloss.solvers import Design
    >>> surrogate = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3])
    >>> problem = Problem(Design.of([[1.0], [-1.0], [2.0]]), surrogate, [1, -1, 1], [0, 1, 2], np.ones(2))
    >>> method_named("auto", problem).name  # few parameters
    'cutting_plane'
    """
    if name not in SOLVER_NAMES:
        raise ValueError(f"there is no solver {name!r}; the names are {', '.join(SOLVER_NAMES)}")
    if name == "n_slack":
        return NSlack()
    if name == "cutting_plane" or not problem.surrogate.compiled:
        return CuttingPlane()
    if name == "frank_wolfe":
        return FrankWolfe(random_state=random_state)
    patience = 0.0 if name == "admm" else patience_with_epochs(problem)
    if patience is None:
        return CuttingPlane() if problem.n_tasks == 1 else FewPlanes()
    if patience < FEW_EPOCHS:
        return ADMM()
    return Patient(random_state=random_state, patience=patience, most=most if np.isfinite(patience) else np.inf)


def solve(
    problem: Problem,
    solver: str | Method[Problem, Any] = "auto",
    limits: Limits | None = None,
    warm: Solution | None = None,
    random_state: int = 0,
) -> Solution:
    """Minimise P(W) to the relative gap asked for, or to a limit; see `Limits`.

    "auto" begins with one method and may go on with ADMM.

    Examples
    --------
    Two sets of two elements, scored by one weight vector:

    >>> from setloss import Dice
    >>> from setloss.bags import Bags
    >>> from setloss.plans.batch import batch_surrogate
    >>> from setloss.solvers import Design, Limits, Problem
    >>> truth = np.array([True, False, True, True])
    >>> X, bags = np.array([[1.0], [-1.0], [2.0], [1.0]]), Bags.from_groups([0, 0, 1, 1])
    >>> surrogate = batch_surrogate(Dice(), truth, bags, "slack", scale=1.0)
    >>> problem = Problem(Design.of(X), surrogate, np.where(truth, 1.0, -1.0), np.arange(4), np.ones(2))
    >>> solution = solve(problem, "cutting_plane", Limits(tol=1e-6))
    >>> solution.status.name, bool(solution.gap <= 1e-6)
    ('CONVERGED', True)
    """
    limits = limits or Limits()
    method = method_named(solver, problem, random_state, limits.max_iter) if isinstance(solver, str) else solver
    return run(problem, method, limits, warm, ADMM() if solver == "auto" and problem.surrogate.compiled else None)


def regularization_path(
    problem: Problem, Cs: Sequence[float], solver: str | Method[Problem, Any] = "auto", limits: Limits | None = None
) -> Iterator[tuple[float, Solution]]:
    """Solutions for several C, in the order given, each started from the one before.

    The costs of `problem` are taken as those of C = 1.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.plans.batch import batch_surrogate
    >>> from setloss.solvers import Design
    >>> surrogate = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3])
    >>> problem = Problem(Design.of([[1.0], [-1.0], [2.0]]), surrogate, [1, -1, 1], [0, 1, 2], np.ones(2))
    >>> [(C, solution.status.name) for C, solution in regularization_path(problem, [0.1, 1.0])]
    [(0.1, 'CONVERGED'), (1.0, 'CONVERGED')]
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
            active = float(state.cuts.widths(problem).sum()) / len(problem.signs)  # an epoch costs as much less
            room = min(self.patience / max(active, 0.01), (self.most - epochs) / 2)  # its gap falls ever more slowly
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
    """How many epochs of Frank-Wolfe take as long as ADMM takes in all; None if cutting planes take less.

    All costs are modelled, in operations of a product of matrices.
    """
    elements, size = len(problem.signs), problem.shape[0] * problem.shape[1]
    if size <= FEW_PARAMETERS and size * elements <= SMALL_WORK:
        return None
    pass_over = elements * problem.design.row_entries
    slow_pass = SLOWER_THAN_BLAS * pass_over
    cuts = elements * (CUT_OF_AN_ELEMENT if hinge_gains(problem) is None else HINGE_OF_AN_ELEMENT)
    system = float(min(problem.design.rows, problem.shape[1]))
    step = 2 * pass_over + CUTS_A_STEP * cuts + 4 * system * size
    fits = system <= MOST_ROWS and elements <= MOST_ELEMENTS
    admm = EIGENVECTORS * system**3 + ADMM_STEPS * step if fits else np.inf
    planes = PLANES_A_PARAMETER * size * (2 * slow_pass + CUTS_A_PLANE * cuts)
    # With several tasks, one plane for all of them says little of each.
    if problem.n_tasks == 1 and planes < admm:
        return None
    return admm / (2 * slow_pass + 3 * cuts)
