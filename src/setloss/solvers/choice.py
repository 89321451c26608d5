"""`solve` and the choice of a method by its name.

"auto" takes cutting planes for few parameters, else alternating directions (ADMM). For sparse features, and where
the matrices of ADMM are too large, it takes block-coordinate ascent (Frank-Wolfe). What has not converged after some
iterations is left to ADMM where that fits. `make bench ONLY=convergence,text` shows what it takes.
"""

from setloss.solvers.admm import ADMM, MOST_ROWS
from setloss.solvers.cutting_plane import CuttingPlane, NSlack
from setloss.solvers.dual_points import is_hinge
from setloss.solvers.frank_wolfe import FrankWolfe
from setloss.solvers.loop import Limits, Method, run
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution

SOLVER_NAMES = ("auto", "frank_wolfe", "admm", "cutting_plane", "n_slack")

MOST_ELEMENTS = 2**23
"""Elements up to which "auto" takes ADMM: with more labels, its dozen arrays of their size take too much memory."""

FEW_PARAMETERS, SMALL_WORK, HANDFUL = 200, 200_000, 8
"""Cutting planes take problems of a handful of parameters; and of few, where elements times parameters are no more
than this: a second or two, less than the kernels of the other methods take to compile on a new machine."""

PLANES, EPOCHS = 150, 50
"""Iterations of cutting planes and of Frank-Wolfe after which "auto" takes ADMM."""

PATIENCE, PATIENCE_WITH_HINGE = 25, 160
"""Frank-Wolfe goes on while so many epochs more are expected to do; those of a hinge cost least."""


def method_named(name: str, problem: Problem, random_state: int = 0) -> Method:
    """The method of that name. For a surrogate that is not compiled, cutting planes stand in for all but Algorithm 1:
    the kernels of the others visit single bags.
    """
    if name not in SOLVER_NAMES:
        raise ValueError(f"there is no solver {name!r}; the names are {', '.join(SOLVER_NAMES)}")
    if name == "n_slack":
        return NSlack()
    if name == "cutting_plane" or not problem.surrogate.compiled or (name == "auto" and _is_small(problem)):
        return CuttingPlane()
    if name == "admm" or (name == "auto" and _fits_admm(problem) and not problem.design.sparse):
        return ADMM()
    return FrankWolfe(random_state=random_state)


def _is_small(problem: Problem) -> bool:
    """Whether cutting planes take the problem. With several tasks, one plane for all of them says little of each."""
    size = problem.shape[0] * problem.shape[1]
    little = size <= FEW_PARAMETERS and size * len(problem.signs) <= SMALL_WORK
    return little or (problem.n_tasks == 1 and size <= HANDFUL)


def _fits_admm(problem: Problem) -> bool:
    return min(problem.design.rows, problem.shape[1]) <= MOST_ROWS and len(problem.signs) <= MOST_ELEMENTS


def solve(
    problem: Problem,
    solver: str | Method = "auto",
    limits: Limits | None = None,
    warm: Solution | None = None,
    random_state: int = 0,
) -> Solution:
    """Minimise P(W) to the relative gap asked for, or to a limit; see `Limits`.

    "auto" begins with one method and may go on with ADMM. `warm` is an earlier solution to start from, as in
    ``for C in Cs: solution = solve(replace(problem, costs=C * weights), warm=solution)``.

    Examples
    --------
    Two sets of two elements, scored by one weight vector:

    >>> import numpy as np
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
    method = method_named(solver, problem, random_state) if isinstance(solver, str) else solver
    goes_on = solver == "auto" and problem.surrogate.compiled and _fits_admm(problem)
    if not goes_on or isinstance(method, ADMM):
        return run(problem, method, limits, warm)
    if isinstance(method, CuttingPlane):
        return run(problem, method, limits, warm, ADMM(), PLANES)
    return run(problem, method, limits, warm, ADMM(), EPOCHS, PATIENCE_WITH_HINGE if is_hinge(problem) else PATIENCE)
