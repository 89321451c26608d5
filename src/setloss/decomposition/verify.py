"""The check of a decomposition that somebody brings: is it feasible, and is it D's?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, DecompositionError, mean_over_subsets
from setloss.decomposition.closed_forms import split_symmetric
from setloss.decomposition.feasibility import infeasibility
from setloss.decomposition.lower_bound import feasible_bound, require_range
from setloss.decomposition.measure import measure_table
from setloss.setfunctions.counts import Table
from setloss.setfunctions.properties import is_increasing, is_nonnegative, is_submodular, is_supermodular
from setloss.setfunctions.set_function import SetFunction, elements_of
from setloss.typing import Array

OPTIMALITY_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Verification:
    """Whether g is feasible and optimal for l (None if undecided, beyond the linear program); truthy if both.

    `violation` is the largest breach of feasibility, relative to the gains that are compared there; `excess` the
    largest distance from optimality, relative to the value of g or to the gains there; `mean_excess` is how much the
    mean of g over all subsets exceeds the minimum.

    Examples
    --------
    >>> verdict = verify_decomposition(SetFunction.symmetric([0, 0, 2]), [0, 0, 3])
    >>> verdict.feasible, verdict.optimal, round(verdict.mean_excess, 3)
    (True, False, 0.25)
    """

    feasible: bool
    optimal: bool | None
    violation: float
    excess: float
    mean_excess: float
    words: str

    def __bool__(self) -> bool:
        return self.feasible and self.optimal is True

    def __str__(self) -> str:
        return self.words


def verify_decomposition(
    loss: SetFunction, supermodular: SetFunction | ArrayLike, tolerance: float = FEASIBILITY_TOLERANCE
) -> Verification:
    """Check a g for l: supermodular, non-negative, l - g submodular, and of least sum among all such.

    `supermodular` is a set function over the same elements, or a table of the shape of `loss`. Where the lower
    bound on every feasible g is itself feasible, or the linear program has one solution, optimal means equal to it.
    Otherwise g is optimal iff every second difference that carries a multiplier of the linear program is as small as
    it may be.

    Examples
    --------
    >>> loss = SetFunction.symmetric([0, 0, 2])
    >>> bool(verify_decomposition(loss, [0, 0, 2]))
    True
    >>> print(verify_decomposition(loss, [0, 0, 3]))
    feasible, not optimal: its mean over all subsets exceeds D's by 0.25; at {0, 1} it is 3, D's is 2
    """
    g = (
        supermodular
        if isinstance(supermodular, SetFunction)
        else SetFunction.from_table(supermodular, loss.partition)
    )
    left, right = loss.aligned(g)
    l_table, g_table, partition = left.table, right.table, left.partition
    violation = infeasibility(l_table, g_table)
    if violation > tolerance:
        words = f"not feasible, by {violation:.3g} of what is compared: {_why_infeasible(loss, g)}"
        return Verification(False, False, violation, float("nan"), float("nan"), words)
    try:
        best, excess = _optimum(l_table, g_table)
    except DecompositionError as error:
        words = f"feasible; whether it is optimal is not decided: {error}"
        return Verification(True, None, violation, float("nan"), float("nan"), words)
    best_mean = mean_over_subsets(SetFunction.from_table(best, partition).counts)
    mean_excess = mean_over_subsets(SetFunction.from_table(g_table, partition).counts) - best_mean
    if excess <= OPTIMALITY_TOLERANCE:
        return Verification(True, True, violation, excess, max(mean_excess, 0.0), "feasible and optimal")
    more = f"its mean over all subsets exceeds D's by {mean_excess:.3g}" if mean_excess > 0 else "it is not D's"
    words = f"feasible, not optimal: {more}; "
    return Verification(True, False, violation, excess, mean_excess, words + _where(g_table, best, partition))


def _optimum(loss: Array, g: Array) -> tuple[Array, float]:
    """D's g, and how far from optimal the given one is."""
    long = [axis for axis, length in enumerate(loss.shape) if length > 1]
    if len(long) == 1:
        least = split_symmetric(Table(loss), long[0]).supermodular.table()
        return least, measure_table(loss, g, least=least).column_residual
    require_range(loss)
    parts = feasible_bound(loss)
    if parts is not None:
        return parts[1], measure_table(loss, g, least=parts[1]).column_residual
    from setloss.decomposition.optimality import measure_optimality  # slow to import, and few need the program
    from setloss.decomposition.program import solve_program

    solution = solve_program(loss)
    measured = measure_optimality(loss, g, solution.multipliers)
    excess = max(measured.complementarity, measured.feasibility)
    if solution.unique:
        excess = max(excess, measure_table(loss, g, least=solution.supermodular).column_residual)
    return solution.supermodular, excess


def _why_infeasible(loss: SetFunction, g: SetFunction) -> str:
    """The law that fails by most, in words."""
    checks = [("g", is_supermodular(g)), ("g", is_increasing(g)), ("g", is_nonnegative(g))]
    checks += [("l - g", is_submodular(loss - g))]
    failed = [(name, verdict) for name, verdict in checks if not verdict]
    name, worst = max(failed or checks, key=lambda pair: pair[1].excess)
    return f"{name} is not {worst.law}: {worst.witness}"


def _where(g: Array, best: Array, partition: NDArray[np.intp]) -> str:
    """The cell in which g differs most from D's, in words."""
    cell = np.unravel_index(int(np.argmax(np.abs(g - best))), g.shape)
    elements = elements_of(SetFunction.from_table(g, partition), [int(a) for a in cell])
    return f"at {set(elements) or '{}'} it is {g[cell]:.6g}, D's is {best[cell]:.6g}"
