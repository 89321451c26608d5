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

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, null_space, solve_triangular
from scipy.optimize import linprog, nnls
from scipy.sparse import csr_array, eye_array, hstack

from setloss.decomposition.certificate import DecompositionError
from setloss.decomposition.fixed_point import Exact, to_fixed, to_float
from setloss.decomposition.refinement import Indices, Program, Vertex, slack_of_rows
from setloss.typing import Array

DISTINCT = 1e-10
"""Optima closer than this are not told apart: uniqueness is then left undecided. l is scaled to at most 1."""

ZERO = 1e-11
"""Entries of Z are rational numbers of small denominator; below this they are rounding."""


@dataclass(frozen=True)
class Choice:
    """The chosen optimum on the free cells, whether it is the only one, and how exactly it was chosen."""

    values: Exact
    unique: bool | None
    dimension: int
    """Dimension of the face of optima."""
    residual: float
    """Stationarity of the least norm, each direction relative to the weight of its heaviest cell, and to max|l|."""


@dataclass(frozen=True)
class _Face:
    """The optima around a vertex, g + ``directions @ u`` with ``rows @ u >= -slack``, rows that move."""

    directions: Array
    rows: csr_array
    slack: Array


def choose_optimum(program: Program, vertex: Vertex) -> Choice:
    """The optimum of least weighted norm, starting from an optimal vertex."""
    loose = np.flatnonzero(vertex.multipliers == 0)
    if len(loose) == 0:
        # As many independent rows with positive multipliers as cells: their equations have one solution.
        return Choice(vertex.values, unique=True, dimension=0, residual=0.0)
    face = _face(program, vertex, loose)
    always_tight, inward, proved = _flatness(face)
    span = null_space(face.rows[always_tight].toarray()) if len(always_tight) else np.eye(len(loose))
    dimension = span.shape[1]
    if dimension == 0:
        return Choice(vertex.values, unique=proved or None, dimension=0, residual=0.0)
    values, residual = _least_norm(program, vertex, face, span)
    moved = float(np.max(np.abs(to_float(values - vertex.values))))
    distinct = max(_reach(face, inward), moved) > max(DISTINCT, program.rounding)
    return Choice(values, unique=False if distinct else None, dimension=dimension, residual=residual)


def _face(program: Program, vertex: Vertex, loose: Indices) -> _Face:
    directions = vertex.directions(loose)
    directions[np.abs(directions) < ZERO] = 0.0
    rows = csr_array(program.with_signs @ csr_array(directions))
    rows.data[np.abs(rows.data) < ZERO] = 0.0
    rows.eliminate_zeros()
    slack = slack_of_rows(program, vertex)
    slack[slack < program.rounding] = 0.0
    moving = np.flatnonzero(np.diff(rows.indptr))
    return _Face(directions, rows[moving], slack[moving])


def _flatness(face: _Face) -> tuple[Indices, Array, bool]:
    """Rows that are tight all over the face, a direction into it, and whether duality proves the former.

    Solve ``max sum t  s.t.  0 <= t <= 1, t <= M u`` over the tight rows M; t is 1 where the face leaves a row.

    Its multipliers pi >= 0 have ``M^T pi = 0``, and pi >= 1 where t = 0: then ``M u >= 0`` forces those rows to 0.
    """
    tight = np.flatnonzero(face.slack == 0.0)
    matrix = face.rows[tight]
    count, size = matrix.shape
    result = linprog(
        np.repeat([0.0, -1.0], [size, count]),
        A_ub=hstack([-matrix, eye_array(count)], format="csr"),
        b_ub=np.zeros(count),
        bounds=[(None, None)] * size + [(0.0, 1.0)] * count,
        method="highs",
    )
    if result.status != 0:
        return tight[:0], np.zeros(size), False
    inward, lifted = result.x[:size], result.x[size:] > 0.5
    prices = -result.ineqlin.marginals
    balanced = np.max(np.abs(matrix.T @ prices), initial=0.0) <= ZERO * max(1.0, np.max(prices))
    return tight[~lifted], inward, bool(balanced and np.all(prices[~lifted] > 0.5))


def _reach(face: _Face, direction: Array) -> float:
    """The largest change of a cell of g when it goes along ``direction`` as long as it stays optimal."""
    change = face.rows @ direction
    falling = change < -ZERO
    step = np.min(face.slack[falling] / -change[falling], initial=1.0)
    return float(step * np.max(np.abs(face.directions @ direction), initial=0.0))


def _least_norm(program: Program, vertex: Vertex, face: _Face, span: Array) -> tuple[Exact, float]:
    """The values of least norm on the face, and the residual of their optimality.

    The face is ``g + steps^T u``, in units in which the Hessian of the norm has no large entries.
    """
    weights = program.weights.astype(np.float64)
    steps, owners = _echelon((face.directions @ span).T, np.argsort(-weights, kind="stable"))
    steps /= np.sqrt(weights[owners])[:, None]
    rows = np.asarray(program.with_signs @ steps.T)
    rows[np.abs(rows) < ZERO / np.sqrt(weights[owners])] = 0.0
    moving = np.flatnonzero(rows.any(axis=1))
    slack = slack_of_rows(program, vertex)[moving]
    slack[slack < program.rounding] = 0.0
    hessian, gradient = steps @ (weights[:, None] * steps.T), steps @ (weights * to_float(vertex.values))
    tight, way, pull = _minimum(hessian, gradient, rows[moving], slack)
    values = vertex.values + to_fixed(steps.T @ way)
    values[np.abs(values) < to_fixed(np.array(program.rounding))] = 0
    # Measured on the rounded values: what the multipliers leave of the gradient, and rows that should be tight.
    stationarity = (steps @ (weights * to_float(values)) - pull) / np.sqrt(weights[owners])
    open_rows = rows[moving][tight] @ way + slack[tight]
    return values, float(max(np.max(np.abs(stationarity)), np.max(np.abs(open_rows), initial=0.0)))


def _minimum(hessian: Array, gradient: Array, rows: Array, slack: Array) -> tuple[Indices, Array, Array]:
    """``min 1/2 <u, H u> + <b, u>  s.t.  R u >= -slack``: the tight rows, u, and the pull of the tight rows.

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
        tight = np.flatnonzero(nnls(np.vstack([G.T, h / np.max(np.abs(h), initial=1e-300)]), target)[0])
    except RuntimeError as error:
        raise DecompositionError(f"the tie-break in {len(root)} dimensions did not end") from error
    normals, count = rows[tight], len(tight)
    system = np.block([[hessian, -normals.T], [normals, np.zeros((count, count))]])
    both = np.linalg.solve(system, -np.concatenate([gradient, slack[tight]]))
    # A multiplier that is negative after all shows up as missing pull.
    return tight, both[: len(root)], np.maximum(both[len(root) :], 0.0) @ normals


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
