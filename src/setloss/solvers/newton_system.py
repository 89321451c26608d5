"""The linear systems of Newton's method, ``(H + damping) x = b``, ``H = I + U^T U``, U one row per curved direction.

Damping is a share of the diagonal that H would have if every bag were curved in all directions.

Three ways, whichever takes the fewest operations: a Cholesky factor of H, where there are few parameters; of
``I + U U^T``, where there are fewer directions than parameters; conjugate gradients, where there are many of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from setloss.solvers.problem import Problem
from setloss.solvers.proximal_points import ProximalPoints
from setloss.typing import Array

MOST_ENTRIES = 2**25
"""Matrices of up to this many numbers (256 MiB) are factorised."""

SLOWER_THAN_BLAS = 8.0
"""An operation of a pass over X takes as long as this many operations of a product of matrices."""

EXPECTED_STEPS = 60.0
"""Steps of conjugate gradients to reckon with."""

MOST_STEPS = 250
CLOSE_ENOUGH = 0.03
"""Conjugate gradients stop when the residual has fallen to this share."""

MOST_SPECTRAL = 2048
"""Up to this many features their covariance is diagonalised, once, to precondition conjugate gradients."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues and eigenvectors of the sum of x x^T over the rows of X, the constant feature included."""

    problem: Problem

    @cached_property
    def parts(self) -> tuple[Array, Array] | None:
        """None where X is sparse or has too many features for it."""
        design = self.problem.design
        if design.sparse or design.features > MOST_SPECTRAL:
            return None
        used = np.unique(self.problem.rows)
        size = design.features + 1
        total = np.zeros((size, size))
        for start in range(0, len(used), 4096):
            rows = design.dense[used[start : start + 4096]].astype(np.float64)
            wide = np.hstack([rows, np.full((len(rows), 1), design.constant)])
            total += wide.T @ wide
        values, vectors = np.linalg.eigh(total)
        return np.maximum(values, 0.0) / max(len(used), 1), vectors

    def apply(self, points: ProximalPoints, vector: Array) -> Array:
        """The inverse of an approximation of H: the curvature of each task spread evenly over all rows."""
        weights = np.bincount(self.problem.tasks, points.diagonals, minlength=self.problem.n_tasks)
        if self.parts is None:
            squares = self.mean_squares
            return np.asarray(vector / (1.0 + weights[:, None] * squares))
        values, vectors = self.parts
        return np.asarray((vector @ vectors) / (1.0 + weights[:, None] * values) @ vectors.T)

    def bound(self, mu: float) -> Array:
        """The diagonal of H - I if every bag were curved in all directions."""
        problem = self.problem
        totals = np.bincount(problem.tasks, problem.element_costs, minlength=problem.n_tasks)
        return np.asarray(totals[:, None] / mu * self.mean_squares)

    @cached_property
    def mean_squares(self) -> Array:
        """The mean square of every feature."""
        design = self.problem.design
        if design.sparse:
            totals = np.bincount(design.indices, np.square(design.data, dtype=np.float64), minlength=design.features)
            rows = len(design.indptr) - 1
        else:
            totals, rows = np.einsum("ij,ij->j", design.dense, design.dense, dtype=np.float64), len(design.dense)
        return np.append(totals / max(rows, 1), design.constant**2)


def newton_direction(points: ProximalPoints, right: Array, spectrum: Spectrum, damping: float = 0.0) -> Array:
    """The solution of (H + damping) x = right."""
    sizes = points.problem.surrogate.bags.sizes
    costs = _costs(points.problem, right.size, points.rank, float(sizes[points.active].sum()))
    solve = (_by_gradients, _by_parameters, _by_directions)[int(np.argmin(costs))]
    return solve(points, right, spectrum, 1.0 + damping * spectrum.bound(points.mu))


def system_cost(problem: Problem, size: int, rank: float, elements: float) -> float:
    """Operations that a system takes: `size` parameters, `rank` curved directions, `elements` of curved bags."""
    return min(_costs(problem, size, rank, elements))


def _costs(problem: Problem, size: int, rank: float, elements: float) -> tuple[float, float, float]:
    """Operations by conjugate gradients, by a factor of H, and by one of I + U U^T."""
    entries = problem.design.row_entries
    length = len(problem.signs) / problem.n_bags
    rows = SLOWER_THAN_BLAS * rank * length * entries
    gradients = EXPECTED_STEPS * SLOWER_THAN_BLAS * 2 * elements * entries
    parameters = rows + rank * size**2 + size**3 / 3 if size * size <= MOST_ENTRIES else np.inf
    directions = rows + rank**2 * size + rank**3 / 3 if rank * max(rank, size) <= MOST_ENTRIES else np.inf
    return gradients, parameters, directions


def _by_parameters(points: ProximalPoints, right: Array, spectrum: Spectrum, diagonal: Array) -> Array:
    from scipy.linalg import cho_factor, cho_solve

    hessian = np.diag(diagonal.ravel())
    for rows in points.rows():
        hessian += rows.T @ rows
    factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, right.ravel(), check_finite=False)).reshape(right.shape)


def _by_directions(points: ProximalPoints, right: Array, spectrum: Spectrum, diagonal: Array) -> Array:
    """With D the diagonal, x = D^-1 (b - U^T (I + U D^-1 U^T)^-1 U D^-1 b)."""
    from scipy.linalg import cho_factor, cho_solve

    if points.rank == 0:
        return np.asarray(right / diagonal)
    rows = np.vstack([rows.copy() for rows in points.rows()])
    scaled = rows / diagonal.ravel()
    factor = cho_factor(np.eye(len(rows)) + scaled @ rows.T, lower=True, overwrite_a=True, check_finite=False)
    weights = cho_solve(factor, scaled @ right.ravel(), check_finite=False)
    return np.asarray((right - (weights @ rows).reshape(right.shape)) / diagonal)


def _by_gradients(points: ProximalPoints, right: Array, spectrum: Spectrum, diagonal: Array) -> Array:
    """Preconditioned conjugate gradients."""
    solution, residual = np.zeros_like(right), right.copy()
    better = spectrum.apply(points, residual)
    way = better.copy()
    height = first = float(np.vdot(residual, better))
    for _ in range(MOST_STEPS):
        if not height > CLOSE_ENOUGH**2 * first:
            break
        image = diagonal * way + points.curved(way)
        length = height / float(np.vdot(way, image))
        solution += length * way
        residual -= length * image
        better = spectrum.apply(points, residual)
        height, before = float(np.vdot(residual, better)), height
        way = better + (height / before) * way
    return solution
