"""Is a decomposition that somebody brings feasible, and is it D's?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, curved_scale, infeasibility, mean_over_subsets
from setloss.decomposition.lower_bound import pointwise_lower_bound
from setloss.setfunctions.differences import cell_levels, rounding_error, without_modular_part
from setloss.setfunctions.properties import is_nonnegative, is_submodular, is_supermodular
from setloss.setfunctions.set_function import SetFunction, elements_of
from setloss.typing import Array

OPTIMALITY_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Verification:
    """Whether g is feasible and optimal for l (None if undecided, beyond the linear program); truthy if both.

    `violation` is the largest breach of feasibility and `excess` the largest distance from optimality, both
    relative to the largest |l(A) - sum_{i in A} l({i})|; `mean_excess` is how much the mean of g over all subsets
    exceeds the minimum.
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
    bound on every feasible g is itself feasible, optimal means equal to it. Otherwise g is optimal iff every
    second difference that carries a multiplier of the linear program is as small as it may be.
    """
    g = supermodular if isinstance(supermodular, SetFunction) else SetFunction.from_table(supermodular, loss.groups)
    left, right = loss.aligned(g)
    l_table, g_table, groups = without_modular_part(left.table), right.table, left.groups
    scale = curved_scale(l_table)
    violation = infeasibility(left.table, g_table)
    if violation > tolerance:
        words = f"not feasible, by {violation:.3g} of the size of l: {_why_infeasible(loss, g)}"
        return Verification(False, False, violation, float("nan"), float("nan"), words)
    bound = pointwise_lower_bound(l_table)
    if infeasibility(l_table, bound) <= tolerance:
        excess, words = _compare(g_table, bound, groups, scale)
        # A function that is modular but for rounding has no other scale than its rounding error.
        noise = rounding_error(left.table) * sum(left.table.shape) ** 2
        excess = max(excess - noise / scale, 0.0)
        best = bound
    else:
        from setloss.decomposition.program import ProgramTooLargeError, measure_optimality, solve_program

        try:
            solution = solve_program(l_table)
        except ProgramTooLargeError:
            words = "feasible; whether it is optimal is not decided, the linear program is too large"
            return Verification(True, None, violation, float("nan"), float("nan"), words)
        best = solution.supermodular
        excess = measure_optimality(l_table, g_table, solution.multiplier_layers).complementarity
        singletons = cell_levels(g_table.shape) < 2
        excess = max(excess, float(np.max(np.abs(g_table[singletons]))) / scale)
        words = _compare(g_table, best, groups, scale)[1]
    best_mean = mean_over_subsets(SetFunction.from_table(best, groups).counts)
    mean_excess = mean_over_subsets(SetFunction.from_table(g_table, groups).counts) - best_mean
    if excess <= OPTIMALITY_TOLERANCE:
        return Verification(True, True, violation, excess, max(mean_excess, 0.0), "feasible and optimal")
    words = f"feasible, not optimal: its mean over all subsets exceeds D's by {mean_excess:.3g}; {words}"
    return Verification(True, False, violation, excess, mean_excess, words)


def _why_infeasible(loss: SetFunction, g: SetFunction) -> str:
    checks = (("g", is_supermodular(g, 0.0)), ("g", is_nonnegative(g, 0.0)), ("l - g", is_submodular(loss - g, 0.0)))
    name, worst = max(
        ((n, v) for n, v in checks if not v), key=lambda pair: pair[1].excess, default=("g", checks[0][1])
    )
    return f"{name} is not {worst.law}: {worst.witness}"


def _compare(g: Array, best: Array, groups: NDArray[np.intp], scale: float) -> tuple[float, str]:
    """The cell in which g differs most from D's, in words."""
    difference = g - best
    cell = np.unravel_index(int(np.argmax(np.abs(difference))), g.shape)
    where = elements_of(SetFunction.from_table(g, groups), [int(a) for a in cell])
    words = f"at {set(where) or '{}'} it is {g[cell]:.6g}, D's is {best[cell]:.6g}"
    return float(np.abs(difference[cell])) / scale, words
