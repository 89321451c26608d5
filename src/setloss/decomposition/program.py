"""D by linear programming, for any table over counts, and what proves a solution.

    min_g  sum_a w(a) g(a)   s.t.   K g >= r := max(0, K l),  g >= 0,  g(0) = 0,  g(e_b) = 0       (primal)
    max_y  sum_i r_i y_i     s.t.   z(a) + (K^T y)(a) = w(a) on every other cell,  y, z >= 0       (dual)

K are second differences (`setfunctions.differences`), w the numbers of subsets in the cells. (g(e_b) = 0 loses
nothing: a modular part of g can be moved to f. Then g >= 0 and increasing follow from K g >= 0.) Among several
optima the one of least ``sum_a w(a) g(a)^2``, so that the grouped and the general table of one function have the
same D, and D keeps the symmetries of l.

``g`` and ``(z, y)`` with column residual ``rho`` and complementarity ``sigma`` solve, exactly, the program whose
weights are changed by at most the share ``rho`` *of each cell's own weight* and whose second differences are
changed by at most the share ``sigma`` of the gains that are in them. A gap relative to the objective says much less:
the weights span 22 orders of magnitude at 40 + 40 elements, and the cells of small counts are lost in the sum.

`refinement` finds an optimal vertex, `tie_break` the optimum of least norm, and `measure_multipliers`, which knows
neither, measures what came out.
"""

from dataclasses import dataclass
from functools import reduce
from math import comb, prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array, vstack

from setloss.decomposition.certificate import OPTIMALITY_TOLERANCE, Measured, ProgramTooLargeError
from setloss.decomposition.optimality import ROUNDING_OF_ROWS, Curvature, infeasibility, required_curvature
from setloss.decomposition.refinement import (
    ONE,
    Exact,
    Program,
    exact_product,
    integers,
    optimal_vertex,
    suits_interior_point,
    to_fixed,
    to_float,
)
from setloss.decomposition.tie_break import choose_optimum
from setloss.setfunctions.differences import (
    Inequalities,
    axis_pairs,
    cell_levels,
    second_difference,
    second_difference_matrix,
    without_modular_part,
)
from setloss.typing import Array, Flags, Shape

MAX_CELLS_TIMES_ROWS_SIMPLEX = 25_000_000
"""Allows tables of 51 x 51 cells (8 to 20 s); at 61 x 61 the degenerate ones are no longer solved reliably."""

MAX_CELLS_INTERIOR_POINT = 2**13
"""Allows general functions of 13 elements (15 to 30 s, 0.5 GiB)."""

MAX_ELEMENTS = 400
"""The weights, and multipliers in units of 2**-128, have to be float64 numbers."""


@dataclass(frozen=True)
class ProgramSolution:
    """The two parts, of the table's shape, with what proves them: see `measure_multipliers` and `choose_optimum`."""

    submodular: Array
    supermodular: Array
    multipliers: Exact
    measured: Measured


def solve_program(table: Array) -> ProgramSolution:
    """D of a function of two or more elements, given by its table over counts; or a `DecompositionError`.

    Values are right within `optimality.MAX_RANGE`, which the caller sees to.

    Examples
    --------
    >>> solve_program(np.array([0.0, 0.0, 2.0])).supermodular
    array([0., 0., 2.])
    """
    refuse_if_too_large(table.shape)
    # The program sees l times a power of two, at most 1 where l is not modular.
    exponent = int(np.frexp(np.max(np.abs(without_modular_part(table))))[1])
    scaled = np.ldexp(table, -exponent)
    loss = to_fixed(scaled)
    free = free_cells(table.shape)
    bends = [block.ravel() for block in required_curvature(loss, scaled).values()]
    program = Program(
        vstack([eye_array(len(free)), second_difference_matrix(table.shape)[:, free]], format="csr"),
        np.concatenate([integers([0] * len(free)), *bends]),
        exact_weights(table.shape)[free],
        ROUNDING_OF_ROWS * float(np.max(np.abs(scaled))),
    )
    vertex = optimal_vertex(program)
    values, unique, residual = choose_optimum(program, vertex)
    g = integers([0] * table.size)
    g[free] = np.where(values < to_fixed(np.array(program.rounding)), 0, values)  # rounding, or below 0 by rounding
    g = g.reshape(table.shape)
    rest = to_float(loss - g)  # f = l - g, rounded once: its errors are of its own size where g is large
    rest[(np.abs(rest) < program.rounding) & (g != 0)] = 0.0  # what the solve left of l = g
    supermodular, submodular = np.ldexp(to_float(g), exponent), np.ldexp(rest, exponent)
    multipliers = integers([0] * len(program.bounds))
    multipliers[vertex.tight] = vertex.multipliers
    measured = measure_multipliers(table, supermodular, multipliers, submodular)
    measured = measured._replace(unique=unique, tie_break_residual=residual)
    return ProgramSolution(submodular, supermodular, multipliers, measured)


