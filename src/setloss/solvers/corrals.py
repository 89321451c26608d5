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
    """The cuts of one bag: a row of `slopes` each, and row i of `offsets` and of `weights`.

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
    """The product of the first `count` numbers of two rows."""
    total = 0.0
    for e in range(count):
        total += matrix[k, e] * matrix[j, e]
    return total


@kernel()
def _factorise(corral, first, count):
    """The rows of the Cholesky factor from `first` on."""
    products, factor = corral.products, corral.factor
    for k in range(first, count):
        for i in range(k):
            factor[k, i] = (products[k, i] - _rows_dot(factor, k, i, i)) / factor[i, i]
        rest = products[k, k] - _rows_dot(factor, k, k, k)
        factor[k, k] = np.sqrt(max(rest, DEPENDENT * products[k, k]))


@kernel()
def _solve(factor, count, x):
    """In place: x <- (factor factor^T)^-1 x."""
    for k in range(count):
        total = x[k]
        for j in range(k):
            total -= factor[k, j] * x[j]
        x[k] = total / factor[k, k]
    for k in range(count - 1, -1, -1):
        x[k] /= factor[k, k]
        for j in range(k):
            x[j] -= factor[k, j] * x[k]


@kernel()
def _rebuild(corral, p, first, count, unit):
    """Products and Cholesky factor of the cuts from `first` on."""
    products = corral.products
    for k in range(first, count):
        for j in range(k + 1):
            products[k, j] = products[j, k] = _rows_dot(corral.slopes, k, j, p) + unit
    _factorise(corral, first, count)


@kernel()
def _longest(corral, p, count):
    """The largest squared length of a cut: what makes no lifted cut short."""
    unit = 0.0
    for k in range(count):
        unit = max(unit, _rows_dot(corral.slopes, k, k, p))
    return unit


@kernel()
def _write(corral, i, p, k, slope, offset, weight):
    """Put a cut in place k."""
    for e in range(p):
        corral.slopes[k, e] = slope[e]
    corral.offsets[i, k] = offset
    corral.weights[i, k] = weight


@kernel()
def _drop(corral, i, p, count, k):
    """Take cut k out, the last one takes its place; returns how many are left."""
    last, products = count - 1, corral.products
    for e in range(p):
        corral.slopes[k, e] = corral.slopes[last, e]
    corral.offsets[i, k] = corral.offsets[i, last]
    corral.weights[i, k] = corral.weights[i, last]
    products[k, k] = products[last, last]
    for j in range(last):
        if j != k:
            products[k, j] = products[j, k] = products[last, j]
    _factorise(corral, k, last)
    return last


@kernel()
def _exchange(corral, i, p, count, slope, offset, unit):
    """A cut in the affine hull of the corral takes the place of the first to lose its weight; 0 if none does."""
    shares, weights = corral.ones, corral.weights
    for k in range(count):
        shares[k] = corral.products[count, k]
    _solve(corral.factor, count, shares)
    step, leaving = np.inf, -1
    for k in range(count):
        if shares[k] > DEPENDENT and weights[i, k] < step * shares[k]:
            step, leaving = weights[i, k] / shares[k], k
    if leaving < 0:
        return 0
    for k in range(count):
        weights[i, k] = max(weights[i, k] - step * shares[k], 0.0)
    _write(corral, i, p, leaving, slope, offset, step)
    _rebuild(corral, p, leaving, count, unit)
    return count


@kernel()
def _known(corral, i, p, count, slope, offset):
    """Whether the cut is in the corral."""
    for k in range(count):
        same = corral.offsets[i, k] == offset
        for e in range(p):
            same = same and corral.slopes[k, e] == slope[e]
        if same:
            return True
    return False


@kernel()
def _enter(corral, i, p, count, slope, offset):
    """Take a new cut into the corral; returns the number of cuts, 0 if it is there already."""
    if _known(corral, i, p, count, slope, offset):
        return 0
    _write(corral, i, p, count, slope, offset, 0.0)
    if count == 1:
        _rebuild(corral, p, 0, 1, _longest(corral, p, 2))
    unit = corral.products[0, 0] - _rows_dot(corral.slopes, 0, 0, p)
    _rebuild(corral, p, count, count + 1, unit)
    own = corral.products[count, count]
    if own - _rows_dot(corral.factor, count, count, count) <= DEPENDENT * own:
        return _exchange(corral, i, p, count, slope, offset, unit)
    return count + 1


@kernel()
def _affine_weights(corral, i, p, count, pull, mu):
    """Into `targets`: the weights of the best point of the affine hull of the corral."""
    targets, ones = corral.targets, corral.ones
    for k in range(count):
        height = corral.offsets[i, k]
        for e in range(p):
            height += corral.slopes[k, e] * pull[e]
        targets[k], ones[k] = height / mu, 1.0
    _solve(corral.factor, count, targets)
    _solve(corral.factor, count, ones)
    total = unit = 0.0
    for k in range(count):
        total += targets[k]
        unit += ones[k]
    for k in range(count):
        targets[k] += (1.0 - total) / unit * ones[k]


@kernel()
def _correct(corral, i, p, count, pull, mu):
    """Move to the best point of the hull of the corral, dropping the cuts that lose their weight on the way."""
    weights, targets = corral.weights, corral.targets
    while count > 1:
        _affine_weights(corral, i, p, count, pull, mu)
        step, leaving = 1.0, -1
        for k in range(count):
            if targets[k] <= DEPENDENT:
                reach = weights[i, k] / (weights[i, k] - targets[k]) if weights[i, k] > targets[k] else 0.0
                if leaving < 0 or reach < step:
                    step, leaving = reach, k
        for k in range(count):
            if leaving < 0:
                weights[i, k] = targets[k]
            else:
                weights[i, k] = max(weights[i, k] + step * (targets[k] - weights[i, k]), 0.0)
        if leaving < 0:
            break
        count = _drop(corral, i, p, count, leaving)
    return count


@kernel()
def _combine(corral, i, p, count, point):
    """The point of the corral, its weights normalised to sum to one; returns its offset."""
    total = offset = 0.0
    for k in range(count):
        total += corral.weights[i, k]
    for e in range(p):
        point[e] = 0.0
    for k in range(count):
        weight = corral.weights[i, k] / total
        corral.weights[i, k] = weight
        offset += weight * corral.offsets[i, k]
        for e in range(p):
            point[e] += weight * corral.slopes[k, e]
    return offset


@kernel()
def _merge_lightest(corral, i, p, count):
    """Make one cut of the two of least weight, a point of the same hull; returns how many are left."""
    weights, slopes, offsets = corral.weights, corral.slopes, corral.offsets
    a, b = (0, 1) if weights[i, 0] < weights[i, 1] else (1, 0)
    for k in range(2, count):
        if weights[i, k] < weights[i, a]:
            a, b = k, a
        elif weights[i, k] < weights[i, b]:
            b = k
    total = weights[i, a] + weights[i, b]
    share = weights[i, b] / total if total > 0.0 else 0.5
    for e in range(p):
        slopes[b, e] = (1.0 - share) * slopes[a, e] + share * slopes[b, e]
    offsets[i, b] = (1.0 - share) * offsets[i, a] + share * offsets[i, b]
    weights[i, b] = total
    for e in range(p):
        slopes[a, e] = slopes[count - 1, e]
    offsets[i, a], weights[i, a] = offsets[i, count - 1], weights[i, count - 1]
    _rebuild(corral, p, 0, count - 1, _longest(corral, p, count - 1))
    return count - 1


@kernel()
def climb(bag, batch, prox, corral, i, count, point, offset, work, most, shrink):
    """Move a bag to its proximal point, by up to `most` cuts, or until its gap is down to `shrink` times what it was.

    `prox` has the margins, the centre and mu; `point` is the combination of the `count` cuts of the corral, which is
    moved in place, with this offset. Returns the number of cuts, the offset, and the first gap.
    """
    starts, partitions, which, records, sizes, values, room = batch
    margins, centre, mu = prox
    shifted, pull, slope, chosen = work
    p, kind, capacity = starts[bag + 1] - starts[bag], which[bag], corral.weights.shape[1]
    partition, plan, tables = partitions[starts[bag] : starts[bag + 1]], records[kind], (sizes[kind], values)
    for e in range(p):
        pull[e] = mu * centre[e] - margins[e]
    first, built = 0.0, count == 1
    for step in range(most):
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - centre[e])
        entering, value = bag_cut(shifted, partition, plan, tables, room, slope, chosen)
        gap = value - (offset - dot(point, shifted, p))
        if step == 0:
            first = gap
        if not gap > max(shrink * first, EXACT * (abs(value) + abs(offset))):
            break
        if not built:
            _rebuild(corral, p, 0, count, _longest(corral, p, count))
            built = True
        if count == capacity:
            count = _merge_lightest(corral, i, p, count)
        grown = _enter(corral, i, p, count, slope, entering)
        if grown == 0:  # the cut is known: at first the weights can still be better
            if step > 0 or count == 1:
                break
            grown = count
        count = _correct(corral, i, p, grown, pull, mu)
        offset = _combine(corral, i, p, count, point)
    return count, offset, first
