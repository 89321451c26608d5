"""Which optimum: the face of optima of D's linear program, whether it is a point, and its element of least norm.

    min_g  1/2 sum_a w(a) g(a)^2   s.t.   g optimal for the linear program

With an optimal vertex at hand the optima are ``g + Z u``: the columns of Z move g when one tight row without a
multiplier loosens, every row with a multiplier stays tight. First a small linear program finds the rows that
are tight on the whole face; what is left of Z spans the face, and no direction left means a unique optimum.
Then `active_set` finds the u of least norm.

The weights span up to 22 orders of magnitude, also within one face. So Z is brought to echelon form, heaviest
cells first: the direction that owns cell j moves no cell heavier than j, and stationarity is measured relative
to the weight of j. Where the spread of the weights is too much for float64 the same steps run in `decimal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from setloss.decomposition.active_set import (
    DECIMAL_DIGITS,
    Numbers,
    Quadratic,
    echelon,
    least_on_polyhedron,
    null_basis,
    times,
)
from setloss.decomposition.exact import ONE, Exact, exact_product, integers, to_float
from setloss.decomposition.refinement import NEGLIGIBLE_MULTIPLIER, Indices, Program, Vertex, room, solve_exactly
from setloss.typing import Array

TIGHT = 1e-9
"""A row with less slack than this share of max|l| is tight."""

DISTINCT = 1e-7
"""Optima closer than this share of max|l| are not told apart in floats: uniqueness is then left undecided."""

EXACT_ZERO = 2.0**-100
"""Below this a number of an exact vertex is zero."""

FLOAT_SPREAD = 1e4
"""Largest ratio of weights within a face that is left to float64."""

ZERO = 1e-11
"""Entries of Z are rational numbers of small denominator; below this they are rounding."""

PROOF_TOLERANCE = 1e-9

FEASIBLE = 1e-13
EXACTLY_FEASIBLE = EXACT_ZERO / 4
"""A row counts as violated beyond this share of max|l| and of the largest value, in floats and for exact vertices.

What is left of the latter is below `EXACT_ZERO`, and so rounded away."""


@dataclass(frozen=True)
class Choice:
    """The chosen optimum on the free cells, whether it is the only one, and how exactly it was chosen."""

    fixed_values: Exact
    unique: bool | None
    dimension: int
    """Dimension of the face of optima."""
    residual: float
    """Stationarity of the least norm, each direction relative to the weight of its heaviest cell, and to max|l|."""


@dataclass(frozen=True)
class _Face:
    """The optima around a vertex, g + ``directions @ u`` with ``rows @ u >= -slack``; l has max|l| ~ 1."""

    directions: Array
    rows: csr_array
    slack: Array
    numbers: Indices
    """Which rows of `Program.with_signs` the rows are."""


@dataclass(frozen=True)
class _Flatness:
    """Rows of a face that are tight all over it, a direction into it, and whether duality proves the former."""

    always_tight: Indices
    inward: Array
    proved: bool


def choose_optimum(program: Program, vertex: Vertex) -> Choice:
    """The optimum of least weighted norm, starting from an optimal vertex."""
    loose = np.flatnonzero(to_float(vertex.multipliers) <= NEGLIGIBLE_MULTIPLIER)
    if len(loose) == 0:
        # As many independent rows with positive multipliers as cells: their equations have one solution.
        return Choice(vertex.fixed_values, unique=True, dimension=0, residual=0.0)
    face = _face(program, vertex, loose)
    flatness = _flatness(face)
    dimension = len(loose) - len(echelon(face.rows[flatness.always_tight].toarray())[1])
    if dimension == 0:
        return Choice(vertex.fixed_values, unique=flatness.proved or None, dimension=0, residual=0.0)
    with localcontext(prec=DECIMAL_DIGITS):
        values, residual = _least_norm(program, vertex, loose, face, flatness.always_tight)
    reach = max(_reach(face, flatness.inward), float(np.max(np.abs(to_float(values - vertex.fixed_values)))))
    distinct = EXACT_ZERO if program.exact else DISTINCT
    return Choice(values, unique=False if reach > distinct else None, dimension=dimension, residual=residual)


def _face(program: Program, vertex: Vertex, loose: Indices) -> _Face:
    directions = vertex.directions(loose)
    directions[np.abs(directions) < ZERO] = 0.0
    rows = csr_array(program.with_signs @ csr_array(directions))
    rows.data[np.abs(rows.data) < ZERO] = 0.0
    rows.eliminate_zeros()
    slack = room(program, vertex)
    slack[slack < (EXACT_ZERO if program.exact else TIGHT)] = 0.0
    moving = np.flatnonzero(np.diff(rows.indptr))
    return _Face(directions, rows[moving], slack[moving], moving)


def _flatness(face: _Face) -> _Flatness:
    """Solve ``max sum t  s.t.  0 <= t <= 1, t <= M u`` over the tight rows M; t is 1 where the face leaves a row.

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
        return _Flatness(tight[:0], np.zeros(size), proved=False)
    inward, lifted = result.x[:size], result.x[size:] > 0.5
    prices = -result.ineqlin.marginals
    balance = np.max(np.abs(matrix.T @ prices), initial=0.0) <= PROOF_TOLERANCE * max(1.0, np.max(prices))
    return _Flatness(tight[~lifted], inward, proved=bool(balance and np.all(prices[~lifted] > 0.5)))


