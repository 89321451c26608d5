"""An optimal vertex of D's linear program, exact in every column.

    min_g  sum_a w(a) g(a)   s.t.   K g >= r,  g >= 0

The weights span up to 22 orders of magnitude, the tolerances of a float solver nine. What a solver can be
trusted with is a *basis*: as many linearly independent tight rows as there are free cells. The basis matrix has
entries 0, 1 and 2 in modulus, so its equations ``B g = r_B`` and ``B^T y = w`` are solved to any precision by a
float factorisation and exact residuals. Where y has a negative entry the program is solved again from that basis
with y itself, magnified until the violation is visible, as objective: the iterative refinement of Gleixner, Steffy
and Wolter (2016), with one change. Rows whose magnified multiplier is out of the solver's range are held tight for
the round. Then the objective of the round is the true one on the face searched, and every such round lowers it. A
vertex that misses some bounds is repaired in the same way, with magnified second differences.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import splu

from setloss.decomposition.certificate import DecompositionError
from setloss.typing import Array

Exact = NDArray[np.object_]

FRACTION_BITS = 128
"""Above the 53 bits of a float, 27 for the range of values and 40 that the weights may take from a solve."""

ONE = 1 << FRACTION_BITS

NEGLIGIBLE = ONE >> 60
"""Numbers that a basis determines are rational of small denominator; below this they are what its solve left of 0."""

INTERIOR_POINT_CELLS = 200
INTERIOR_POINT_WEIGHT = 10**7
"""Interior point is 20 times faster for many cells of similar weight. Beyond this weight it breaks down."""

SOLVER_TOLERANCE = 1e-9
SOLVER_VALUES = 2.0**4
"""Values of l handed to the solver reach this, so that its tolerance is 6e-11 of max|l|; tighter ones stall."""
SOLVER_COSTS = 1e3
"""Largest cost of the first solve, and the size to which a negative multiplier is magnified."""
SOLVER_SECONDS = 600.0
VISIBLE = 1e6
"""Magnified numbers beyond this are out of the range of a round."""
MAX_ROUNDS = 60

Indices = NDArray[np.intp]


def integers(values: Any) -> Exact:
    """A vector of Python integers (NumPy's own would overflow)."""
    return np.array([int(value) for value in values], dtype=object)


def to_fixed(values: Array) -> Exact:
    """Floats in fixed point; bits below the unit are dropped."""
    return integers(np.ldexp(values.ravel(), FRACTION_BITS)).reshape(values.shape)


def to_float(fixed: Exact) -> Array:
    """The nearest floats of fixed-point numbers."""
    return np.array([number / ONE for number in fixed.ravel().tolist()], dtype=np.float64).reshape(fixed.shape)


def exact_product(matrix: csr_array, vector: Exact) -> Exact:
    """``matrix @ vector`` without rounding, for an integer matrix."""
    terms = integers(matrix.data) * vector[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = integers([0] * matrix.shape[0])
    np.add.at(out, rows, terms)
    return out


@dataclass(frozen=True)
class Program:
    """``min w g  s.t.  rows g >= bounds`` on the free cells; l without modular part is scaled to at most 1.

    The first rows are an identity: ``g >= 0`` is implied, but lets the solver start from ``g = 0``. Below it is K.
    """

    rows: csr_array
    bounds: Exact
    weights: Exact
    rounding: float
    """The change of a second difference that rounding of l explains; rows are tight up to this."""


@dataclass(frozen=True)
class Vertex:
    """A basis and its two exact solutions."""

    tight: Indices
    matrix: csr_array
    factors: Any
    values: Exact
    multipliers: Exact
    slack: Array
    """What every row of the program is above its bound; zero where that is rounding."""


def optimal_vertex(program: Program) -> Vertex:
    """A vertex that is feasible up to rounding and has non-negative multipliers."""
    vertex = _vertex(program, _first_basis(program))
    for _ in range(MAX_ROUNDS):
        violation = -float(np.min(to_float(vertex.multipliers)))
        if violation <= 0 and np.min(vertex.slack) >= 0:
            return vertex
        vertex = _vertex(program, _refined_basis(program, vertex, violation))
    raise DecompositionError(
        f"the linear program over {len(program.weights)} cells is not solved after {MAX_ROUNDS} refinements; please "
        "report it with the function"
    )


def _vertex(program: Program, tight: Indices) -> Vertex:
    matrix = program.rows[tight]
    try:
        factors = splu(matrix.tocsc())
    except RuntimeError as error:
        raise DecompositionError(f"a basis of {len(tight)} rows is singular") from error
    values = _solve_exactly(factors, "N", matrix, program.bounds[tight])
    multipliers = _solve_exactly(factors, "T", matrix.T.tocsr(), program.weights * ONE)
    slack = to_float(exact_product(program.rows, values) - program.bounds)
    slack[tight] = 0.0
    slack[np.abs(slack) < program.rounding] = 0.0
    return Vertex(tight, matrix, factors, values, multipliers, slack)


def _solve_exactly(factors: Any, mode: str, matrix: csr_array, target: Exact) -> Exact:
    """``matrix^-1 target``: float corrections against exact residuals, until those are far below `NEGLIGIBLE`."""
    solution: Exact = integers([0] * len(target))
    residual = target
    for _ in range(MAX_ROUNDS):
        solution = solution + to_fixed(np.asarray(factors.solve(to_float(residual), mode)))
        residual = target - exact_product(matrix, solution)
        if max(map(abs, residual), default=0) < ONE >> 100:
            return np.where(np.abs(solution) < NEGLIGIBLE, 0, solution)
    raise DecompositionError(f"the equations of a basis of {len(target)} rows are too ill-conditioned")


def _first_basis(program: Program) -> Indices:
    """The basis of a plain solve: optimal for the large weights, unknown for the small ones."""
    weights = program.weights.astype(np.float64)
    costs, lower = weights * (SOLVER_COSTS / weights.max()), SOLVER_VALUES * to_float(program.bounds)
    attempts: list[dict[str, Any]] = [{"solver": "simplex"}]
    if suits_interior_point(len(program.weights), int(max(program.weights))):
        attempts.insert(0, {"solver": "ipm", "run_crossover": "on"})
    return _solve(program, costs, lower, np.full(len(lower), np.inf), attempts)


def suits_interior_point(cells: int, largest_weight: int) -> bool:
    """Whether to solve first by interior point rather than by the simplex method."""
    return cells > INTERIOR_POINT_CELLS and largest_weight <= INTERIOR_POINT_WEIGHT


def _refined_basis(program: Program, vertex: Vertex, violation: float) -> Indices:
    """The basis of a round whose variables lead away from the vertex, and whose costs are its multipliers.

    Either the multipliers are magnified to show ``violation``; or, where none is negative, the slacks are, to show
    the worst. Then rows too far away to be seen are left out, and large multipliers may be cut off: the dual simplex
    method goes by the smallest.
    """
    slack, multipliers = vertex.slack, to_float(vertex.multipliers)
    upper = np.full(len(slack), np.inf)
    methods = [_PRIMAL, _DUAL]
    if violation > 0:
        multipliers *= SOLVER_COSTS / violation
        held = multipliers > VISIBLE
        multipliers[held] = 0.0
        upper[vertex.tight[held]] = 0.0
        lower = -SOLVER_VALUES * np.maximum(slack, 0.0)
    else:
        lower = slack * (SOLVER_VALUES / slack.min())
        lower[lower < -VISIBLE] = -np.inf
        multipliers = np.minimum(multipliers, VISIBLE)
        methods.reverse()
    attempts = [{"solver": "simplex", "presolve": "off", "simplex_strategy": method} for method in methods]
    return _solve(program, vertex.matrix.T @ multipliers, lower, upper, attempts, vertex.tight)


_DUAL, _PRIMAL = 1, 4  # HiGHS's numbers of its simplex methods


def _solve(
    program: Program,
    costs: Array,
    lower: Array,
    upper: Array,
    attempts: list[dict[str, Any]],
    start: Indices | None = None,
) -> Indices:
    """``min costs x  s.t.  lower <= rows x <= upper``: the tight rows of an optimal basis.

    ``attempts`` are options of HiGHS, ``start`` is a basis to start from. The rows of the identity are bounds of the
    columns.
    """
    import highspy

    cells = len(program.weights)
    by_column = program.rows[cells:].tocsc()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = cells, by_column.shape[0]
    model.col_cost_, model.col_lower_, model.col_upper_ = costs, lower[:cells], upper[:cells]
    model.row_lower_, model.row_upper_ = lower[cells:], upper[cells:]
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = by_column.indptr, by_column.indices
    model.a_matrix_.value_ = by_column.data
    tolerances = {f"{side}_feasibility_tolerance": SOLVER_TOLERANCE for side in ("primal", "dual")}
    fixed = {"output_flag": False, "parallel": "off", "time_limit": SOLVER_SECONDS} | tolerances
    basic, at_bound = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
    for options in attempts:
        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in (fixed | options).items():
            highs.setOptionValue(name, value)
        highs.passModel(model)
        if start is not None:
            known = highspy.HighsBasis()
            statuses = np.full(len(lower), basic)
            statuses[start] = at_bound
            known.col_status, known.row_status, known.valid = list(statuses[:cells]), list(statuses[cells:]), True
            highs.setBasis(known)
        highs.run()
        basis = highs.getBasis()
        if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal and basis.valid:
            return np.flatnonzero([status != basic for status in [*basis.col_status, *basis.row_status]])
    raise DecompositionError(f"HiGHS could not solve the linear program over {cells} cells")
