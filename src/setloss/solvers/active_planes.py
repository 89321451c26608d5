"""The small program of the one-slack method by an active set that starts where the last program ended.

    max over lambda of   <b, lambda> - 1/2 lambda^T G lambda     subject to   lambda >= 0,  sum <= 1,     G = A A^T

One more plane, zero everywhere, makes the sum equal to one; then this is the nearest-point problem of Wolfe (1976). A
plane that is higher at W = A^T lambda than the point enters; the best point of the affine hull of the active ones is
sought, and planes that lose their weight on the way leave. A program that has one plane more than the last one takes
some steps, each a factorisation of the size of the active set, which never exceeds the number of parameters plus two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.typing import Array

MOST_STEPS = 200
"""A program that takes more is left to the interior point method."""

RIDGE = 1e-13
"""Of a proximal term, relative to the longest plane and for each active one. Where active planes are dependent, and
the best point of their hull is at infinity, it keeps the program solvable; where nothing moves it is zero."""

TINY = float(np.finfo(np.float64).tiny)
"""Keeps quotients finite, of weights that do not fall."""

LOST = 1e-6
"""Multipliers whose sum is further from one, relative to the largest, have lost their digits to large heights."""


def improved_weights(weights: Array, gram: Array, offsets: Array, accuracy: float) -> Array | None:
    """The lambda whose value is within `accuracy` of the best, from another one; None where that fails."""
    size = len(offsets)
    heights, products = np.append(offsets, 0.0), np.zeros((size + 1, size + 1))
    products[:size, :size] = gram
    start = _feasible(weights)
    shares = np.append(start, max(1.0 - float(start.sum()), 0.0))
    for _ in range(MOST_STEPS):
        above = heights - products @ shares
        entering = int(above.argmax())
        if above[entering] - shares @ above <= accuracy:
            return _feasible(shares[:size])
        used = shares != 0.0
        used[entering] = True
        active = np.flatnonzero(used)
        try:
            found = _best_of_hull(shares, active, products, heights)
        except np.linalg.LinAlgError:
            return None
        if np.array_equal(found, shares):  # `accuracy` is below the rounding errors
            return None
        shares = found
    return None


def _feasible(weights: Array) -> Array:
    """The multipliers, not negative and of a sum of at most one."""
    clipped = np.maximum(weights, 0.0)
    return np.asarray(clipped / max(float(clipped.sum()), 1.0))


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
        reach = np.where(falling, here / np.maximum(here - target, TINY), np.inf)
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
    _, found, failed = dposv(lifted, sides.T, lower=True, overwrite_b=True)
    first, second = found.T
    best = np.asarray(first + (1.0 - first.sum()) / second.sum() * second)
    if failed or not abs(float(best.sum()) - 1.0) <= LOST * max(float(best.max()), -float(best.min()), 1.0):
        raise np.linalg.LinAlgError("the digits of the multipliers are lost")
    return best
