"""The small quadratic programs of the cutting-plane methods, by Clarabel.

    min over W of        1/2 |W|^2 + sum over blocks of max(0, max over its planes k of  b_k - <a_k, W>)
    max over lambda of   <b, lambda> - 1/2 |A^T lambda|^2     subject to   lambda >= 0,  sum of each block <= 1

One block for the one-slack method, one per bag for Algorithm 1. Planes are often nearly parallel, so ``A A^T`` is
singular as a rule; an interior-point method does not mind. It does mind units: features of 1e6 make planes of 1e9
that nearly cancel, and where the data are separable lambda is of the order of 1e-12. So W is asked for first, in
units in which planes are of length one, then lambda, in units of the lengths of its planes, until both values agree.
What comes back is exactly feasible, so that the dual value computed from it is a true lower bound however well the
program was solved. Matrices are written down column after column, as Clarabel takes them: scipy's own ways to put
blocks together take longer than a small program itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from setloss.solvers.deadline import check_time, seconds_left
from setloss.typing import Array

ENOUGH = 1e-8
"""Values of the two programs that are this close, relative to the larger, are equal."""

TINY = float(np.finfo(np.float64).tiny)

Attempt = Callable[[Array, Array, NDArray[np.intp]], tuple[Array, Array]]


def solve_master(planes: Array, offsets: Array, blocks: NDArray[np.intp]) -> tuple[Array, Array]:
    """The multipliers lambda, one per row of planes, and W; `blocks[k]` is the block of plane k."""
    multipliers, parameters = np.zeros(len(offsets)), np.zeros(planes.shape[1])
    lower, upper = 0.0, _height(planes, offsets, blocks, parameters)
    for attempt in _ATTEMPTS:
        if upper - lower <= ENOUGH * upper:
            break
        weights, target = attempt(planes, offsets, blocks)
        image = weights @ planes
        value = float(weights @ offsets - 0.5 * image @ image)
        if value > lower:
            multipliers, lower = weights, value
        for point in (target, image):
            height = _height(planes, offsets, blocks, point)
            if height < upper:
                parameters, upper = point, height
    return multipliers, parameters


def plane_bound(planes: Array, offsets: Array, weights: Array, blocks: NDArray[np.intp] | None = None) -> float:
    """The value of the second program at multipliers, made feasible first; minus infinity without a plane."""
    if len(offsets) == 0:
        return -np.inf
    feasible = _feasible(weights, np.zeros(len(offsets), dtype=np.intp) if blocks is None else blocks)
    image = feasible @ planes
    return float(feasible @ offsets) - 0.5 * float(image @ image)


def _height(planes: Array, offsets: Array, blocks: NDArray[np.intp], parameters: Array) -> float:
    """The value of the first program at W."""
    slack = np.zeros(int(blocks.max()) + 1)
    np.maximum.at(slack, blocks, offsets - planes @ parameters)
    return 0.5 * float(parameters @ parameters) + float(slack.sum())


def _by_parameters(planes: Array, offsets: Array, blocks: NDArray[np.intp]) -> tuple[Array, Array]:
    """The first program over (W, slack), W in the span of the planes; lambda are its multipliers."""
    size, n_blocks = len(offsets), int(blocks.max()) + 1
    few = planes.shape[1] <= size
    basis, rows = (None, planes) if few else _span(planes)
    length = float(np.sqrt(np.max(np.einsum("kj,kj->k", rows, rows)))) or 1.0
    height = float(np.max(np.abs(offsets))) or 1.0
    quadratic = np.concatenate([np.full(rows.shape[1], height / length / length), np.zeros(n_blocks)])
    linear = np.concatenate([np.zeros(rows.shape[1]), np.ones(n_blocks)])
    bounds = np.concatenate([-offsets / height, np.zeros(n_blocks)])
    diagonal = csc_array((quadratic, np.arange(len(quadratic)), np.arange(len(quadratic) + 1)))
    answer = _clarabel(diagonal, linear, _above_planes(rows / -length, blocks, n_blocks), bounds)
    reduced = np.nan_to_num(np.asarray(answer.x)[: rows.shape[1]]) * (height / length)
    parameters = reduced if basis is None else basis @ reduced
    # A feature that no plane has is none of W either, not even by rounding.
    return _feasible(np.asarray(answer.z)[:size], blocks), np.where(planes.any(axis=0), parameters, 0.0)


def _above_planes(rows: Array, blocks: NDArray[np.intp], n_blocks: int) -> csc_array:
    """The matrix of the constraints ``rows_k W - slack of the block of k <= ...`` and ``-slack <= 0``."""
    values, places, counts = _by_columns(rows)
    owners = np.concatenate([blocks, np.arange(n_blocks)])
    data = np.concatenate([values, np.full(len(owners), -1.0)])
    indices = np.concatenate([places, np.argsort(owners, kind="stable")])
    ends = np.cumsum(np.concatenate([[0], counts, np.bincount(owners, minlength=n_blocks)]))
    return csc_array((data, indices, ends), shape=(len(owners), rows.shape[1] + n_blocks))


def _by_columns(dense: Array) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """What is not zero in a matrix, column after column, the rows of these values, and how many a column has."""
    columns, rows = np.nonzero(dense.T)
    return dense[rows, columns], rows, np.bincount(columns, minlength=dense.shape[1])


def _span(planes: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the span of the planes as columns, and the planes in it."""
    basis, triangle = np.linalg.qr(planes.T)
    return basis, triangle.T


