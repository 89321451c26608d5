"""Numba kernels: an epoch of block-coordinate ascent on label sets.

An example is one row x and its labels, each with its own w. With W stored as features x labels the scores of all
labels are one row times a matrix, contiguous numbers for every entry of x. The Gram matrix of the example is
|x|^2 times the identity, so the best dual point of one example, all others fixed, is a proximal point of B:

    max over (o, sigma) in the hull of its cuts of   o - <sigma, m> - mu/2 |sigma - before|^2,      mu = c |x|^2

It is found by the corral method of `setloss.solvers.proximal_kernels`, which starts from the cuts that the last visit
ended with. Where B is a sum over labels, as the hinge is, the point is a closed form.
"""

from __future__ import annotations

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut
from setloss.solvers.proximal_kernels import Corral, combine, correct, dot, enter, factorise


@kernel()
def read_scores(design, row, weights, scores):
    """Scores = x_row times the matrix of features x labels."""
    dense, data, indices, indptr, sparse, constant = design
    last = weights[weights.shape[0] - 1]
    for j in range(len(scores)):
        scores[j] = constant * last[j]
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            value, line = data[k], weights[indices[k]]
            for j in range(len(scores)):
                scores[j] += value * line[j]
    else:
        x = dense[row]
        for k in range(len(x)):
            value, line = x[k], weights[k]
            for j in range(len(scores)):
                scores[j] += value * line[j]


@kernel()
def add_row(design, row, change, weights):
    """Add the outer product of x_row and `change` to the matrix of features x labels."""
    dense, data, indices, indptr, sparse, constant = design
    last = weights[weights.shape[0] - 1]
    for j in range(len(change)):
        last[j] += constant * change[j]
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            value, line = data[k], weights[indices[k]]
            for j in range(len(change)):
                line[j] += value * change[j]
    else:
        x = dense[row]
        for k in range(len(x)):
            value, line = x[k], weights[k]
            for j in range(len(change)):
                line[j] += value * change[j]


@kernel()
def _read_margins(design, maps, lo, hi, weights, scores, margins):
    rows, tasks, signs = maps
    read_scores(design, rows[lo], weights, scores)
    for e in range(lo, hi):
        margins[e - lo] = signs[e] * scores[tasks[e]]


@kernel()
def _write_change(design, maps, lo, hi, cost, slopes, before, scores, weights):
    """Bring W up to date with the slopes of one example, which were `before`."""
    rows, tasks, signs = maps
    for j in range(len(scores)):
        scores[j] = 0.0
    moved = False
    for e in range(lo, hi):
        change = cost * signs[e] * (slopes[e] - before[e - lo])
        scores[tasks[e]] = change
        moved = moved or change != 0.0
    if moved:
        add_row(design, rows[lo], scores, weights)


@kernel()
def separable_epoch(visits, design, maps, starts, costs, norms, largest, state, work):
    """Visit examples whose B is ``sum_e largest_e (1 - m_e)_+``: 0 <= sigma_e <= largest_e, o = sum of sigma."""
    weights, slopes, offsets, gaps = state
    scores, margins, before = work[0], work[1], work[2]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        _read_margins(design, maps, lo, hi, weights, scores, margins)
        step, gap, offset = 1.0 / (costs[i] * norms[i]), 0.0, 0.0
        for e in range(lo, hi):
            slack, slope = 1.0 - margins[e - lo], slopes[e]
            gap += max(largest[e] * slack, 0.0) - slope * slack
            before[e - lo] = slope
            slopes[e] = min(max(slope + step * slack, 0.0), largest[e])
            offset += slopes[e]
        offsets[i], gaps[i] = offset, max(gap, 0.0)
        _write_change(design, maps, lo, hi, costs[i], slopes, before, scores, weights)


@kernel()
def _rebuild(corral, count, p):
    """Products and Cholesky factor of the stored cuts."""
    unit = 0.0
    for k in range(count):
        unit = max(unit, dot(corral.slopes[k], corral.slopes[k], p))
    for k in range(count):
        for j in range(k + 1):
            product = dot(corral.slopes[k], corral.slopes[j], p) + unit
            corral.products[k, j] = product
            corral.products[j, k] = product
    factorise(corral, 0, count)


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
def _visit(i, batch, mu, state, work, most, shrink):
    """Move one example to its proximal point, by up to `most` cuts; its margins are in `work`.

    Ends early when the gap of the example is down to `shrink` times what it was.
    """
    starts, partitions, which, records, sizes, values, room = batch
    _, slopes, offsets, atoms, atom_offsets, weights, counts, versions, gaps = state
    _, margins, before, shifted, slope, chosen, products, factor, targets, ones = work
    lo, hi, kind = starts[i], starts[i + 1], which[i]
    p, capacity, count = hi - lo, weights.shape[1], counts[i]
    block = atoms[lo * capacity : hi * capacity].reshape(capacity, p)
    corral = Corral(block, atom_offsets[i], weights[i], products, factor, targets, ones)
    point, margins, before, shifted, slope = slopes[lo:hi], margins[:p], before[:p], shifted[:p], slope[:p]
    first = 0.0
    for e in range(p):
        before[e] = point[e]
        shifted[e] = margins[e]
    for step in range(most):
        tables = (sizes[kind], values)
        offset, value = bag_cut(shifted, partitions[lo:hi], records[kind], tables, room, slope, chosen[:p])
        gap = value - (offsets[i] - dot(point, shifted, p))
        if step == 0:
            first = gap
            gaps[i] = max(gap, 0.0)
            if count > 1 and gap > 1e-14 * abs(value):
                _rebuild(corral, count, p)
        if not gap > shrink * first or not gap > 1e-14 * abs(value):
            break
        if count == capacity:
            count = _merge_lightest(corral, count, p)
            versions[i] += 1
        grown = enter(corral, count, slope, offset)
        if grown == 0:  # the cut is known: the weights can still be better
            if step > 0 or count == 1:
                break
            grown = count
        left = correct(corral, grown, margins, before, mu)
        if left < grown or grown == count:
            versions[i] += 1
        count = left
        offsets[i] = combine(corral, count, point)
        for e in range(p):
            shifted[e] = margins[e] + mu * (point[e] - before[e])
    counts[i] = count
    for k in range(count, capacity):
        weights[i, k] = 0.0


@kernel()
def label_epoch(visits, design, maps, batch, costs, norms, state, most, shrink, work):
    """Visit the given examples in turn."""
    starts = batch[0]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        _read_margins(design, maps, lo, hi, state[0], work[0], work[1])
        _visit(i, batch, costs[i] * norms[i], state, work, most, shrink)
        _write_change(design, maps, lo, hi, costs[i], state[1], work[2], work[0], state[0])
