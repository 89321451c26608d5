"""The judge of D's linear program: measured numbers that do not depend on how g and its multipliers were found.

    min_g  sum_a w(a) g(a)   s.t.   K g >= r := max(0, K l),  g >= 0,  g(0) = 0,  g(e_b) = 0       (primal)
    max_y  sum_i r_i y_i     s.t.   z(a) + (K^T y)(a) = w(a) on every other cell,  y, z >= 0       (dual)

``g`` and ``(z, y)`` with column residual ``rho`` and complementarity ``sigma`` solve, exactly, the program whose
weights are changed by at most the share ``rho`` *of each cell's own weight* and whose second differences are
changed by at most the share ``sigma`` of the gains that are in them. A gap relative to the objective says much less:
the weights span 22 orders of magnitude at 40 + 40 elements, and the cells of small counts are lost in the sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.decomposition.certificate import OPTIMALITY_TOLERANCE, Measured
from setloss.decomposition.feasibility import infeasibility
from setloss.decomposition.fixed_point import ONE, Exact, exact_product, exact_weights, to_float
from setloss.decomposition.lower_bound import Curvature, required_curvature
from setloss.setfunctions.differences import (
    Inequalities,
    axis_pairs,
    cell_levels,
    second_difference,
    second_difference_matrix,
    without_modular_part,
)
from setloss.typing import Array, Shape


def measure_optimality(
    table: Array, supermodular: Array, multipliers: Exact, submodular: Array | None = None
) -> Measured:
    """Measure a candidate ``g`` and multipliers ``(z, y)`` of the program of ``table`` (l, zero at zero counts).

    ``multipliers`` are fixed-point numbers (`fixed_point`): z of `free_cells`, then y in the row order of
    `second_difference_matrix`; negative ones count as zero. The residual is the larger of rho and sigma. The dual
    value is a true bound: that of y, shrunk until no column exceeds its weight. Without f it is l - g.

    Examples
    --------
    >>> from setloss.decomposition.program import solve_program
    >>> table = np.array([0.0, 1.0, 1.0, 2.0])
    >>> solution = solve_program(table)
    >>> measure_optimality(table, solution.supermodular, solution.multipliers).column_residual
    0.0
    """
    free, weights = free_cells(table.shape), exact_weights(table.shape)
    multipliers = np.maximum(multipliers, 0)
    z, y = multipliers[: len(free)], multipliers[len(free) :]
    required = required_curvature(table, noise=table)
    by_column = second_difference_matrix(table.shape)[:, free].T.tocsr()
    columns = zip(z + exact_product(by_column, y), weights[free], strict=True)
    residuals = (
        np.array([filled / (ONE * w) for filled, w in columns]) - 1.0
    )  # quotients of integers are rounded once
    priced = np.ones(table.size, dtype=bool)  # outside of the free cells g is zero
    priced[free] = z > 0
    slack = max(
        _positive_cells(table, supermodular, priced.reshape(table.shape)),
        _open_rows(table, supermodular, required, y > 0),
    )
    least = np.concatenate([block.ravel() for block in required.values()])
    dual = to_float(y) * 2.0 ** -(sum(table.shape) - table.ndim) @ least / (1.0 + np.max(residuals, initial=0.0))
    rho = float(np.max(np.abs(residuals), initial=0.0))
    return Measured(infeasibility(table, supermodular, submodular), max(rho, slack), float(dual))


def _positive_cells(table: Array, supermodular: Array, priced: NDArray[np.bool_]) -> float:
    """The largest g(a) where z(a) > 0, relative to l without its modular part on subsets of a, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    excess = np.where(priced, np.abs(supermodular), 0.0)
    return Inequalities(without_modular_part(table), excess, (), sizes).violation(OPTIMALITY_TOLERANCE)


def _open_rows(table: Array, supermodular: Array, required: Curvature, priced: NDArray[np.bool_]) -> float:
    """The largest slack of a row with a multiplier, relative to the gains of g or of l in it, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    worst, start = 0.0, 0
    for b, c in axis_pairs(table.shape):
        slack = np.abs(second_difference(supermodular, b, c) - required[b, c])
        slack[~priced[start : start + slack.size].reshape(slack.shape)] = 0.0
        start += slack.size
        by_gains = (Inequalities(values, slack, (b, c), sizes) for values in (supermodular, table))
        worst = max(worst, min(rows.violation(OPTIMALITY_TOLERANCE) for rows in by_gains))
    return worst


def free_cells(shape: Shape) -> NDArray[np.intp]:
    """Flat indices of the cells with two or more elements; g vanishes on the others."""
    return np.flatnonzero(cell_levels(shape) >= 2)
