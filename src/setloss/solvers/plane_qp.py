"""The small quadratic programs of the cutting-plane methods.

    min over W of        1/2 |W|^2 + sum over blocks of max(0, max over its planes k of  b_k - <a_k, W>)
    max over lambda of   <b, lambda> - 1/2 |A^T lambda|^2     subject to   lambda >= 0,  sum of each block <= 1

One block for the one-slack method, one per bag for Algorithm 1.

`solve_plane_qp` is an interior-point method, Clarabel. Planes are often nearly parallel, so ``A A^T`` is singular as
a rule, which it does not mind. It does mind units: features of 1e6 make planes of 1e9 that nearly cancel. So it is
asked for W, in units in which planes are of length one, and lambda are its multipliers. They are exactly feasible, so
the dual value computed from them is a true lower bound however well the program was solved.

`improved_weights` is an active-set method for one block that starts where the last program ended. One more plane,
zero everywhere, makes the sum of lambda equal to one; then this is the nearest-point problem of Wolfe (1976). A plane
that is higher at W = A^T lambda than the point enters; the best point of the affine hull of the active ones is
sought, and planes that lose their weight on the way leave. A program with one plane more than the last takes a few
steps, each a factorisation of the size of the active set, at most the number of parameters plus two.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, eye_array

from setloss.solvers.deadline import check_time, seconds_left
from setloss.typing import Array

ENOUGH = 1e-8
"""Accuracy of the first programs, before any gap is known, relative to the heights of the planes."""

MOST_STEPS = 200
"""Maximum number of active-set steps; a program that needs more goes to the interior-point method."""

RIDGE = 1e-13
"""Weight of a proximal term, relative to the longest plane and per active one. Where active planes are dependent, and
the best point of their hull is at infinity, it keeps the program solvable; where nothing moves it is zero."""

LOST = 1e-6
"""Largest error of the sum of the multipliers, relative to the largest of them; beyond it their digits are lost."""


def solve_plane_qp(planes: Array, offsets: Array, blocks: NDArray[np.intp]) -> tuple[Array, Array]:
    """The multipliers lambda, one per row of planes, and W; `blocks[k]` is the block of plane k."""
    multipliers, target = _by_interior_point(planes, offsets, blocks)
    image = multipliers @ planes
    if float(multipliers @ offsets - 0.5 * image @ image) < 0.0:  # in extreme units; no multipliers are worth 0
        multipliers, image = np.zeros(len(offsets)), np.zeros(planes.shape[1])
    points = np.zeros(planes.shape[1]), target, image
    return multipliers, min(points, key=lambda point: _height(planes, offsets, blocks, point))


def _height(planes: Array, offsets: Array, blocks: NDArray[np.intp], parameters: Array) -> float:
    """The value of the first program at W."""
    slack = np.zeros(int(blocks.max()) + 1)
    np.maximum.at(slack, blocks, offsets - planes @ parameters)
    return 0.5 * float(parameters @ parameters) + float(slack.sum())


def _by_interior_point(planes: Array, offsets: Array, blocks: NDArray[np.intp]) -> tuple[Array, Array]:
    """The first program over (W, slack), W in the span of the planes; lambda are its multipliers."""
    size, n_blocks = len(offsets), int(blocks.max()) + 1
    few = planes.shape[1] <= size
    basis, triangle = (None, planes.T) if few else np.linalg.qr(planes.T)
    rows = triangle.T
    length = float(np.sqrt(np.max(np.einsum("kj,kj->k", rows, rows)))) or 1.0
    height = float(np.max(np.abs(offsets))) or 1.0
    quadratic = np.concatenate([np.full(rows.shape[1], height / length / length), np.zeros(n_blocks)])
    linear = np.concatenate([np.zeros(rows.shape[1]), np.ones(n_blocks)])
    bounds = np.concatenate([-offsets / height, np.zeros(n_blocks)])
    diagonal = csc_array((quadratic, np.arange(len(quadratic)), np.arange(len(quadratic) + 1)))
    picks = csc_array((np.ones(size), (np.arange(size), blocks)), shape=(size, n_blocks))
    above = block_array([[csc_array(rows / -length), -picks], [None, -eye_array(n_blocks)]], format="csc")
    answer = _clarabel(diagonal, linear, above, bounds)
    reduced = np.nan_to_num(np.asarray(answer.x)[: rows.shape[1]]) * (height / length)
    parameters = reduced if basis is None else basis @ reduced
    # A feature that no plane has is none of W either, not even by rounding.
    return _feasible(np.asarray(answer.z)[:size], blocks), np.where(planes.any(axis=0), parameters, 0.0)


def _clarabel(quadratic: csc_array, linear: Array, constraints: csc_array, bounds: Array) -> Any:
    """Minimise 1/2 <x, Q x> + <q, x> subject to A x <= bounds."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    check_time()
    settings.time_limit = seconds_left()
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    return clarabel.DefaultSolver(quadratic, linear, constraints, bounds, cones, settings).solve()


