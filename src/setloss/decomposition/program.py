"""D by linear programming, for any table over counts.

    D l = argmin_g  sum_a w(a) g(a)   s.t.   K g >= max(0, K l),  g(0) = 0,  g(e_b) = 0 for every group b

K are second differences (`setfunctions.differences`), w the numbers of subsets in the cells. (g(e_b) = 0 loses
nothing: a modular part of g can be moved to f. Then g >= 0 and increasing follow from K g >= 0.) Among several
optima the one of least ``sum_a w(a) g(a)^2``, so that the grouped and the general table of one function have the
same D, and D keeps the symmetries of l.

`refinement` finds an optimal vertex, `tie_break` the optimum of least norm, and `optimality`, which knows
neither, measures what came out.
"""

from dataclasses import dataclass
from math import comb, prod

import numpy as np
from scipy.sparse import eye_array, vstack

from setloss.decomposition.certificate import Measured, ProgramTooLargeError
from setloss.decomposition.feasibility import ROUNDING_OF_ROWS
from setloss.decomposition.fixed_point import Exact, exact_weights, integers, to_fixed, to_float
from setloss.decomposition.lower_bound import required_curvature
from setloss.decomposition.optimality import free_cells, measure_multipliers
from setloss.decomposition.refinement import Program, optimal_vertex, suits_interior_point
from setloss.decomposition.tie_break import choose_optimum
from setloss.setfunctions.differences import axis_pairs, second_difference_matrix, without_modular_part
from setloss.typing import Array, Shape

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
    unique: bool
    tie_break_residual: float
    measured: Measured


def solve_program(table: Array) -> ProgramSolution:
    """D of a function of two or more elements, given by its table over counts; or a `DecompositionError`.

    Values are right within `lower_bound.MAX_RANGE`, which the caller sees to.

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
    supermodular = np.ldexp(to_float(g), exponent)
    submodular = np.ldexp(_rest(loss, g, program.rounding), exponent)
    multipliers = integers([0] * len(program.bounds))
    multipliers[vertex.tight] = vertex.multipliers
    measured = measure_multipliers(table, supermodular, multipliers, submodular)
    return ProgramSolution(submodular, supermodular, multipliers, unique, residual, measured)


def _rest(loss: Exact, supermodular: Exact, rounding: float) -> Array:
    """The part f = l - g, rounded once, so that its errors are of its own size where g is large.

    Zero where g is not and f is no more than rounding: that is what the solve left of l = g.
    """
    rest = to_float(loss - supermodular)
    rest[(np.abs(rest) < rounding) & (supermodular != 0)] = 0.0
    return rest


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
