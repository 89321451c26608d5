"""Is a decomposition that somebody brings feasible, and is it D's?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, mean_over_subsets
from setloss.decomposition.measure import feasible_bound, infeasibility, measure_table
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
    parts = feasible_bound(l_table)
    if parts is not None:
        best = parts[1]
        excess = measure_table(l_table, g_table, bound=best).column_residual
    else:
        from setloss.decomposition.optimality import measure_optimality
        from setloss.decomposition.program import ProgramTooLargeError, solve_program

        try:
            solution = solve_program(l_table)
        except ProgramTooLargeError:
            words = "feasible; whether it is optimal is not decided, the linear program is too large"
            return Verification(True, None, violation, float("nan"), float("nan"), words)
        best = solution.supermodular
        measured = measure_optimality(l_table, g_table, solution.multiplier_layers)
        excess = max(measured.complementarity, measured.feasibility)
        if solution.unique:
            excess = max(excess, measure_table(l_table, g_table, bound=best).column_residual)
    best_mean = mean_over_subsets(SetFunction.from_table(best, partition).counts)
    mean_excess = mean_over_subsets(SetFunction.from_table(g_table, partition).counts) - best_mean
    if excess <= OPTIMALITY_TOLERANCE:
        return Verification(True, True, violation, excess, max(mean_excess, 0.0), "feasible and optimal")
    more = f"its mean over all subsets exceeds D's by {mean_excess:.3g}" if mean_excess > 0 else "it is not D's"
    words = f"feasible, not optimal: {more}; "
    return Verification(True, False, violation, excess, mean_excess, words + _where(g_table, best, partition))


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