def _reach(face: _Face, direction: Array) -> float:
    """How far g moves, in its largest cell, when it goes along ``direction`` as long as it stays optimal."""
    change = face.rows @ direction
    falling = change < -PROOF_TOLERANCE
    step = np.min(face.slack[falling] / -change[falling], initial=1.0)
    return float(step * np.max(np.abs(face.directions @ direction), initial=0.0))


def _least_norm(
    program: Program, vertex: Vertex, loose: Indices, face: _Face, always_tight: Indices
) -> tuple[Exact, float]:
    """The values of least norm on the face, and the residual of their optimality."""
    cells = np.flatnonzero(np.any(face.directions != 0.0, axis=1))
    weights = program.weights[cells]
    wide = program.exact or max(weights) > FLOAT_SPREAD * min(weights)
    directions = _decimal_directions(vertex, loose)[cells] if wide else face.directions[cells]
    matrix = program.with_signs[face.numbers][:, cells].tocsr()
    directions = directions @ null_basis(times(matrix[always_tight], directions))
    # Reduced echelon form by falling weight: the same span, and the cell each direction owns.
    heaviest_first = np.argsort(-weights.astype(np.float64), kind="stable")
    reduced, owners = echelon(directions.T, heaviest_first)
    number = Decimal if wide else float
    scales = np.array([number(weight) for weight in weights]) ** number("0.5")
    directions = reduced.T / scales[owners]
    start = vertex.fixed_values[cells]
    exact_start = np.array([number(value) for value in start]) / number(ONE)
    quadratic = Quadratic(basis=directions, roots=scales, start=exact_start)
    # Not the floats of `face.slack`: their rounding would be left where a value is zero.
    room_left = exact_product(program.with_signs, vertex.fixed_values) - program.fixed_bounds_with_signs
    room_left = np.where(face.slack == 0.0, 0, room_left[face.numbers])
    slack = np.array([number(value) for value in room_left]) / number(ONE)
    minimum = least_on_polyhedron(quadratic, matrix, slack, EXACTLY_FEASIBLE if program.exact else FEASIBLE)
    moved = directions @ minimum.change
    values = vertex.fixed_values.copy()
    ends = values[cells] + integers(change * number(ONE) for change in moved)
    values[cells] = np.where(np.abs(ends) < int(EXACT_ZERO * ONE), 0, ends)
    # Measured on the rounded values: what the multipliers leave of the gradient, and rows that should be tight.
    rounded = np.array([number(value) for value in values[cells]]) / number(ONE)
    stationarity = (directions.T @ (scales * scales * rounded) - minimum.pull) / scales[owners]
    tight = minimum.tight
    open_rows = matrix[tight] @ to_float(values[cells] - start) + face.slack[tight]
    return values, float(max(np.max(np.abs(stationarity)), np.max(np.abs(open_rows), initial=0.0)))


def _decimal_directions(vertex: Vertex, loose: Indices) -> Numbers:
    """`Vertex.directions` in decimals, from exact residuals."""
    columns = []
    for position in loose:
        unit = integers([0] * len(vertex.tight))
        unit[position] = ONE
        solution = solve_exactly(vertex.factors, vertex.matrix, unit, bits=120)
        # What is left of an exact zero after the corrections.
        solution[np.abs(solution) < ONE >> 70] = 0
        columns.append([Decimal(value) / ONE for value in solution])
    return np.array(columns, dtype=object).T
