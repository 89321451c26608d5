"""The check of a decomposition that somebody brings: is it feasible, and is it D's?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from setloss.decomposition.certificate import (
    FEASIBILITY_TOLERANCE,
    OPTIMALITY_TOLERANCE,
    DecompositionError,
    mean_over_subsets,
)
from setloss.decomposition.optimality import infeasibility, measure_table
from setloss.setfunctions.properties import is_increasing, is_nonnegative, is_submodular, is_supermodular
from setloss.setfunctions.set_function import SetFunction, elements_of
from setloss.typing import Array


@dataclass(frozen=True)
class Verification:
    """Whether g is feasible and optimal for l (None if undecided, beyond the linear program); truthy if both.

    `mean_excess` is how much the mean of g over all subsets exceeds the minimum, `words` says where it fails.

    Examples
    --------
    >>> verdict = verify_decomposition(SetFunction.symmetric([0, 0, 2]), [0, 0, 3])
    >>> verdict.feasible, verdict.optimal, round(verdict.mean_excess, 3)
    (True, False, 0.25)
    """

    feasible: bool
    optimal: bool | None
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

    `supermodular` is a set function over the same elements, or a table of the shape of `loss`. Where D has one
    solution, optimal means equal to it. Otherwise g is optimal iff every second difference that carries a multiplier
    of the linear program is as small as it may be.

    Examples
    --------
    >>> loss = SetFunction.symmetric([0, 0, 2])
    >>> bool(verify_decomposition(loss, [0, 0, 2]))
    True
    >>> print(verify_decomposition(loss, [0, 0, 3]))
    feasible, not optimal: its mean over all subsets exceeds D's by 0.25; at {0, 1} it is 3, D's is 2
    """
    if not isinstance(supermodular, SetFunction):
        supermodular = SetFunction.from_table(supermodular, loss.partition)
    loss, g = loss.aligned(supermodular)
    violation = infeasibility(loss.table, g.table)
    if violation > tolerance:
        words = f"not feasible, by {violation:.3g} of what is compared: {_why_infeasible(loss, g)}"
        return Verification(False, False, float("nan"), words)
    try:
        best, excess = _optimum(loss, g.table)
    except DecompositionError as error:
        return Verification(True, None, float("nan"), f"feasible; whether it is optimal is not decided: {error}")
    mean_excess = mean_over_subsets(g.counts) - mean_over_subsets(best.counts)
    if excess <= OPTIMALITY_TOLERANCE:
        return Verification(True, True, max(mean_excess, 0.0), "feasible and optimal")
    more = f"its mean over all subsets exceeds D's by {mean_excess:.3g}" if mean_excess > 0 else "it is not D's"
    return Verification(True, False, mean_excess, f"feasible, not optimal: {more}; {_where(g, best)}")


def _optimum(loss: SetFunction, g: Array) -> tuple[SetFunction, float]:
    """D's g, and how far from optimal the given one is."""
    from setloss.decomposition import decompose  # which imports this module

    parts = decompose(loss)
    if parts.certificate.unique:
        return parts.supermodular, measure_table(loss.table, g, least=parts.supermodular.table).column_residual
    from setloss.decomposition.program import (  # slow to import, and few need the program
        measure_multipliers,
        solve_program,
    )

    multipliers = solve_program(loss.table).multipliers
    return parts.supermodular, measure_multipliers(loss.table, g, multipliers).column_residual


def _why_infeasible(loss: SetFunction, g: SetFunction) -> str:
    """The law that fails by most, in words."""
    checks = [("g", is_supermodular(g)), ("g", is_increasing(g)), ("g", is_nonnegative(g))]
    checks += [("l - g", is_submodular(loss - g))]
    failed = [(name, verdict) for name, verdict in checks if not verdict]
    name, worst = max(failed or checks, key=lambda pair: pair[1].excess)
    return f"{name} is not {worst.law}: {worst.witness}"


def _where(g: SetFunction, best: SetFunction) -> str:
    """The cell in which g differs most from D's, in words."""
    cell = np.unravel_index(int(np.argmax(np.abs(g.table - best.table))), g.table.shape)
    elements = elements_of(g, [int(a) for a in cell])
    return f"at {set(elements) or '{}'} it is {g.table[cell]:.6g}, D's is {best.table[cell]:.6g}"
