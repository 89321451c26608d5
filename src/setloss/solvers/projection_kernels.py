"""Numba kernels: the proximal point of every bag, and the face of cuts that it lies on.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. The algorithm is that of Wolfe for the point of
least norm of a polytope: a corral of affinely independent cuts, one more from the oracle at the margins
``m + mu (sigma - centre)``, then steps to the best point of the affine hull of the corral, each of which drops a cut
where a weight would become negative. It is finite, and what it returns is a convex combination of true cuts wherever
it stops. Where the bag is at its centre already, it takes one call of the oracle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut

LARGEST_CORRAL = 64
"""A corral of p + 2 cuts is enough for any point of a bag of p elements; larger ones than this stop early."""

EXACT = 1e-11
"""The oracle is asked for cuts until none is higher than the point by this share."""

DEPENDENT = 1e-12
"""A cut that is so close to the affine hull of the corral, squared and relative, takes the place of another."""


class Corral(NamedTuple):
    """Cuts of one bag with their weights; `products` has ``<a_k, a_l> + unit``, `factor` its Cholesky factor."""

    slopes: Any
    offsets: Any
    weights: Any
    products: Any
    factor: Any
    targets: Any
    ones: Any


class Room(NamedTuple):
    """Shifted margins, the slope of a cut, the set it chooses, and the point."""

    shifted: Any
    slope: Any
    chosen: Any
    point: Any


@kernel(inner=True)
def _cut(margins, group, kind, room):
    """The cut at the margins, its slope in `room.slope`; returns offset and value."""
    record, tables, scratch = kind
    p = len(margins)
    return bag_cut(margins, group, record, tables, scratch, room.slope[:p], room.chosen[:p])


@kernel(inner=True, fastmath={"reassoc", "contract"})
def _dot(left, right):
    total = 0.0
    for e in range(len(left)):
        total += left[e] * right[e]
    return total


@kernel(inner=True)
def _factorise(corral, first, count):
    """The rows of the Cholesky factor from `first` on."""
    for k in range(first, count):
        for i in range(k + 1):
            total = corral.products[k, i] - _dot(corral.factor[k, :i], corral.factor[i, :i])
            if i < k:
                corral.factor[k, i] = total / corral.factor[i, i]
            else:
                corral.factor[k, k] = np.sqrt(max(total, DEPENDENT * corral.products[k, k]))


@kernel(inner=True)
def _solve(factor, count, x):
    """In place: x <- (factor factor^T)^-1 x."""
    for k in range(count):
        x[k] = (x[k] - _dot(factor[k, :k], x[:k])) / factor[k, k]
    for k in range(count - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, count):
            total -= factor[j, k] * x[j]
        x[k] = total / factor[k, k]


@kernel(inner=True)
def _append(corral, count, slope, offset, unit):
    """Write the cut behind the others; returns how far it is from their affine hull, squared and relative."""
    p = len(slope)
    corral.slopes[count, :p] = slope
    corral.offsets[count] = offset
    for k in range(count + 1):
        product = _dot(corral.slopes[k, :p], slope) + unit
        corral.products[count, k] = product
        corral.products[k, count] = product
    _factorise(corral, count, count + 1)
    own = corral.products[count, count]
    row = corral.factor[count, :count]
    return (own - _dot(row, row)) / own


@kernel(inner=True)
def _drop(corral, count, k, p):
    """Take cut k out; returns how many are left."""
    for j in range(k, count - 1):
        corral.slopes[j, :p] = corral.slopes[j + 1, :p]
        corral.offsets[j] = corral.offsets[j + 1]
        corral.weights[j] = corral.weights[j + 1]
        corral.products[j, :count] = corral.products[j + 1, :count]
    for j in range(k, count - 1):
        corral.products[: count - 1, j] = corral.products[: count - 1, j + 1]
    _factorise(corral, k, count - 1)
    return count - 1


@kernel(inner=True)
def _exchange(corral, count, slope, offset, unit):
    """A cut in the affine hull of the corral takes the place of the first to lose its weight; 0 if none does."""
    p = len(slope)
    shares = corral.ones
    shares[:count] = corral.products[count, :count]
    _solve(corral.factor, count, shares)
    step, leaving = np.inf, -1
    for k in range(count):
        if shares[k] > DEPENDENT and corral.weights[k] < step * shares[k]:
            step, leaving = corral.weights[k] / shares[k], k
    if leaving < 0:
        return 0
    for k in range(count):
        corral.weights[k] = max(corral.weights[k] - step * shares[k], 0.0)
    count = _drop(corral, count, leaving, p)
    _append(corral, count, slope, offset, unit)
    corral.weights[count] = step
    return count + 1


@kernel(inner=True)
def _enter(corral, count, slope, offset):
    """Take a new cut into the corral; returns the number of cuts, 0 if it is there already."""
    p = len(slope)
    for k in range(count):
        if corral.offsets[k] == offset and np.all(corral.slopes[k, :p] == slope):
            return 0
    if count == 1:
        first = corral.slopes[0, :p]
        unit = max(_dot(first, first), _dot(slope, slope))
        _append(corral, 0, first.copy(), corral.offsets[0], unit)
    unit = corral.products[0, 0] - _dot(corral.slopes[0, :p], corral.slopes[0, :p])
    if _append(corral, count, slope, offset, unit) <= DEPENDENT:
        return _exchange(corral, count, slope, offset, unit)
    corral.weights[count] = 0.0
    return count + 1


@kernel(inner=True)
def _affine_weights(corral, count, margins, centre, mu):
    """Into `targets`: the weights of the best point of the affine hull of the corral."""
    targets, ones = corral.targets, corral.ones
    for k in range(count):
        height = corral.offsets[k]
        for e in range(len(margins)):
            height += corral.slopes[k, e] * (mu * centre[e] - margins[e])
        targets[k] = height / mu
        ones[k] = 1.0
    _solve(corral.factor, count, targets)
    _solve(corral.factor, count, ones)
    missing = (1.0 - targets[:count].sum()) / ones[:count].sum()
    for k in range(count):
        targets[k] += missing * ones[k]


@kernel(inner=True)
def _correct(corral, count, margins, centre, mu):
    """Move to the best point of the hull of the corral, dropping the cuts that lose their weight on the way."""
    weights, targets = corral.weights, corral.targets
    while count > 1:
        _affine_weights(corral, count, margins, centre, mu)
        step, leaving = 1.0, -1
        for k in range(count):
            if targets[k] <= DEPENDENT:
                reach = weights[k] / (weights[k] - targets[k]) if weights[k] > targets[k] else 0.0
                if leaving < 0 or reach < step:
                    step, leaving = reach, k
        if leaving < 0:
            weights[:count] = targets[:count]
            break
        for k in range(count):
            weights[k] = max(weights[k] + step * (targets[k] - weights[k]), 0.0)
        count = _drop(corral, count, leaving, len(margins))
    weights[:count] /= weights[:count].sum()
    return count


@kernel(inner=True)
def _combine(corral, count, point):
    """The point of the corral; returns its offset."""
    offset = 0.0
    point[:] = 0.0
    for k in range(count):
        offset += corral.weights[k] * corral.offsets[k]
        for e in range(len(point)):
            point[e] += corral.weights[k] * corral.slopes[k, e]
    return offset


@kernel(inner=True)
def proximal_point(margins, centre, mu, group, kind, corral, room):
    """The proximal point of a bag, in `room.point`; returns its offset, the value B(m) and the size of the corral."""
    p = len(margins)
    slope, point, shifted = room.slope[:p], room.point[:p], room.shifted[:p]
    offset, value = _cut(margins, group, kind, room)
    corral.slopes[0, :p] = slope
    corral.offsets[0] = offset
    corral.weights[0] = 1.0
    point[:] = slope
    if np.all(point == centre):
        return offset, value, 1
    count, largest = 1, len(corral.offsets) - 1
    for _ in range(4 * largest):
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - centre[e])
        entering, height = _cut(shifted, group, kind, room)
        here = offset - _dot(point, shifted)
        if not height - here > EXACT * (abs(height) + abs(offset)) or count == largest:
            break
        grown = _enter(corral, count, slope, entering)
        if grown == 0:
            break
        count = _correct(corral, grown, margins, centre, mu)
        offset = _combine(corral, count, point)
    return offset, value, count


@kernel(inner=True)
def _face(corral, count, p, basis, used):
    """Append an orthonormal basis of the differences of the cuts of the corral; returns its rank."""
    rank = 0
    for k in range(1, count):
        vector = basis[used + rank * p : used + (rank + 1) * p]
        for e in range(p):
            vector[e] = corral.slopes[k, e] - corral.slopes[0, e]
        length = np.sqrt(_dot(vector, vector))
        for _ in range(2):  # twice is enough
            for j in range(rank):
                other = basis[used + j * p : used + (j + 1) * p]
                product = _dot(other, vector)
                for e in range(p):
                    vector[e] -= product * other[e]
        left = np.sqrt(_dot(vector, vector))
        if left > 1e-9 * length:
            for e in range(p):
                vector[e] /= left
            rank += 1
    return rank


@kernel()
def proximal_points(first, data, batch, out, basis, used, corral, room):
    """The proximal points of the bags from `first` on, and a basis of the face of each.

    `out` receives slopes, offsets, the values B_i(m_i) and the ranks of the faces. Returns the bag to go on with,
    one beyond the last unless `basis` is full, and how much of `basis` is used.
    """
    margins, centre, mu = data
    starts, groups, which, records, sizes, values, scratch = batch
    slopes, offsets, heights, ranks = out
    largest = len(corral.offsets) - 1
    for i in range(first, len(which)):
        lo, hi, kind = starts[i], starts[i + 1], which[i]
        p = hi - lo
        if used + largest * p > len(basis):
            return i, used
        tables = (sizes[kind], values)
        offsets[i], heights[i], count = proximal_point(
            margins[lo:hi], centre[lo:hi], mu, groups[lo:hi], (records[kind], tables, scratch), corral, room
        )
        for e in range(p):
            slopes[lo + e] = room.point[e]
        ranks[i] = _face(corral, count, p, basis, used)
        used += ranks[i] * p
    return len(which), used