def refuse_if_too_large(shape: Shape) -> None:
    """Raise `ProgramTooLargeError` for tables beyond the limits of the linear program; costs nothing."""
    elements, cells = sum(length - 1 for length in shape), prod(shape)
    rows = sum(prod(n - (axis == b) - (axis == c) for axis, n in enumerate(shape)) for b, c in axis_pairs(shape))
    if suits_interior_point(cells, prod(comb(n - 1, (n - 1) // 2) for n in shape)):
        fits = cells <= MAX_CELLS_INTERIOR_POINT
    else:
        fits = cells * rows <= MAX_CELLS_TIMES_ROWS_SIMPLEX
    if not fits or elements > MAX_ELEMENTS:
        raise ProgramTooLargeError(
            f"the linear program of D for a table of shape {shape} has {elements} elements, {cells} cells and {rows} "
            f"second differences; it takes {MAX_ELEMENTS} elements, tables over two groups of about 50 + 50, and 13 "
            "elements that are groups of their own. Use fewer elements, describe the function by fewer groups (one "
            "if it is symmetric, two for false negatives and false positives), or bring your own supermodular part "
            "and check it with verify_decomposition."
        )


def exact_weights(shape: Shape) -> Exact:
    """``prod_b C(n_b, a_b)`` of every cell as Python integers, flat."""
    binomials = [integers(comb(length - 1, a) for a in range(length)) for length in shape]
    return np.asarray(reduce(np.multiply.outer, binomials)).ravel()


def free_cells(shape: Shape) -> NDArray[np.intp]:
    """Flat indices of the cells with two or more elements; g vanishes on the others."""
    return np.flatnonzero(cell_levels(shape) >= 2)


def measure_multipliers(
    table: Array, supermodular: Array, multipliers: Exact, submodular: Array | None = None
) -> Measured:
    """Measure a candidate ``g`` and multipliers ``(z, y)`` of the program of ``table`` (l, zero at zero counts).

    ``multipliers`` are fixed-point numbers (`to_fixed`): z of `free_cells`, then y in the row order of
    `second_difference_matrix`; negative ones count as zero. The residual is the larger of rho and sigma. The dual
    value is a true bound: that of y, shrunk until no column exceeds its weight. Without f it is l - g.

    Examples
    --------
    >>> table = np.array([0.0, 1.0, 1.0, 2.0])
    >>> solution = solve_program(table)
    >>> measure_multipliers(table, solution.supermodular, solution.multipliers).column_residual
    0.0
    """
    free, weights = free_cells(table.shape), exact_weights(table.shape)
    multipliers = np.maximum(multipliers, 0)
    z, y = multipliers[: len(free)], multipliers[len(free) :]
    required = required_curvature(table)
    by_column = second_difference_matrix(table.shape)[:, free].T.tocsr()
    columns = zip(z + exact_product(by_column, y), weights[free], strict=True)
    # Quotients of integers are rounded once.
    residuals = np.array([filled / (ONE * w) for filled, w in columns]) - 1.0
    priced = np.ones(table.size, dtype=bool)  # outside of the free cells g is zero
    priced[free] = z > 0
    sigma = _complementarity(table, supermodular, required, priced.reshape(table.shape), y > 0)
    least = np.concatenate([block.ravel() for block in required.values()])
    dual = to_float(y) * 2.0 ** -(sum(table.shape) - table.ndim) @ least / (1.0 + np.max(residuals, initial=0.0))
    rho = float(np.max(np.abs(residuals), initial=0.0))
    return Measured(infeasibility(table, supermodular, submodular), max(rho, sigma), float(dual))


def _complementarity(table: Array, supermodular: Array, required: Curvature, cells: Flags, rows: Flags) -> float:
    """The largest g(a), or slack of a row of K, that has a multiplier, beyond rounding.

    Values are relative to l without its modular part on subsets of a, slacks to the gains of g or of l in them.
    """
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    values = np.where(cells, np.abs(supermodular), 0.0)
    worst, start = Inequalities(without_modular_part(table), values, (), sizes).violation(OPTIMALITY_TOLERANCE), 0
    for (b, c), least in required.items():
        priced = rows[start : start + least.size].reshape(least.shape)
        slack = np.where(priced, np.abs(second_difference(supermodular, b, c) - least), 0.0)
        start += least.size
        by_gains = (Inequalities(part, slack, (b, c), sizes) for part in (supermodular, table))
        worst = max(worst, min(one.violation(OPTIMALITY_TOLERANCE) for one in by_gains))
    return worst
