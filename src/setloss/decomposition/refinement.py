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

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack
from scipy.sparse.linalg import splu

from setloss.decomposition.certificate import DecompositionError
from setloss.decomposition.fixed_point import ONE, Exact, exact_product, integers, to_fixed, to_float
from setloss.typing import Array

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


@dataclass(frozen=True)
class Program:
    """The program on its free cells: matrix K, bounds r, weights w; l without modular part is scaled to at most 1."""

    matrix: csr_array
    bounds: Exact
    weights: Exact
    rounding: float
    """The change of a second difference that rounding of l explains; rows are tight up to this."""

    @property
    def cells(self) -> int:
        """Number of free cells."""
        return int(self.matrix.shape[1])

    @cached_property
    def with_signs(self) -> csr_array:
        """K below an identity: the rows ``g >= 0`` are implied, but let the solver start from ``g = 0``."""
        return vstack([eye_array(self.cells, format="csr"), self.matrix], format="csr")

    @cached_property
    def bounds_with_signs(self) -> Exact:
        """The right-hand sides of `with_signs`."""
        return np.concatenate([integers([0] * self.cells), self.bounds])


@dataclass(frozen=True)
class Vertex:
    """A basis and its two exact solutions. Row numbers are those of `Program.with_signs`."""

    tight: Indices
    matrix: csr_array
    factors: Any
    values: Exact
    multipliers: Exact

    def directions(self, rows: Indices) -> Array:
        """Columns z with ``B z = e_row``: how g moves when one tight row (a position in `tight`) loosens."""
        units = np.zeros((len(self.tight), len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        return np.asarray(self.factors.solve(units))


def optimal_vertex(program: Program) -> Vertex:
    """A vertex that is feasible up to rounding and has non-negative multipliers."""
    vertex = _vertex(program, _first_basis(program))
    for _ in range(MAX_ROUNDS):
        shortfall = -float(np.min(slack_of_rows(program, vertex)))
        violation = -float(np.min(to_float(vertex.multipliers)))
        if violation <= 0 and shortfall <= program.rounding:
            return vertex
        improved = (
            _dual_round(program, vertex, violation) if violation > 0 else _primal_round(program, vertex, shortfall)
        )
        vertex = _vertex(program, improved)
    raise DecompositionError(
        f"the linear program over {program.cells} cells is not solved after {MAX_ROUNDS} refinements: a second "
        f"difference is {shortfall:.1e} short, a multiplier {violation:.1e}; please report it with the function"
    )


def slack_of_rows(program: Program, vertex: Vertex) -> Array:
    """Slack of every row at a vertex; what the tight rows have is left from the solve."""
    slack = to_float(exact_product(program.with_signs, vertex.values) - program.bounds_with_signs)
    slack[vertex.tight] = 0.0
    return slack


def _vertex(program: Program, tight: Indices) -> Vertex:
    matrix = program.with_signs[tight]
    try:
        factors = splu(matrix.tocsc())
    except RuntimeError as error:
        raise DecompositionError(f"the solver returned a singular basis over {program.cells} cells") from error
    values = _solve_exactly(factors, "N", matrix, program.bounds_with_signs[tight])
    multipliers = _solve_exactly(factors, "T", matrix.T.tocsr(), program.weights * ONE)
    return Vertex(tight, matrix, factors, values, multipliers)


def _solve_exactly(factors: Any, mode: str, matrix: csr_array, target: Exact) -> Exact:
    """``matrix^-1 target``: float corrections against exact residuals, until those are far below `NEGLIGIBLE`."""
    solution: Exact = integers([0] * len(target))
    residual, size = target, _largest(target)
    for _ in range(MAX_ROUNDS):
        solution = solution + to_fixed(np.asarray(factors.solve(to_float(residual), mode)))
        residual, previous = target - exact_product(matrix, solution), size
        size = _largest(residual)
        if size < ONE >> 100:
            return np.where(np.abs(solution) < NEGLIGIBLE, 0, solution)
        if size > previous:
            break
    raise DecompositionError(f"the equations of a basis of {len(target)} rows are too ill-conditioned")


def _largest(vector: Exact) -> int:
    return int(max(map(abs, vector), default=0))


def _first_basis(program: Program) -> Indices:
    """The basis of a plain solve: optimal for the large weights, unknown for the small ones."""
    weights = program.weights.astype(np.float64)
    costs, lower = weights * (SOLVER_COSTS / weights.max()), SOLVER_VALUES * to_float(program.bounds_with_signs)
    upper = np.full(len(lower), np.inf)
    if suits_interior_point(program.cells, int(max(program.weights))):
        tight = _solve(program, costs, lower, upper, {"solver": "ipm", "run_crossover": "on"})
        if tight is not None:
            return tight
    tight = _solve(program, costs, lower, upper, {"solver": "simplex"})
    if tight is None:
        raise DecompositionError(f"the linear program over {program.cells} cells could not be solved by HiGHS")
    return tight


def suits_interior_point(cells: int, largest_weight: int) -> bool:
    """Whether to solve first by interior point rather than by the simplex method."""
    return cells > INTERIOR_POINT_CELLS and largest_weight <= INTERIOR_POINT_WEIGHT


def _dual_round(program: Program, vertex: Vertex, violation: float) -> Indices:
    """From the vertex as the origin, with its multipliers as the objective, magnified to show ``violation``."""
    magnified = to_float(vertex.multipliers) * (SOLVER_COSTS / violation)
    held = magnified > VISIBLE
    lower = -SOLVER_VALUES * np.maximum(slack_of_rows(program, vertex), 0.0)
    upper = np.full(len(lower), np.inf)
    upper[vertex.tight[held]] = 0.0
    return _improved_basis(program, vertex, np.where(held, 0.0, magnified), lower, upper, [_PRIMAL, _DUAL])


def _primal_round(program: Program, vertex: Vertex, shortfall: float) -> Indices:
    """From the vertex as the origin, with the second differences magnified to show ``shortfall``.

    Rows too far away to be seen are left out. The dual simplex method goes by the smallest multipliers, so large
    ones may be cut off.
    """
    magnified = slack_of_rows(program, vertex) * (SOLVER_VALUES / shortfall)
    lower = np.where(magnified > VISIBLE, -np.inf, -magnified)
    multipliers = np.clip(to_float(vertex.multipliers), 0.0, VISIBLE)
    return _improved_basis(program, vertex, multipliers, lower, np.full(len(lower), np.inf), [_DUAL, _PRIMAL])


_DUAL, _PRIMAL = 1, 4  # HiGHS's numbers of its simplex methods


def _improved_basis(
    program: Program, vertex: Vertex, multipliers: Array, lower: Array, upper: Array, methods: list[int]
) -> Indices:
    """The basis a round ends with. Its variables lead away from the vertex; ``multipliers`` price the tight rows."""
    for method in methods:
        options = {"solver": "simplex", "presolve": "off", "simplex_strategy": method}
        tight = _solve(program, vertex.matrix.T @ multipliers, lower, upper, options, vertex.tight)
        if tight is not None:
            return tight
    raise DecompositionError(f"a refinement of the program over {program.cells} cells failed in HiGHS")


def _solve(
    program: Program,
    costs: Array,
    lower: Array,
    upper: Array,
    options: dict[str, Any],
    start: Indices | None = None,
) -> Indices | None:
    """``min costs x  s.t.  lower <= with_signs x <= upper``: the tight rows of an optimal basis, None on failure.

    ``start`` is a basis to start from. The rows of the identity are bounds of the columns.
    """
    import highspy

    cells, by_column = program.cells, program.matrix.tocsc()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = cells, program.matrix.shape[0]
    model.col_cost_, model.col_lower_, model.col_upper_ = costs, lower[:cells], upper[:cells]
    model.row_lower_, model.row_upper_ = lower[cells:], upper[cells:]
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = by_column.indptr, by_column.indices
    model.a_matrix_.value_ = by_column.data
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    fixed = {"output_flag": False, "parallel": "off", "time_limit": SOLVER_SECONDS}
    tolerances = {f"{side}_feasibility_tolerance": SOLVER_TOLERANCE for side in ("primal", "dual")}
    for name, value in (fixed | tolerances | options).items():
        highs.setOptionValue(name, value)
    highs.passModel(model)
    basic, at_bound = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
    if start is not None:
        statuses = [basic] * len(lower)
        for row in start:
            statuses[row] = at_bound
        known = highspy.HighsBasis()
        known.col_status, known.row_status, known.valid = statuses[:cells], statuses[cells:], True
        highs.setBasis(known)
    highs.run()
    found = highs.getBasis()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal or not found.valid:
        return None
    return np.flatnonzero([status != basic for status in [*found.col_status, *found.row_status]])
