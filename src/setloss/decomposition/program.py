"""D by linear programming, for any table over counts.

    D l = argmin_g  sum_a w(a) g(a)   s.t.   K g >= max(0, K l),  g(0) = 0,  g(e_b) = 0 for every group b

K are second differences (`setfunctions.differences`), w the numbers of subsets in the cells. (g(e_b) = 0 loses
nothing: a modular part of g can be moved to f. Then g >= 0 and increasing follow from K g >= 0.) Among several
optima the one of least ``sum_a w(a) g(a)^2``, so that the grouped and the general table of one function have the
same D, and D keeps the symmetries of l.

`refinement` finds an optimal vertex, `tie_break` the optimum of least norm, and `optimality`, which knows
neither, measures what came out. Nothing leaves this module that does not pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod

import numpy as np

from setloss.decomposition.certificate import Certificate, DecompositionError, ProgramTooLargeError
from setloss.decomposition.feasibility import without_rounding
from setloss.decomposition.fixed_point import Exact, exact_weights, integers, to_fixed, to_float
from setloss.decomposition.lower_bound import required_curvature
from setloss.decomposition.optimality import Optimality, free_cells, measure_optimality
from setloss.decomposition.refinement import Program, optimal_vertex, suits_interior_point
from setloss.decomposition.tie_break import choose_optimum
from setloss.setfunctions.differences import axis_pairs, second_difference_matrix, without_modular_part
from setloss.typing import Array, Shape

TIE_BREAK_TOLERANCE = 1e-8

ROUNDING_OF_ROWS = 2.0**-46
"""Share of max|l| below which a slack is rounding: 64 last digits, 2e-6 of the smallest number in range."""

MAX_CELLS_TIMES_ROWS_SIMPLEX = 25_000_000
"""Allows tables of 51 x 51 cells (8 to 20 s); at 61 x 61 the degenerate ones are no longer solved reliably."""

MAX_CELLS_INTERIOR_POINT = 2**13
"""Allows general functions of 13 elements (15 to 30 s, 0.5 GiB)."""

MAX_ELEMENTS = 400
"""The weights, and multipliers in units of 2**-128, have to be float64 numbers."""


@dataclass(frozen=True)
class ProgramSolution:
    """D's g with the proof that it is optimal.

    Examples
    --------
    >>> solution = solve_program(np.array([0.0, 1.0, 1.0, 2.0]))
    >>> solution.unique, solution.optimality.failures, solution.certificate.holds
    (True, (), True)
    """

    submodular: Array
    """f, of the table's shape."""
    supermodular: Array
    """g, of the table's shape."""
    multipliers: Exact
    """The dual (z, y) >= 0 in fixed point, as `measure_optimality` takes it."""
    unique: bool | None
    """Whether g is the only optimum; None if that could not be decided within tolerance."""
    dimension: int
    """Dimension of the set of optima."""
    tie_break_residual: float
    """Distance of g from the optimum of least norm, relative to max|l|; see `tie_break.Choice`."""
    optimality: Optimality
    """The measured numbers."""

    @property
    def certificate(self) -> Certificate:
        """The certificate of the decomposition; primal and dual values as means over all subsets."""
        subsets = 2.0 ** sum(length - 1 for length in self.supermodular.shape)
        return Certificate(
            rule="linear program",
            reason="multipliers of the second differences prove it optimal in every cell",
            feasibility=self.optimality.feasibility,
            column_residual=self.optimality.column_residual,
            primal=self.optimality.objective / subsets,
            dual=self.optimality.dual_bound / subsets,
            unique=self.unique,
            tie_broken=self.dimension > 0,
            checked="every cell",
            tie_break_residual=self.tie_break_residual,
        )


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
    program = Program(
        second_difference_matrix(table.shape)[:, free].tocsr(),
        np.concatenate([block.ravel() for block in required_curvature(loss, noise=scaled).values()]),
        exact_weights(table.shape)[free],
        ROUNDING_OF_ROWS * float(np.max(np.abs(scaled))),
    )
    vertex = optimal_vertex(program)
    choice = choose_optimum(program, vertex)
    g = integers([0] * table.size)
    g[free] = np.maximum(choice.values, 0)  # g >= 0 up to rounding
    g = g.reshape(table.shape)
    supermodular = np.ldexp(to_float(g), exponent)
    submodular = np.ldexp(_rest(loss, g, program.rounding), exponent)
    multipliers = integers([0] * (len(free) + len(program.bounds)))
    multipliers[vertex.tight] = vertex.multipliers
    optimality = measure_optimality(table, supermodular, multipliers, submodular)
    failures = list(optimality.failures)
    if not choice.residual <= TIE_BREAK_TOLERANCE:
        failures.append(f"tie-break residual {choice.residual:.1e} > {TIE_BREAK_TOLERANCE:.0e}")
    if failures:
        raise DecompositionError(
            f"the linear program of D for a table of shape {table.shape} was solved, but not to the accuracy that "
            f"is certified: {', '.join(failures)}. Please report it with the table."
        )
    return ProgramSolution(
        submodular, supermodular, multipliers, choice.unique, choice.dimension, choice.residual, optimality
    )


def _rest(loss: Exact, supermodular: Exact, rounding: float) -> Array:
    """The part f = l - g, rounded once, so that its errors are of its own size where g is large.

    Zero where g is not and f is no more than rounding: that is what the solve left of l = g.
    """
    rest = to_float(loss - supermodular)
    rest[(np.abs(rest) < rounding) & (supermodular != 0)] = 0.0
    return without_rounding(rest, to_float(loss), to_float(supermodular))


def refuse_if_too_large(shape: Shape) -> None:
    """Raise `ProgramTooLargeError` for tables beyond the limits of the linear program; costs nothing."""
    elements = sum(length - 1 for length in shape)
    if elements > MAX_ELEMENTS:
        raise ProgramTooLargeError(
            f"the linear program of D is limited to {MAX_ELEMENTS} elements, where weights leave float64; a table "
            f"of shape {shape} has {elements}. Use fewer elements, or one of the losses with a closed form."
        )
    cells, rows, largest = _size(shape)
    interior = suits_interior_point(cells, largest)
    if interior and cells <= MAX_CELLS_INTERIOR_POINT:
        return
    if not interior and cells * rows <= MAX_CELLS_TIMES_ROWS_SIMPLEX:
        return
    seconds = 3.0 * (cells / 2**12) ** 2.2 if interior else 5.0 * (cells * rows / 8e6) ** 1.5
    gigabytes = 0.1 + 4e-9 * cells**2
    raise ProgramTooLargeError(
        f"the linear program of D for a table of shape {shape} has {cells} cells and {rows} second differences, "
        f"about {seconds:.0f} s and {gigabytes:.1f} GiB if it can be solved at all. Use fewer elements, describe "
        "the function by fewer groups (one if it is symmetric, two for false negatives and false positives), "
        "or bring your own supermodular part and check it with verify_decomposition."
    )


def _size(shape: Shape) -> tuple[int, int, int]:
    """Cells, rows and the largest weight, from the shape alone."""
    rows = sum(prod(n - (axis == b) - (axis == c) for axis, n in enumerate(shape)) for b, c in axis_pairs(shape))
    return prod(shape), rows, prod(comb(n - 1, (n - 1) // 2) for n in shape)
