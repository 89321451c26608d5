"""Numba kernels: the proximal point of a bag, and the corral of cuts that it is made of.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. The algorithm is that of Wolfe for the point of
least norm of a polytope: a corral of affinely independent cuts, one more from the oracle at the margins
``m + mu (sigma - centre)``, then steps to the best point of the affine hull of the corral, each of which drops a cut
where a weight would become negative. It is finite, and the answer is a convex combination of true cuts wherever it
stops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut

EXACT = 1e-12
"""Share of the values at which a gap counts as zero."""

DEPENDENT = 1e-12
"""Squared relative distance from the affine hull of the corral at which a cut takes the place of another."""


class Corral(NamedTuple):
    """The cuts of one bag with their weights.

    `products` has ``<a_k, a_l> + unit``, `factor` its Cholesky factor; `targets` and `ones` are room.
    """

    slopes: Any
    offsets: Any
    weights: Any
    products: Any
    factor: Any
    targets: Any
    ones: Any


@kernel(fastmath={"reassoc", "contract"})
def dot(left, right, count):
    """The product of the first `count` numbers."""
    total = 0.0
    for e in range(count):
        total += left[e] * right[e]
    return total


@kernel(fastmath={"reassoc", "contract"})
def _rows_dot(matrix, k, j, count):
    """The product of the first `count` numbers of two rows; no views, whose references numba would count."""
    total = 0.0
    for e in range(count):
        total += matrix[k, e] * matrix[j, e]
    return total


@kernel()
def _factorise(corral, first, count):
    """The rows of the Cholesky factor from `first` on."""
    products, factor = corral.products, corral.factor
    for k in range(first, count):
        for i in range(k + 1):
            total = products[k, i] - _rows_dot(factor, k, i, i)
            if i < k:
                factor[k, i] = total / factor[i, i]
            else:
                factor[k, k] = np.sqrt(max(total, DEPENDENT * products[k, k]))


@kernel()
def _solve(factor, count, x):
    """In place: x <- (factor factor^T)^-1 x."""
    for k in range(count):
        total = x[k]
        for j in range(k):
            total -= factor[k, j] * x[j]
        x[k] = total / factor[k, k]
    for k in range(count - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, count):
            total -= factor[j, k] * x[j]
        x[k] = total / factor[k, k]


@kernel()
def _append(corral, count, slope, offset, unit):
    """Write the cut behind the others; returns how far it is from their affine hull, squared and relative."""
    p = len(slope)
    for e in range(p):
        corral.slopes[count, e] = slope[e]
    corral.offsets[count] = offset
    for k in range(count + 1):
        product = _rows_dot(corral.slopes, k, count, p) + unit
        corral.products[count, k] = product
        corral.products[k, count] = product
    _factorise(corral, count, count + 1)
    own = corral.products[count, count]
    return (own - _rows_dot(corral.factor, count, count, count)) / own


@kernel()
def _drop(corral, count, k, p):
    """Take cut k out; returns how many are left."""
    for j in range(k, count - 1):
        for e in range(p):
            corral.slopes[j, e] = corral.slopes[j + 1, e]
        corral.offsets[j] = corral.offsets[j + 1]
        corral.weights[j] = corral.weights[j + 1]
    for j in range(k, count - 1):
        for i in range(j + 1):
            product = corral.products[j + 1, i if i < k else i + 1]
            corral.products[j, i] = product
            corral.products[i, j] = product
    _factorise(corral, k, count - 1)
    return count - 1


@kernel()
def _exchange(corral, count, slope, offset, unit):
    """A cut in the affine hull of the corral takes the place of the first to lose its weight; 0 if none does."""
    shares = corral.ones
    for k in range(count):
        shares[k] = corral.products[count, k]
    _solve(corral.factor, count, shares)
    step, leaving = np.inf, -1
    for k in range(count):
        if shares[k] > DEPENDENT and corral.weights[k] < step * shares[k]:
            step, leaving = corral.weights[k] / shares[k], k
    if leaving < 0:
        return 0
    for k in range(count):
        corral.weights[k] = max(corral.weights[k] - step * shares[k], 0.0)
    count = _drop(corral, count, leaving, len(slope))
    _append(corral, count, slope, offset, unit)
    corral.weights[count] = step
    return count + 1


@kernel()
def _known(corral, count, slope, offset):
    """Whether the cut is in the corral."""
    for k in range(count):
        same = corral.offsets[k] == offset
        for e in range(len(slope)):
            same = same and corral.slopes[k, e] == slope[e]
        if same:
            return True
    return False


@kernel()
def _enter(corral, count, slope, offset):
    """Take a new cut into the corral; returns the number of cuts, 0 if it is there already."""
    p = len(slope)
    if _known(corral, count, slope, offset):
        return 0
    own = dot(corral.slopes[0], corral.slopes[0], p)
    if count == 1:
        _append(corral, 0, corral.slopes[0, :p], corral.offsets[0], max(own, dot(slope, slope, p)))
    unit = corral.products[0, 0] - own
    if _append(corral, count, slope, offset, unit) <= DEPENDENT:
        return _exchange(corral, count, slope, offset, unit)
    corral.weights[count] = 0.0
    return count + 1


@kernel()
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
    total = unit = 0.0
    for k in range(count):
        total += targets[k]
        unit += ones[k]
    for k in range(count):
        targets[k] += (1.0 - total) / unit * ones[k]


@kernel()
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
        for k in range(count):
            weights[k] = max(weights[k] + step * (targets[k] - weights[k]), 0.0) if leaving >= 0 else targets[k]
        if leaving < 0:
            break
        count = _drop(corral, count, leaving, len(margins))
    return count


@kernel()
def _combine(corral, count, point):
    """The point of the corral, its weights normalised to sum to one; returns its offset."""
    total = offset = 0.0
    for k in range(count):
        total += corral.weights[k]
    for e in range(len(point)):
        point[e] = 0.0
    for k in range(count):
        weight = corral.weights[k] / total
        corral.weights[k] = weight
        offset += weight * corral.offsets[k]
        for e in range(len(point)):
            point[e] += weight * corral.slopes[k, e]
    return offset


@kernel()
def _rebuild(corral, count, p):
    """Products and Cholesky factor of the stored cuts."""
    unit = 0.0
    for k in range(count):
        unit = max(unit, _rows_dot(corral.slopes, k, k, p))
    for k in range(count):
        for j in range(k + 1):
            product = _rows_dot(corral.slopes, k, j, p) + unit
            corral.products[k, j] = product
            corral.products[j, k] = product
    _factorise(corral, 0, count)


@kernel()
def _merge_lightest(corral, count, p):
    """Make one cut of the two of least weight, a point of the same hull; returns how many are left."""
    weights = corral.weights
    a = 0
    for k in range(count):
        if weights[k] < weights[a]:
            a = k
    b = 1 if a == 0 else 0
    for k in range(count):
        if k != a and weights[k] < weights[b]:
            b = k
    total = weights[a] + weights[b]
    share = weights[b] / total if total > 0.0 else 0.5
    for e in range(p):
        corral.slopes[b, e] = (1.0 - share) * corral.slopes[a, e] + share * corral.slopes[b, e]
    corral.offsets[b] = (1.0 - share) * corral.offsets[a] + share * corral.offsets[b]
    weights[b] = total
    for e in range(p):
        corral.slopes[a, e] = corral.slopes[count - 1, e]
    corral.offsets[a], weights[a] = corral.offsets[count - 1], weights[count - 1]
    _rebuild(corral, count - 1, p)
    return count - 1


@kernel()
def climb(i, batch, prox, start, corral, work, most, shrink):
    """Move a bag to its proximal point, by up to `most` cuts, or until its gap is down to `shrink` times what it was.

    `prox` has the margins, the centre and mu; `start` the number of cuts in the corral, their combination, which is
    moved in place, and its offset. Returns the number of cuts, the offset, the first gap, and whether cuts have
    changed their places in the corral.
    """
    starts, partitions, which, records, sizes, values, room = batch
    margins, centre, mu = prox
    count, point, offset = start
    shifted, slope, chosen = work
    lo, hi, kind = starts[i], starts[i + 1], which[i]
    p, capacity = hi - lo, len(corral.weights)
    first, built, changed = 0.0, count == 1, False
    for step in range(most):
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - centre[e])
        tables = (sizes[kind], values)
        entering, value = bag_cut(shifted, partitions[lo:hi], records[kind], tables, room, slope, chosen)
        gap = value - (offset - dot(point, shifted, p))
        if step == 0:
            first = gap
        if not gap > max(shrink * first, EXACT * (abs(value) + abs(offset))):
            break
        if not built:
            _rebuild(corral, count, p)
            built = True
        if count == capacity:
            count = _merge_lightest(corral, count, p)
            changed = True
        grown = _enter(corral, count, slope, entering)
        if grown == 0:  # the cut is known: at first the weights can still be better
            if step > 0 or count == 1:
                break
            grown = count
        left = _correct(corral, grown, margins, centre, mu)
        changed = changed or left < grown or grown == count
        count = left
        offset = _combine(corral, count, point)
    return count, offset, first, changed
