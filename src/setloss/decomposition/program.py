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

`refinement` finds an optimal vertex, `choose_optimum` the optimum of least norm, and `measure_multipliers`, which
knows neither, measures what came out.

**The choice among optima.** With an optimal vertex at hand the optima are ``g + Z u``: the columns of Z move g when
one tight row without a multiplier loosens, every row with a multiplier stays tight. First a small linear program
finds the rows that are tight on the whole face; what is left of Z spans the face, and no direction left means a
unique optimum. Then the point of least norm is a non-negative least-squares problem.

The weights span up to 22 orders of magnitude, also within one face. So Z is brought to echelon form, heaviest
cells first: the direction that owns cell j moves no cell heavier than j, and stationarity is measured relative
to the weight of j.
"""

from dataclasses import dataclass, replace
from functools import reduce
from math import comb, prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, null_space, solve_triangular
from scipy.optimize import linprog, nnls
from scipy.sparse import csr_array, eye_array, hstack, vstack

from setloss.decomposition.certificate import OPTIMALITY_TOLERANCE, DecompositionError, Measured, ProgramTooLargeError
from setloss.decomposition.optimality import ROUNDING_OF_ROWS, Curvature, infeasibility, required_curvature
from setloss.decomposition.refinement import (
    ONE,
    Exact,
    Indices,
    Program,
    Vertex,
    exact_product,
    integers,
    optimal_vertex,
    suits_interior_point,
    to_fixed,
    to_float,
)
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

ZERO = 1e-11
"""Entries of Z are rational numbers of small denominator; below this they are rounding."""


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
    measured = replace(measured, unique=unique, tie_break_residual=residual)
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


# ---------------------------------------------------------------- the choice among optima


def choose_optimum(program: Program, vertex: Vertex) -> tuple[Exact, bool, float]:
    """The optimum of least weighted norm on the free cells, whether it is alone, and the residual of the choice.

    That is stationarity, each direction relative to the weight of its heaviest cell, and to max|l|.
    """
    # As many independent rows with positive multipliers as cells: their equations have one solution.
    loose = np.flatnonzero(vertex.multipliers == 0)
    units = np.zeros((len(vertex.tight), len(loose)))
    units[loose, np.arange(len(loose))] = 1.0
    directions = vertex.factors.solve(units)
    directions[np.abs(directions) < ZERO] = 0.0
    span = directions @ _face(program, vertex, directions) if len(loose) else directions
    if span.shape[1] == 0:
        return vertex.values, True, 0.0
    values, residual = _least_norm(program, vertex, span)
    return values, False, residual


def _face(program: Program, vertex: Vertex, directions: Array) -> Array:
    """A basis of the u for which g + Z u stays optimal: those that leave the rows tight that are tight all over.

    Solve ``max sum t  s.t.  0 <= t <= 1, t <= M u`` over the tight rows M; t is 1 where the face leaves a row.
    """
    rows = csr_array(program.rows @ csr_array(directions))
    rows.data[np.abs(rows.data) < ZERO] = 0.0
    rows.eliminate_zeros()
    matrix = rows[(np.diff(rows.indptr) > 0) & (vertex.slack == 0.0)]
    count, size = matrix.shape
    result = linprog(
        np.repeat([0.0, -1.0], [size, count]),
        A_ub=hstack([-matrix, eye_array(count)], format="csr"),
        b_ub=np.zeros(count),
        bounds=[(None, None)] * size + [(0.0, 1.0)] * count,
        method="highs",
    )
    if result.status != 0:
        raise DecompositionError(f"the optima of the linear program could not be compared: {result.message}")
    always_tight = matrix[result.x[size:] < 0.5]
    return null_space(always_tight.toarray()) if always_tight.shape[0] else np.eye(size)


def _least_norm(program: Program, vertex: Vertex, span: Array) -> tuple[Exact, float]:
    """The values of least norm on the face, and the residual of their optimality.

    The face is ``g + steps^T u``, in units in which the Hessian of the norm has no large entries. The equations of
    the optimum are solved twice, the second time for what their exact residuals say is left.
    """
    weights = program.weights.astype(np.float64)
    steps, owners = _echelon(span.T, np.argsort(-weights, kind="stable"))
    steps /= np.sqrt(weights[owners])[:, None]
    rows = np.asarray(program.rows @ steps.T)
    rows[np.abs(rows) < ZERO / np.sqrt(weights[owners])] = 0.0
    moving = np.flatnonzero(rows.any(axis=1))
    rows, slack = rows[moving], vertex.slack[moving]
    hessian, gradient = steps @ (weights[:, None] * steps.T), steps @ (weights * to_float(vertex.values))
    tight = _tight_rows(hessian, gradient, rows, slack)
    normals, slack, count = rows[tight], slack[tight], len(tight)
    system = np.block([[hessian, -normals.T], [normals, np.zeros((count, count))]])
    values, pull = vertex.values, np.zeros(count)
    for _ in range(2):
        both = np.linalg.solve(system, np.concatenate([pull @ normals - gradient, -slack]))
        values = values + to_fixed(steps.T @ both[: len(steps)])
        pull = pull + both[len(steps) :]
        gradient = steps @ (weights * to_float(values))
        slack = to_float(exact_product(program.rows[moving[tight]], values) - program.bounds[moving[tight]])
    # A multiplier that is negative after all shows up as missing pull.
    stationarity = (gradient - np.maximum(pull, 0.0) @ normals) / np.sqrt(weights[owners])
    return values, float(max(np.max(np.abs(stationarity)), np.max(np.abs(slack), initial=0.0)))


def _tight_rows(hessian: Array, gradient: Array, rows: Array, slack: Array) -> Indices:
    """The tight rows of ``min 1/2 <u, H u> + <b, u>  s.t.  R u >= -slack``.

    In coordinates in which H is the unit matrix it is least-distance programming (Lawson and Hanson 1974, chapter
    23): of ``G v >= h``, the tight rows of the shortest v are those with p > 0 in the combination ``(G^T p, h^T p)``,
    p >= 0, closest to (0, 1).
    """
    root = cholesky(hessian, lower=True)
    G = solve_triangular(root, rows.T, lower=True).T
    h = G @ solve_triangular(root, gradient, lower=True) - slack
    lengths = np.linalg.norm(G, axis=1)
    G, h = G / lengths[:, None], h / lengths
    target = np.append(np.zeros(len(root)), 1.0)
    try:
        return np.flatnonzero(nnls(np.vstack([G.T, h / np.max(np.abs(h), initial=1e-300)]), target)[0])
    except RuntimeError as error:
        raise DecompositionError(f"the tie-break in {len(root)} dimensions did not end") from error


def _echelon(matrix: Array, order: Indices) -> tuple[Array, Indices]:
    """Reduced row echelon form with columns taken in ``order``, and the pivot column of each row."""
    rows = matrix.copy()
    pivots: list[int] = []
    for column in order:
        rank = len(pivots)
        if rank == len(rows):
            break
        best = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[best, column]) <= ZERO:
            continue
        rows[[rank, best]] = rows[[best, rank]]
        rows[rank] /= rows[rank, column]
        others = np.arange(len(rows)) != rank
        rows[others] -= np.outer(rows[others, column], rows[rank])
        pivots.append(int(column))
    rows[np.abs(rows) < ZERO] = 0.0
    return rows, np.array(pivots, dtype=np.intp)
