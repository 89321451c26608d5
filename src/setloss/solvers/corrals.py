"""Numba kernels: the proximal point of a bag, and the few cuts that it is made of.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. A step asks the oracle for the cut at the
margins ``m + mu (sigma - centre)``, which is the highest of all there, and then moves weight from the lowest to the
highest of the cuts it has, pair after pair, until all that have weight are equally high (pairwise Frank-Wolfe). The
answer is a convex combination of true cuts wherever it stops.
"""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut
from setloss.solvers.kernel_arrays import Corral

EXACT = 1e-12
"""Share of the values at which a gap counts as zero."""

LEVEL = 0.1
"""Weight is moved until the heights of the cuts differ by this share of the gap of their bag."""

MOST_PAIRS = 10
"""Maximum number of moves of weight after a new cut, for every cut."""


@kernel(fastmath={"reassoc", "contract"})
def dot(left, right, count):
    """The product of the first `count` numbers."""
    total = 0.0
    for e in range(count):
        total += left[e] * right[e]
    return total


@kernel()
def _write_products(corral, p, k):
    """The products of cut k with those before it."""
    for j in range(k + 1):
        corral.products[k, j] = corral.products[j, k] = dot(corral.slopes[k], corral.slopes[j], p)


@kernel()
def _enter(corral, p, count, slope, offset, shifted):
    """One more cut, without weight, and the heights of all at the shifted margins."""
    for e in range(p):
        corral.slopes[count, e] = slope[e]
    corral.offsets[count], corral.weights[count] = offset, 0.0
    _write_products(corral, p, count)
    for k in range(count + 1):
        corral.heights[k] = corral.offsets[k] - dot(corral.slopes[k], shifted, p)


@kernel()
def _drop_unused(corral, p, count):
    """Drop the cuts without weight, the others move up; returns how many are left."""
    kept = 0
    for k in range(count):
        if corral.weights[k] > 0.0:
            if kept < k:
                for e in range(p):
                    corral.slopes[kept, e] = corral.slopes[k, e]
                corral.offsets[kept], corral.weights[kept] = corral.offsets[k], corral.weights[k]
                for j in range(count):
                    corral.products[kept, j] = corral.products[k, j]
                for j in range(count):
                    corral.products[j, kept] = corral.products[j, k]
            kept += 1
    return kept


@kernel()
def _level(corral, count, mu, tolerance):
    """Move weight from the lowest cut to the highest until they are level; `heights` follow. Whether any moved."""
    weights, heights, products, moved = corral.weights, corral.heights, corral.products, False
    for _ in range(MOST_PAIRS * count):
        high, low = 0, -1
        for k in range(count):
            if heights[k] > heights[high]:
                high = k
            if weights[k] > 0.0 and (low < 0 or heights[k] < heights[low]):
                low = k
        rise = heights[high] - heights[low]
        if not rise > tolerance:
            break
        square = mu * (products[high, high] - 2.0 * products[high, low] + products[low, low])
        step = min(weights[low], rise / square) if square > 0.0 else weights[low]
        weights[high] += step
        weights[low] -= step
        for k in range(count):
            heights[k] -= mu * step * (products[k, high] - products[k, low])
        moved = True
    return moved


@kernel()
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


@kernel(forceinline=True)
def largest_slope(group, part):
    """The largest slope of an element where B is a hinge per element."""
    return part.weight * (part.false_negative if group == 0 else part.false_positive)


@kernel()
def _move_hinge(i, places, surrogates, state, mu, space):
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


@kernel()
def _climb(i, places, surrogates, state, mu, most, shrink, space):
    """Move bag i to its proximal point, by up to `most` cuts, or until its gap is down to `shrink` times what it was.

    Only its active elements, those at `places`, count. `space` has their margins and the centre; `state`, a
    `Combination`, is moved in place. Returns the first gap.
    """
    p, lo, kind, capacity = len(places), surrogates.starts[i], surrogates.which[i], state.weights.shape[1]
    plan, tables = surrogates.records[kind], (surrogates.sizes[kind], surrogates.values)
    slopes = state.atoms[lo * capacity : (lo + p) * capacity].reshape(capacity, p)
    corral = Corral(slopes, state.atom_offsets[i], state.weights[i], space.products, space.heights)
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
        moved = _level(corral, count, mu, LEVEL * gap)
        count = _drop_unused(corral, p, count)
        offset = _combine(corral, p, count, point)
        if not moved:
            break
    state.counts[i], state.offsets[i] = count, offset
    for k in range(count, capacity):
        corral.weights[k] = 0.0
    for j in range(p):
        state.slopes[lo + places[j]] = point[j]
    return first


@kernel()
def move_bag(i, places, surrogates, state, mu, most, shrink, space):
    """Move bag i to its proximal point: a closed form for a hinge per element, else as far as `_climb` goes."""
    if state.hinge:
        return _move_hinge(i, places, surrogates, state, mu, space)
    return _climb(i, places, surrogates, state, mu, most, shrink, space)
