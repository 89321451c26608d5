"""Numba kernels: the proximal point of a bag, and the corral of cuts that it is made of.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. The algorithm is that of Wolfe for the point of
least norm of a polytope: a corral of affinely independent cuts, one more from the oracle at the margins
``m + mu (sigma - centre)``, then steps to the best point of the affine hull of the corral, each of which drops a cut
where a weight would become negative. It is finite, and the answer is a convex combination of true cuts wherever it
stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut
from setloss.solvers.kernel_arrays import Corral

# np.int64(0) and the like below, where a literal would do: numba compiles a function once more for every literal.

EXACT = 1e-12
"""Share of the values at which a gap counts as zero."""

DEPENDENT = 1e-12
"""Squared relative distance from the affine hull of the corral at which a cut takes the place of another."""


@kernel(fastmath={"reassoc", "contract"})
def dot(left, right, count):
    """The product of the first `count` numbers."""
    total = 0.0
    for e in range(count):
        total += left[e] * right[e]
    return total


@kernel(fastmath={"reassoc", "contract"})
def _row_dot(matrix, k, vector, count):
    """The product of the first `count` numbers of a row and of a vector."""
    total = 0.0
    for e in range(count):
        total += matrix[k, e] * vector[e]
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
def _write(corral, p, k, slope, offset, weight):
    """Put a cut in place k."""
    for e in range(p):
        corral.slopes[k, e] = slope[e]
    corral.offsets[k] = offset
    corral.weights[k] = weight


@kernel()
def _drop(corral, p, count, k):
    """Take cut k out, the last one takes its place; returns how many are left."""
    last, products = count - 1, corral.products
    for e in range(p):
        corral.slopes[k, e] = corral.slopes[last, e]
    corral.offsets[k] = corral.offsets[last]
    corral.weights[k] = corral.weights[last]
    products[k, k] = products[last, last]
    for j in range(last):
        if j != k:
            products[k, j] = products[j, k] = products[last, j]
    _factorise(corral, k, last)
    return last


@kernel()
def _exchange(corral, p, count, slope, offset, unit):
    """A cut in the affine hull of the corral takes the place of the first to lose its weight; 0 if none does."""
    shares, weights = corral.ones, corral.weights
    for k in range(count):
        shares[k] = corral.products[count, k]
    _solve(corral.factor, count, shares)
    step = np.inf
    leaving: Any = np.int64(-1)
    for k in range(count):
        if shares[k] > DEPENDENT and weights[k] < step * shares[k]:
            step, leaving = weights[k] / shares[k], k
    if leaving < 0:
        return 0
    for k in range(count):
        weights[k] = max(weights[k] - step * shares[k], 0.0)
    _write(corral, p, leaving, slope, offset, step)
    _rebuild(corral, p, leaving, count, unit)
    return count


@kernel()
def _known(corral, p, count, slope, offset):
    """Whether the cut is in the corral."""
    for k in range(count):
        e = 0 if corral.offsets[k] == offset else p + 1
        while e < p and corral.slopes[k, e] == slope[e]:
            e += 1
        if e == p:
            return True
    return False


@kernel()
def _enter(corral, p, count, slope, offset):
    """Take a new cut into the corral; returns the number of cuts, 0 if it is there already."""
    if _known(corral, p, count, slope, offset):
        return 0
    _write(corral, p, count, slope, offset, 0.0)
    if count == 1:
        _rebuild(corral, p, np.int64(0), count, _longest(corral, p, count + 1))
    unit = corral.products[0, 0] - _longest(corral, p, np.int64(1))
    _rebuild(corral, p, count, count + 1, unit)
    own = corral.products[count, count]
    if own - _rows_dot(corral.factor, count, count, count) <= DEPENDENT * own:
        return _exchange(corral, p, count, slope, offset, unit)
    return count + 1


@kernel()
def _affine_weights(corral, p, count, pull, mu):
    """Into `targets`: the weights of the best point of the affine hull of the corral."""
    targets, ones = corral.targets, corral.ones
    for k in range(count):
        targets[k], ones[k] = (corral.offsets[k] + _row_dot(corral.slopes, k, pull, p)) / mu, 1.0
    _solve(corral.factor, count, targets)
    _solve(corral.factor, count, ones)
    total = unit = 0.0
    for k in range(count):
        total += targets[k]
        unit += ones[k]
    for k in range(count):
        targets[k] += (1.0 - total) / unit * ones[k]


@kernel()
def _correct(corral, p, count, pull, mu):
    """Move to the best point of the hull of the corral, dropping the cuts that lose their weight on the way."""
    weights, targets = corral.weights, corral.targets
    while count > 1:
        _affine_weights(corral, p, count, pull, mu)
        step = 1.0
        leaving: Any = np.int64(-1)
        for k in range(count):
            if targets[k] <= DEPENDENT:
                reach = weights[k] / (weights[k] - targets[k]) if weights[k] > targets[k] else 0.0
                if leaving < 0 or reach < step:
                    step, leaving = reach, k
        for k in range(count):
            if leaving < 0:
                weights[k] = targets[k]
            else:
                weights[k] = max(weights[k] + step * (targets[k] - weights[k]), 0.0)
        if leaving < 0:
            break
        count = _drop(corral, p, count, leaving)
    return count


@kernel()
def _combine(corral, p, count, point):
    """The point of the corral, its weights normalised to sum to one; returns its offset."""
    total = offset = 0.0
    for k in range(count):
        total += corral.weights[k]
    for e in range(p):
        point[e] = 0.0
    for k in range(count):
        weight = corral.weights[k] / total
        corral.weights[k] = weight
        offset += weight * corral.offsets[k]
        for e in range(p):
            point[e] += weight * corral.slopes[k, e]
    return offset


@kernel()
def _merge_lightest(corral, p, count):
    """Make one cut of the two of least weight, a point of the same hull; returns how many are left."""
    weights, slopes, offsets = corral.weights, corral.slopes, corral.offsets
    a, b = (0, 1) if weights[0] < weights[1] else (1, 0)
    for k in range(2, count):
        if weights[k] < weights[a]:
            a, b = k, a
        elif weights[k] < weights[b]:
            b = k
    total = weights[a] + weights[b]
    share = weights[b] / total if total > 0.0 else 0.5
    for e in range(p):
        slopes[b, e] = (1.0 - share) * slopes[a, e] + share * slopes[b, e]
    offsets[b] = (1.0 - share) * offsets[a] + share * offsets[b]
    weights[b] = total
    for e in range(p):
        slopes[a, e] = slopes[count - 1, e]
    offsets[a], weights[a] = offsets[count - 1], weights[count - 1]
    _rebuild(corral, p, np.int64(0), count - 1, _longest(corral, p, count - 1))
    return count - 1


@kernel()
def climb(i, places, surrogates, state, mu, most, shrink, space):
    """Move bag i to its proximal point, by up to `most` cuts, or until its gap is down to `shrink` times what it was.

    Only its active elements, those at `places`, count. `space` has their margins and the centre; `state`, a
    `Combination`, is moved in place. Returns the first gap.
    """
    p, lo, kind, capacity = len(places), surrogates.starts[i], surrogates.which[i], state.weights.shape[1]
    plan, tables = surrogates.records[kind], (surrogates.sizes[kind], surrogates.values)
    block = state.atoms[lo * capacity : (lo + p) * capacity].reshape(capacity, p)
    own = block, state.atom_offsets[i], state.weights[i]
    corral = Corral(own[0], own[1], own[2], space.products, space.factor, space.targets, space.ones)
    margins, centre, point, pull = space.margins, space.centre, space.point, space.pull
    shifted, slope, chosen, groups = space.shifted[:p], space.slope[:p], space.chosen[:p], space.groups[:p]
    for j in range(p):
        e = lo + places[j]
        point[j], groups[j], pull[j] = state.slopes[e], surrogates.partitions[e], mu * centre[j] - margins[j]
    count, offset = state.counts[i], state.offsets[i]
    first, built = 0.0, count == 1
    for step in range(most):
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - centre[e])
        entering, value = bag_cut(shifted, groups, plan, tables, surrogates.workspace, slope, chosen)
        gap = value - (offset - dot(point, shifted, p))
        if step == 0:
            first = gap
        if not gap > max(shrink * first, EXACT * (abs(value) + abs(offset))):
            break
        if not built:
            _rebuild(corral, p, np.int64(0), count, _longest(corral, p, count))
            built = True
        if count == capacity:
            count = _merge_lightest(corral, p, count)
        grown = _enter(corral, p, count, slope, entering)
        if grown == 0:  # the cut is known: at first the weights can still be better
            if step > 0 or count == 1:
                break
            grown = count
        count = _correct(corral, p, grown, pull, mu)
        offset = _combine(corral, p, count, point)
    state.counts[i], state.offsets[i] = count, offset
    for k in range(count, capacity):
        corral.weights[k] = 0.0
    for j in range(p):
        state.slopes[lo + places[j]] = point[j]
    return first
