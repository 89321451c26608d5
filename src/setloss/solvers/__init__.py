"""Solvers that train to a certified duality gap.

`Problem` says what is minimised, a method (`FrankWolfe`, `CuttingPlane`, `NSlack`, `Subgradient`) how, and `solve`
runs the one loop and returns a `Solution`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from setloss.solvers.auto import fixed_method, solve_in_turn
from setloss.solvers.checkpoint import CheckpointError, CheckpointWarning
from setloss.solvers.cutting_plane import CuttingPlane
from setloss.solvers.frank_wolfe import FrankWolfe
from setloss.solvers.loop import Limits, Method, run
from setloss.solvers.n_slack import NSlack
from setloss.solvers.newton import Newton
from setloss.solvers.problem import Design, Problem
from setloss.solvers.solution import Record, Solution, Status
from setloss.solvers.subgradient import Subgradient

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "CuttingPlane",
    "Design",
    "FrankWolfe",
    "Limits",
    "NSlack",
    "Newton",
    "Problem",
    "Record",
    "Solution",
    "Status",
    "Subgradient",
    "method_named",
    "regularization_path",
    "solve",
]

SOLVER_NAMES = ("auto", "frank_wolfe", "newton", "cutting_plane", "n_slack", "subgradient")

VISITS_BAGS = ("auto", "frank_wolfe", "newton", "subgradient")


def method_named(name: str, problem: Problem, random_state: int = 0) -> Method[Problem]:
    """The method of that name; "auto" is the one that a run would stay with from beginning to end.

    Methods whose kernels visit single bags need a compiled surrogate; for others, such as one that a user wrote,
    cutting planes stand in for them.
    """
    if name in VISITS_BAGS and not problem.surrogate.compiled:
        name = "cutting_plane"
    if name == "auto":
        return fixed_method(problem, random_state)
    methods: dict[str, Method[Problem]] = {
        "frank_wolfe": FrankWolfe(random_state=random_state),
        "cutting_plane": CuttingPlane(),
        "n_slack": NSlack(),
        "newton": Newton(),
        "subgradient": Subgradient(random_state),
    }
    if name not in methods:
        raise ValueError(f"there is no solver {name!r}; the names are {', '.join(SOLVER_NAMES)}")
    return methods[name]


def solve(
    problem: Problem,
    solver: str | Method[Problem] = "auto",
    limits: Limits | None = None,
    warm: Solution | None = None,
    random_state: int = 0,
) -> Solution:
    """Minimise P(W) to the relative gap asked for, or to a limit; see `Limits`.

    "auto" begins with Frank-Wolfe and may go on with Newton's method; with a checkpoint it stays with one of them.
    """
    limits = limits or Limits()
    method = method_named(solver, problem, random_state) if isinstance(solver, str) else solver
    if solver == "auto" and limits.checkpoint is None and not isinstance(method, CuttingPlane):
        return solve_in_turn(problem, limits, warm, random_state)
    return run(problem, method, limits, warm)


def regularization_path(
    problem: Problem, Cs: Sequence[float], solver: str | Method[Problem] = "auto", limits: Limits | None = None
) -> Iterator[tuple[float, Solution]]:
    """Solutions for several C, in the order given, each started from the one before.

    The costs of `problem` are taken as those of C = 1.
    """
    warm: Solution | None = None
    for C in Cs:
        warm = solve(replace(problem, costs=C * problem.costs), solver, limits, warm)
        yield C, warm
