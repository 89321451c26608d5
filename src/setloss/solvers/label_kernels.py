"""Numba kernels: an epoch of block-coordinate ascent on label sets.

An example is one row x and its labels, each with its own w. With W stored as features x labels the scores of all
labels are one row times a matrix, contiguous numbers for every entry of x. The Gram matrix of the example is
|x|^2 times the identity, so the best dual point of one example, all others fixed, is a proximal point of B:

    max over (o, sigma) in the hull of its cuts of   o - <sigma, m> - mu/2 |sigma - before|^2,      mu = c |x|^2

It is found by the corral method of `setloss.solvers.corrals`, which starts from the cuts that the last visit
ended with. Where B is a sum over labels, as the hinge is, the point is a closed form.
"""

from __future__ import annotations

from setloss.compilation import kernel
from setloss.solvers.corrals import Corral, climb


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
def label_epoch(visits, design, maps, batch, costs, norms, state, most, shrink, work):
    """Visit the given examples in turn: each moves to its proximal point, as far as `climb` goes."""
    starts = batch[0]
    W, slopes, offsets, atoms, atom_offsets, weights, counts, versions, gaps = state
    scores, margins, before, shifted, slope, chosen, products, factor, targets, ones = work
    capacity = weights.shape[1]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        p = hi - lo
        _read_margins(design, maps, lo, hi, W, scores, margins)
        for e in range(p):
            before[e] = slopes[lo + e]
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, p)
        corral = Corral(block, atom_offsets[i], weights[i], products, factor, targets, ones)
        count, offset, gap, changed = climb(
            i,
            batch,
            (margins[:p], before[:p], costs[i] * norms[i]),
            (counts[i], slopes[lo:hi], offsets[i]),
            corral,
            (shifted[:p], slope[:p], chosen[:p]),
            most,
            shrink,
        )
        counts[i], offsets[i], gaps[i] = count, offset, max(gap, 0.0)
        versions[i] += changed
        for k in range(count, capacity):
            weights[i, k] = 0.0
        _write_change(design, maps, lo, hi, costs[i], slopes, before, scores, W)