def _feasible(weights: Array, blocks: NDArray[np.intp]) -> Array:
    """The multipliers clipped to be non-negative, each block shrunk to a sum of at most one."""
    clipped = np.maximum(np.nan_to_num(weights), 0.0)
    return np.asarray(clipped / np.maximum(np.bincount(blocks, clipped), 1.0)[blocks])


def improved_weights(weights: Array, gram: Array, offsets: Array, accuracy: float) -> Array | None:
    """The lambda whose value is within `accuracy` of the best, from another one; None where that fails."""
    size, block = len(offsets), np.zeros(len(offsets), dtype=np.intp)
    heights, products = np.append(offsets, 0.0), np.zeros((size + 1, size + 1))
    products[:size, :size] = gram
    start = _feasible(weights, block)
    shares = np.append(start, max(1.0 - float(start.sum()), 0.0))
    for _ in range(MOST_STEPS):
        above = heights - products @ shares
        entering = int(above.argmax())
        if above[entering] - shares @ above <= accuracy:
            return _feasible(shares[:size], block)
        used = shares != 0.0
        used[entering] = True
        active = np.flatnonzero(used)
        try:
            better = _best_of_hull(shares, active, products, heights)
        except np.linalg.LinAlgError:
            return None
        if np.array_equal(better, shares):  # `accuracy` is below the rounding errors
            return None
        shares = better
    return None


def _best_of_hull(shares: Array, active: NDArray[np.intp], products: Array, heights: Array) -> Array:
    """The best point of the convex hull of the active planes that steps to affine ones reach."""
    shares = shares.copy()
    while True:
        here = shares[active]
        target = _best_of_affine_hull(here, products[active[:, None], active], heights[active])
        falling = target <= 0.0
        if not falling.any() or len(active) == 1:
            shares[active] = target / target.sum()
            return shares
        reach = np.where(falling, here / np.maximum(here - target, np.finfo(np.float64).tiny), np.inf)
        leaving = int(reach.argmin())
        moved = np.maximum(here + reach[leaving] * (target - here), 0.0)
        moved[leaving] = 0.0
        shares[active] = moved / moved.sum()
        active = active[np.arange(len(active)) != leaving]


def _best_of_affine_hull(here: Array, products: Array, heights: Array) -> Array:
    """The maximiser under sum = 1 alone, seen from `here`; an error where planes are too short for their heights to
    be told apart.
    """
    # By LAPACK itself: for some planes, what scipy puts around it takes longer than the factorisation.
    from scipy.linalg.lapack import dposv

    if len(heights) == 1:
        return np.ones(1)
    longest = float(products.diagonal().max()) or 1.0
    lifted = products + longest  # the same for all points of the hull, and no plane is zero any more
    ridge = RIDGE * longest * len(heights)
    lifted.reshape(-1)[:: len(lifted) + 1] += ridge
    sides = np.array([heights + ridge * here, np.ones(len(heights))])
    _, solutions, failed = dposv(lifted, sides.T, lower=True, overwrite_b=True)
    first, second = solutions.T
    best = np.asarray(first + (1.0 - first.sum()) / second.sum() * second)
    if failed or not abs(float(best.sum()) - 1.0) <= LOST * max(float(best.max()), -float(best.min()), 1.0):
        raise np.linalg.LinAlgError("the digits of the multipliers are lost")
    return best
