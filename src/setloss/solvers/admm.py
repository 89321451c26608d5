"""Alternating directions (ADMM) on the margins: the solver for ill-conditioned problems and for text.

    min over (W, z) of   1/2 |W|^2 + sum_i c_i B_i(z_i)      subject to   z_i = m_i(W)

One iteration takes the proximal points of all bags at the margins, each from the cuts that its last one is made of,
and solves one linear system in W. The multipliers of the constraints are slopes sigma, so that with
``S = sum c_i x x^T`` over all rows, which is the same for all labels, an iteration is

    sigma+ = the proximal points at m(W) with the centre sigma and step mu
    W+     = W + (I + S / mu)^-1 (2 W(sigma+) - W(sigma) - W)

both moved `RELAXATION` times as far (Eckstein and Bertsekas, 1992). S is factorised into its eigenvectors once; then
any mu is free, and mu follows the residuals of both sides.

Every sigma+ is a dual point made of true cuts, and ``(sum_i c_i o_i, W(sigma+))`` is a plane below the risk: the dual
bound is that of the best convex combination of the last planes, as in the method of cutting planes. It arrives long
before sigma+ itself does.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from setloss.solvers.cutting_plane import PlaneState
from setloss.solvers.deadline import check_time
from setloss.solvers.dual_points import ActiveCuts, first_dual_point
from setloss.solvers.frank_wolfe import FrankWolfeState
from setloss.solvers.problem import Problem, objective_at
from setloss.solvers.solution import Solution, starting_point
from setloss.typing import Array

RELAXATION = 1.8

CHECK_EVERY = 5
"""Iterations between two measurements of the gap."""

MOST_PLANES, PLANE_MEMORY = 50, 2**24
"""Maximum number of planes, and of numbers in them (128 MiB), unless two planes take more."""

MOST_ROWS = 4096
"""Largest matrix whose eigenvectors are computed: the rows of X or its features, whichever are fewer."""

STEP_RANGE = (0.1, 10.0)
"""Range of the factor by which mu changes at a time."""

BALANCED = 1.5
"""Ratio of the two residuals up to which mu stays."""

ROWS_AT_ONCE = 2**12
"""Rows of a dense X that are copied together."""


@dataclass(frozen=True, eq=False)
class NormalMatrix:
    """S by its eigenvectors, or those of ``U U^T`` with ``S = U^T U`` where rows are fewer than features.

    Then `roots` are the square roots of the costs of the rows of X; they are the rows of U but for these factors.
    """

    problem: Problem = field(repr=False)
    roots: Array | None
    values: Array
    vectors: Array

    @classmethod
    def of(cls, problem: Problem) -> Self:
        design = problem.design
        rows, features = design.rows, design.features + 1
        if min(rows, features) > MOST_ROWS:
            raise ValueError(
                f'solver="admm" takes up to {MOST_ROWS} rows or features, whichever are fewer; X has {rows} rows and '
                f'{features - 1} features: take solver="frank_wolfe" or "auto"'
            )
        sizes = problem.surrogate.bags.sizes
        costs = problem.costs if problem.n_tasks > 1 else np.repeat(problem.costs, sizes)
        roots = np.sqrt(np.bincount(problem.rows, costs, minlength=rows))
        check_time()
        by_features = features <= rows
        matrix = _by_features(problem, roots) if by_features else _by_rows(problem, roots)
        values, vectors = np.linalg.eigh(matrix)
        return cls(problem, None if by_features else roots, np.maximum(values, 0.0), vectors)

    def solve(self, right: Array, mu: float) -> Array:
        """(I + S / mu)^-1 applied to every task."""
        if self.roots is None:
            return np.asarray(((right @ self.vectors) * (mu / (mu + self.values))) @ self.vectors.T)
        image = self.vectors @ ((self.vectors.T @ self._image(right, self.roots)) / (mu + self.values)[:, None])
        image *= self.roots[:, None]
        design = self.problem.design
        check_time()
        change = np.empty_like(right)
        change[:, :-1] = np.asarray(design.matrix.T @ image).T
        change[:, -1] = design.constant * image.sum(axis=0)
        return np.asarray(right - change)

    def square(self, parameters: Array) -> float:
        """<W, S W>: the squared margins times their costs."""
        if self.roots is None:
            return float(np.square(parameters @ self.vectors).sum(axis=0) @ self.values)
        return float(np.square(self._image(parameters, self.roots)).sum())

    def _image(self, parameters: Array, roots: Array) -> Array:
        """U W, rows x tasks."""
        check_time()
        design = self.problem.design
        image = np.asarray(design.matrix @ parameters[:, :-1].T) + design.constant * parameters[:, -1]
        return np.asarray(roots[:, None] * image)


def _by_features(problem: Problem, roots: Array) -> Array:
    """S, the constant feature last."""
    design, size = problem.design, problem.shape[1]
    out = np.zeros((size, size))
    if design.sparse:
        scaled = design.matrix.multiply(roots[:, None]).tocsr()
        out[:-1, :-1] = (scaled.T @ scaled).toarray()
    else:
        for start in range(0, design.rows, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            scaled = design.matrix[some] * roots[some, None]
            out[:-1, :-1] += scaled.T @ scaled
    out[-1, :-1] = out[:-1, -1] = design.constant * (design.matrix.T @ roots**2)
    out[-1, -1] = design.constant**2 * float(roots @ roots)
    return out


def _by_rows(problem: Problem, roots: Array) -> Array:
    """U U^T."""
    design = problem.design
    products = design.matrix @ design.matrix.T
    dense = np.asarray(products.toarray() if design.sparse else products, dtype=np.float64)
    return np.asarray((dense + design.constant**2) * roots * roots[:, None])


@dataclass
class ADMMState(PlaneState):
    """W, the dual point `cuts`, the centre of the next one with its W(centre), and the step mu.

    The points of a hinge are a closed form, computed block by block; its `cuts.slopes` are the centre itself.

    `own` counts iterations of this run, `measured` those at the last measurement; at `due` mu is looked at again.
    `normal` is computed from the problem.
    """

    parameters: Array = field(kw_only=True)
    cuts: ActiveCuts = field(kw_only=True)
    centre: Array = field(kw_only=True)
    image: Array = field(kw_only=True)
    mu: float = 1.0
    own: int = 0
    measured: int = -1
    due: int = 5
    normal: NormalMatrix | None = None

    def drop_caches(self) -> None:
        self.normal = None


@dataclass(frozen=True)
class ADMM:
    """Configuration of the solver: up to `inner_steps` cuts a proximal point, or until its gap is down to `shrink`
    times what it was.

    Examples
    --------
    >>> method = ADMM(inner_steps=3)  # given to `solve` in place of the name
    """

    inner_steps: int = 8
    shrink: float = 0.02

    def start(self, problem: Problem, warm: Solution | None) -> ADMMState:
        normal = NormalMatrix.of(problem)
        cuts = first_dual_point(problem, warm, ADMMState, FrankWolfeState)
        parameters = starting_point(warm, problem.shape)
        return ADMMState(
            parameters.copy(),
            parameters=parameters,
            cuts=cuts,
            centre=cuts.slopes if cuts.point.hinge else cuts.slopes.copy(),
            image=problem.parameters(cuts.slopes),
            mu=warm.state.mu if warm and isinstance(warm.state, ADMMState) else self._first_mu(problem),
            passes=1.0,
            normal=normal,
        )

    def _first_mu(self, problem: Problem) -> float:
        """How far a slope moves the margins: by one, for slopes as large as those at W = 0."""
        total, used = 0.0, 0
        for block in problem.blocks():
            margins = np.zeros(block.elements.stop - block.elements.start)
            slopes = problem.surrogate.of_bags(block.bags).cuts(margins, consume=True).slopes
            total, used = total + float(slopes.sum()), used + int(np.count_nonzero(slopes))
        return used / total if used else 1.0

    def step(self, problem: Problem, state: ADMMState, tol: float) -> None:
        """One pass over X, block by block, and a system in W; now and then the gap is measured."""
        normal = state.normal = state.normal or NormalMatrix.of(problem)
        image, sums = np.zeros(problem.shape), np.zeros(3)
        for block, margins in problem.margins_by_block(state.parameters):
            at = margins, state.centre, state.mu, RELAXATION
            slopes, own = state.cuts.move_to_points(problem, block.bags, *at, self)
            problem.add_parameters(block, slopes, image)
            sums += own
        offset, changes, squares = sums
        self._add_plane(state, image, offset)
        way = normal.solve(2 * image - state.image - state.parameters, state.mu)
        state.own += 1
        if state.own >= state.due:
            state.mu *= self._factor(state, normal, changes, squares, way)
            state.due = max(state.own + 5, int(1.2 * state.own))
        state.parameters = state.parameters + RELAXATION * way
        state.image = state.image + RELAXATION * (image - state.image)
        state.passes += 2
        if state.own % CHECK_EVERY == 0:
            self.finish(problem, state)

    def finish(self, problem: Problem, state: ADMMState) -> None:
        """Measure: the primal value at W, and the values of the best combination of planes."""
        if state.own == state.measured:
            return
        risk = 0.0
        for block, margins in problem.margins_by_block(state.parameters):
            cuts = problem.surrogate.of_bags(block.bags).cuts(margins)
            risk += float(problem.costs[block.bags] @ cuts.values)
            if not state.cuts.point.hinge:
                moved = np.minimum(margins, margins - state.mu * state.centre[block.elements])
                state.cuts.rest(problem, block.bags, moved, cuts)
        state.offer_primal(state.parameters, objective_at(state.parameters, risk))
        state.passes += 1
        if len(state.planes):
            target = state.solve_program().reshape(problem.shape)
            state.offer_primal(target, problem.objective(target))
            state.passes += 1
        state.measured = state.own

    def _factor(self, state: ADMMState, normal: NormalMatrix, changes: float, squares: float, way: Array) -> float:
        """Factor for mu: the change of the slopes, relative to them, is to equal that of the margins."""
        margins = [normal.square(values) for values in (way, state.parameters)]
        if min(changes, squares, *margins) <= 0:
            return 1.0
        ratio = state.mu**2 * np.sqrt(changes * squares / margins[0] / margins[1])
        if 1 / BALANCED <= ratio <= BALANCED:
            return 1.0
        return float(np.clip(ratio**-0.5, *STEP_RANGE))

    def _add_plane(self, state: ADMMState, image: Array, offset: float) -> None:
        """One more plane below the risk; the one of least weight leaves where there are too many."""
        most = int(np.clip(PLANE_MEMORY // image.size, 2, MOST_PLANES))
        if len(state.planes) >= most:
            state.keep(np.arange(len(state.planes)) != state.multipliers.argmin())
        state.add(image.ravel(), offset)
