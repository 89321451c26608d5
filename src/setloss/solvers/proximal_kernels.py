"""Numba kernels: the proximal point of every bag, and the face of cuts that it lies on.

    max over (o, sigma) in the hull of the cuts of a bag of   o - <sigma, m> - mu/2 |sigma - centre|^2

The quadratic term makes sigma unique and Lipschitz in the margins m. The algorithm is that of Wolfe for the point of
least norm of a polytope: a corral of affinely independent cuts, one more from the oracle at the margins
``m + mu (sigma - centre)``, then steps to the best point of the affine hull of the corral, each of which drops a cut
where a weight would become negative. It is finite, and what it returns is a convex combination of true cuts wherever
it stops. Where the bag is at its centre already, it takes one call of the oracle.

All bags of a chunk take one cut each in turn, so the oracle stays outside: these kernels know nothing of surrogates
and are compiled once for all of them, and written in plain loops, which compile fastest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from setloss.compilation import kernel
from setloss.solvers.kernels import row_add, row_dot

LARGEST_CORRAL = 64
"""A corral of p + 2 cuts is enough for any point of a bag of p elements; larger ones than this stop early."""

EXACT = 1e-11
"""The oracle is asked for cuts until none is higher than the point by this share."""

DEPENDENT = 1e-12
"""A cut that is so close to the affine hull of the corral, squared and relative, takes the place of another."""


class Corrals(NamedTuple):
    """The cuts of the bags of a chunk, `counts` of each, with their weights.

    `products` has ``<a_k, a_l> + unit``, `factor` its Cholesky factor; `targets` and `ones` are room for one bag.
    """

    slopes: Any
    offsets: Any
    weights: Any
    products: Any
    factor: Any
    counts: Any
    targets: Any
    ones: Any


class Corral(NamedTuple):
    """One bag of `Corrals`."""

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


@kernel()
def factorise(corral, first, count):
    """The rows of the Cholesky factor from `first` on."""
    for k in range(first, count):
        for i in range(k + 1):
            total = corral.products[k, i] - dot(corral.factor[k], corral.factor[i], i)
            if i < k:
                corral.factor[k, i] = total / corral.factor[i, i]
            else:
                corral.factor[k, k] = np.sqrt(max(total, DEPENDENT * corral.products[k, k]))


@kernel()
def _solve(factor, count, x):
    """In place: x <- (factor factor^T)^-1 x."""
    for k in range(count):
        x[k] = (x[k] - dot(factor[k], x, k)) / factor[k, k]
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
        product = dot(corral.slopes[k], slope, p) + unit
        corral.products[count, k] = product
        corral.products[k, count] = product
    factorise(corral, count, count + 1)
    own = corral.products[count, count]
    row = corral.factor[count]
    return (own - dot(row, row, count)) / own


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
    factorise(corral, k, count - 1)
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
def enter(corral, count, slope, offset):
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
def correct(corral, count, margins, centre, mu):
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
def combine(corral, count, point):
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
def _corral(corrals, j):
    """Bag j of the chunk."""
    arrays = (corrals.slopes[j], corrals.offsets[j], corrals.weights[j], corrals.products[j], corrals.factor[j])
    return Corral(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], corrals.targets, corrals.ones)


@kernel()
def _start(corral, point, offset):
    """A corral of one cut."""
    corral.offsets[0] = offset
    corral.weights[0] = 1.0
    for e in range(len(point)):
        corral.slopes[0, e] = point[e]


@kernel()
def advance(visits, first, data, found, corrals, points):
    """Take the cuts that were found into the corrals of the visited bags and move their points.

    `data` holds margins, centres, mu, and where the bags start; `found` the margins where the oracle was asked, which
    are moved too, the slopes of its cuts, and their offsets and values; `points` the slopes and offsets of the
    points. `first` is the first bag of the chunk. The bags that are not done yet move to the front of `visits`;
    returns how many there are.
    """
    margins, centre, mu, starts = data
    shifted, entering, totals = found
    slopes, offsets = points
    largest = len(corrals.targets) - 1
    left = 0
    for i in visits:
        lo, hi, j = starts[i], starts[i + 1], i - first
        corral, count, point, slope = _corral(corrals, j), corrals.counts[j], slopes[lo:hi], entering[lo:hi]
        if count == 0:
            _start(corral, point, offsets[i])
            count = 1
        offset, height = totals[i, 0], totals[i, 1]
        here = offsets[i] - dot(point, shifted[lo:hi], hi - lo)
        grown = 0
        if height - here > EXACT * (abs(height) + abs(offsets[i])) and count < largest:
            grown = enter(corral, count, slope, offset)
        if grown > 0:
            count = correct(corral, grown, margins[lo:hi], centre[lo:hi], mu)
            offsets[i] = combine(corral, count, point)
            for e in range(lo, hi):
                shifted[e] = margins[e] + mu * (slopes[e] - centre[e])
            visits[left] = i
            left += 1
        corrals.counts[j] = count
    return left


@kernel()
def _face(corral, count, p, basis, used):
    """Append an orthonormal basis of the differences of the cuts of the corral; returns its rank."""
    rank = 0
    for k in range(1, count):
        vector = basis[used + rank * p : used + (rank + 1) * p]
        for e in range(p):
            vector[e] = corral.slopes[k, e] - corral.slopes[0, e]
        length = np.sqrt(dot(vector, vector, p))
        for _ in range(2):  # twice is enough
            for j in range(rank):
                other = basis[used + j * p : used + (j + 1) * p]
                product = dot(other, vector, p)
                for e in range(p):
                    vector[e] -= product * other[e]
        left = np.sqrt(dot(vector, vector, p))
        if left > 1e-9 * length:
            for e in range(p):
                vector[e] /= left
            rank += 1
    return rank


@kernel()
def faces(first, starts, corrals, ranks, basis):
    """A basis of the face of every bag of the chunk, one after the other; returns how much of `basis` is used."""
    used = 0
    for j in range(len(corrals.counts)):
        p = starts[first + j + 1] - starts[first + j]
        rank = _face(_corral(corrals, j), corrals.counts[j], p, basis, used)
        ranks[first + j] = rank
        used += rank * p
    return used


@kernel()
def face_rows(design, maps, starts, ranks, basis, scales, first, used, out):
    """One row ``scale sum_e y_e q_e x_e`` per vector q of a basis, until `out` is full.

    Returns the bag and the place in `basis` to go on with, and the number of rows.
    """
    rows, tasks, signs = maps
    count = 0
    for i in range(first, len(ranks)):
        lo, hi = starts[i], starts[i + 1]
        if count + ranks[i] > len(out):
            return i, used, count
        for _ in range(ranks[i]):
            for t in range(out.shape[1]):
                for j in range(out.shape[2]):
                    out[count, t, j] = 0.0
            for e in range(lo, hi):
                factor = scales[i] * signs[e] * basis[used + e - lo]
                if factor != 0.0:
                    row_add(design, rows[e], factor, out[count, tasks[e]])
            used += hi - lo
            count += 1
    return len(ranks), used, count


@kernel()
def face_product(design, maps, starts, ranks, basis, scales, direction, room, out):
    """Out += sum_i scale_i M_i^T Q_i Q_i^T M_i direction; `room` has two numbers per element of the largest bag."""
    rows, tasks, signs = maps
    change, image = room
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        if ranks[i] == 0:
            continue
        for e in range(p):
            change[e] = signs[lo + e] * row_dot(design, rows[lo + e], direction[tasks[lo + e]])
            image[e] = 0.0
        for _ in range(ranks[i]):
            product = 0.0
            for e in range(p):
                product += basis[used + e] * change[e]
            for e in range(p):
                image[e] += product * basis[used + e]
            used += p
        for e in range(p):
            factor = scales[i] * signs[lo + e] * image[e]
            if factor != 0.0:
                row_add(design, rows[lo + e], factor, out[tasks[lo + e]])


@kernel()
def project_on_faces(starts, ranks, basis, scales, change, image):
    """Image = scale_i Q_i Q_i^T change, bag by bag."""
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        for e in range(p):
            image[lo + e] = 0.0
        for _ in range(ranks[i]):
            product = 0.0
            for e in range(p):
                product += basis[used + e] * change[lo + e]
            for e in range(p):
                image[lo + e] += scales[i] * product * basis[used + e]
            used += p


@kernel()
def face_diagonals(starts, ranks, basis, scales, out):
    """out[e] = scale_i sum over the basis of q_e^2."""
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        for _ in range(ranks[i]):
            for e in range(p):
                out[lo + e] += scales[i] * basis[used + e] * basis[used + e]
            used += p