def _by_multipliers(planes: Array, offsets: Array, blocks: NDArray[np.intp], power: float) -> tuple[Array, Array]:
    """The second program over lambda, in units of a power of the squared lengths of the planes; W is its image."""
    size, n_blocks = len(offsets), int(blocks.max()) + 1
    gram = planes @ planes.T
    highest = max(float(np.max(np.abs(offsets))), TINY)
    units = np.maximum(np.diagonal(gram) / highest, 1.0) ** -power
    height = max(float(np.max(np.abs(offsets * units))), TINY)
    widest = np.full(n_blocks, TINY)
    np.maximum.at(widest, blocks, units)
    signs_and_sums = np.stack([np.full(size, -1.0), units / widest[blocks]], axis=1)
    rows = np.stack([np.arange(size), size + blocks], axis=1)
    ends = np.arange(0, 2 * size + 1, 2)
    constraints = csc_array((signs_and_sums.ravel(), rows.ravel(), ends), shape=(size + n_blocks, size))
    bounds = np.concatenate([np.zeros(size), 1 / widest])
    values, places, counts = _by_columns(np.triu(gram * units[:, None] * units / height))
    quadratic = csc_array((values, places, np.cumsum(np.concatenate([[0], counts]))), shape=(size, size))
    answer = _clarabel(quadratic, -offsets * units / height, constraints, bounds)
    weights = _feasible(np.asarray(answer.x) * units, blocks)
    return weights, weights @ planes


_ATTEMPTS: tuple[Attempt, ...] = (_by_parameters, *(partial(_by_multipliers, power=power) for power in (0.5, 1.0)))


def _clarabel(quadratic: csc_array, linear: Array, constraints: csc_array, bounds: Array) -> Any:
    """Minimise 1/2 <x, Q x> + <q, x> subject to A x <= bounds."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    check_time()
    if seconds_left() < np.inf:
        settings.time_limit = seconds_left()
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    return clarabel.DefaultSolver(quadratic, linear, constraints, bounds, cones, settings).solve()


def _feasible(weights: Array, blocks: NDArray[np.intp]) -> Array:
    """The multipliers clipped to be non-negative, each block shrunk to a sum of at most one."""
    clipped = np.maximum(np.nan_to_num(weights), 0.0)
    return np.asarray(clipped / np.maximum(np.bincount(blocks, clipped), 1.0)[blocks])
