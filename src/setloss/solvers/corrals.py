"""Numba kernels: the proximal point of a bag, and the few cuts that it is made of.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. The algorithm is that of Wolfe for the point of
least norm of a polytope: one more cut from the oracle at the margins ``m + mu (sigma - centre)``, the highest of all
there, then steps to the best point of the affine hull of the cuts, each of which drops a cut where a weight would
become negative. It is finite, and the answer is a convex combination of true cuts wherever it stops.
"""

import numpy as np

from setloss.compilation import inner_kernel
from setloss.plans.kernels import bag_cut
from setloss.solvers.kernel_arrays import Corral

EXACT = 1e-12
"""Share of the values at which a gap counts as zero."""

RIDGE = 1e-12
"""Relative to the longest cut, added to squares of lengths: a step along cuts that depend on each other is long."""


@inner_kernel(fastmath={"reassoc", "contract"})
def dot(left, right, count):
    """The product of the first `count` numbers."""
    total = 0.0
    for e in range(count):
        total += left[e] * right[e]
    return total


@inner_kernel()
def _write_products(corral, p, k):
    """The products of cut k with those before it."""
    for j in range(k + 1):
        corral.products[k, j] = corral.products[j, k] = dot(corral.slopes[k], corral.slopes[j], p)


@inner_kernel()
def _enter(corral, p, count, slope, offset, shifted):
    """One more cut, without weight, and the heights of all at the shifted margins."""
    for e in range(p):
        corral.slopes[count, e] = slope[e]
    corral.offsets[count], corral.weights[count] = offset, 0.0
    _write_products(corral, p, count)
    for k in range(count + 1):
        corral.heights[k] = corral.offsets[k] - dot(corral.slopes[k], shifted, p)


@inner_kernel()
def _drop(corral, p, count, k):
    """Take cut k out, the last one takes its place; returns how many are left."""
    last, products = count - 1, corral.products
    for e in range(p):
        corral.slopes[k, e] = corral.slopes[last, e]
    for values in (corral.offsets, corral.weights, corral.heights):
        values[k] = values[last]
    for j in range(count):
        products[k, j] = products[last, j]
    for j in range(count):
        products[j, k] = products[j, last]
    return last


@inner_kernel()
def _factorise(corral, count):
    """The Cholesky factor of the products; as much is added to all of them as makes no affine combination short."""
    products, factor, longest = corral.products, corral.factor, 0.0
    for k in range(count):
        longest = max(longest, products[k, k])
    longest = longest if longest > 0.0 else 1.0
    for k in range(count):
        for i in range(k):
            factor[k, i] = (products[k, i] + longest - dot(factor[k], factor[i], i)) / factor[i, i]
        rest = products[k, k] + longest * (1.0 + RIDGE) - dot(factor[k], factor[k], k)
        factor[k, k] = np.sqrt(max(rest, RIDGE * longest))


@inner_kernel()
def _solve(factor, count, x):
    """In place: x <- (factor factor^T)^-1 x."""
    for k in range(count):
        x[k] = (x[k] - dot(factor[k], x, k)) / factor[k, k]
    for k in range(count - 1, -1, -1):
        x[k] /= factor[k, k]
        for j in range(k):
            x[j] -= factor[k, j] * x[k]


@inner_kernel()
def _correct(corral, p, count, mu):
    """Move to the best point of the affine hull of the cuts, dropping those that lose their weight on the way.

    A step raises what is maximised to the best of the hull if all weights stay positive, else as far as they do.
    Returns how many cuts are left.
    """
    weights, heights, change, ones = corral.weights, corral.heights, corral.change, corral.ones
    while count > 1:
        leaving = count  # none
        _factorise(corral, count)
        for k in range(count):
            change[k], ones[k] = heights[k] / mu, 1.0
        _solve(corral.factor, count, change)
        _solve(corral.factor, count, ones)
        total = unit = 0.0
        for k in range(count):
            total += change[k]
            unit += ones[k]
        step = 1.0
        for k in range(count):
            change[k] -= total / unit * ones[k]
            if change[k] < 0.0 and weights[k] + step * change[k] <= 0.0:
                step, leaving = -weights[k] / change[k], k
        for k in range(count):
            weights[k] = max(weights[k] + step * change[k], 0.0)
            heights[k] -= mu * step * dot(corral.products[k], change, count)
        if leaving == count:
            break
        count = _drop(corral, p, count, leaving)
    return count


