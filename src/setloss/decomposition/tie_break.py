"""The choice among optima: the face of optima of D's linear program, and its element of least norm.

    min_g  1/2 sum_a w(a) g(a)^2   s.t.   g optimal for the linear program

With an optimal vertex at hand the optima are ``g + Z u``: the columns of Z move g when one tight row without a
multiplier loosens, every row with a multiplier stays tight. First a small linear program finds the rows that
are tight on the whole face; what is left of Z spans the face, and no direction left means a unique optimum.
Then the point of least norm is a non-negative least-squares problem.

The weights span up to 22 orders of magnitude, also within one face. So Z is brought to echelon form, heaviest
cells first: the direction that owns cell j moves no cell heavier than j, and stationarity is measured relative
to the weight of j.
"""

import numpy as np
from scipy.linalg import cholesky, null_space, solve_triangular
from scipy.optimize import linprog, nnls
from scipy.sparse import csr_array, eye_array, hstack

from setloss.decomposition.certificate import DecompositionError
from setloss.decomposition.refinement import Exact, Indices, Program, Vertex, exact_product, to_fixed, to_float
from setloss.typing import Array

ZERO = 1e-11
"""Entries of Z are rational numbers of small denominator; below this they are rounding."""


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