@inner_kernel()
def _combine(corral, p, count, point):
    """The point of the cuts, their weights normalised to sum to one; returns its offset."""
    total = offset = 0.0
    for k in range(count):
        total += corral.weights[k]
    for e in range(p):
        point[e] = 0.0
    for k in range(count):
        corral.weights[k] /= total
        offset += corral.weights[k] * corral.offsets[k]
        for e in range(p):
            point[e] += corral.weights[k] * corral.slopes[k, e]
    return offset


@inner_kernel(forceinline=True)
def largest_slope(group, part):
    """The largest slope of an element where B is a hinge per element."""
    return part.weight * (part.false_negative if group == 0 else part.false_positive)


@inner_kernel()
def move_hinge(i, places, surrogates, state, mu, space):
    """The proximal point of a bag whose B is a hinge per element; returns its gap before."""
    lo, part, gap = surrogates.starts[i], surrogates.records[surrogates.which[i]].lovasz, 0.0
    for j in range(len(places)):
        e, slack = lo + places[j], 1.0 - space.margins[j]
        largest = largest_slope(surrogates.partitions[e], part)
        gap += max(largest * slack, 0.0) - state.slopes[e] * slack
        state.slopes[e] = space.point[j] = min(max(space.centre[j] + slack / mu, 0.0), largest)
    state.offsets[i] = 0.0
    for e in range(lo, surrogates.starts[i + 1]):
        state.offsets[i] += state.slopes[e]
    return gap


@inner_kernel(inline="always")
def climb(i, places, surrogates, state, mu, most, shrink, space):
    """Move bag i to its proximal point, by up to `most` cuts, or until its gap is down to `shrink` times what it was.

    Only its active elements, those at `places`, count. `space` has their margins and the centre; `state`, a
    `Combination`, is moved in place. Returns the first gap.
    """
    p, lo, kind, capacity = len(places), surrogates.starts[i], surrogates.which[i], state.weights.shape[1]
    plan, tables = surrogates.records[kind], (surrogates.sizes[kind], surrogates.values)
    slopes = state.atoms[lo * capacity : (lo + p) * capacity].reshape(capacity, p)
    corral = Corral(slopes, state.atom_offsets[i], state.weights[i], *space.corral)
    margins, centre, point = space.margins, space.centre, space.point
    shifted, slope, chosen, groups = space.shifted[:p], space.slope[:p], space.chosen[:p], space.groups[:p]
    for j in range(p):
        point[j], groups[j] = state.slopes[lo + places[j]], surrogates.partitions[lo + places[j]]
    count, offset, first = state.counts[i], state.offsets[i], 0.0
    for step in range(most):
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - centre[e])
        entering, value = bag_cut(shifted, groups, plan, tables, surrogates.workspace, slope, chosen)
        gap = value - (offset - dot(point, shifted, p))
        if step == 0:
            first = gap
        if not gap > max(shrink * first, EXACT * (abs(value) + abs(offset))):
            break
        if step == 0:
            for k in range(count):
                _write_products(corral, p, k)
        if count == capacity:  # the point of all cuts takes their place; a literal 0 would compile `_enter` once more
            _enter(corral, p, np.int64(0), point, offset, shifted)
            corral.weights[0], count = 1.0, 1
        _enter(corral, p, count, slope, entering, shifted)
        count += 1
        count = _correct(corral, p, count, mu)
        offset = _combine(corral, p, count, point)
    state.counts[i], state.offsets[i] = count, offset
    for k in range(count, capacity):
        corral.weights[k] = 0.0
    for j in range(p):
        state.slopes[lo + places[j]] = point[j]
    return first
