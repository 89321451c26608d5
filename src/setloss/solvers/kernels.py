"""Numba kernels of the solvers: passes over X, and an epoch of block-coordinate ascent.

All sums are float64 also where X is float32. Reductions may be reassociated so that they vectorise; everything
else is computed as written, and nothing depends on the number of threads.

A visit moves the dual point of one bag, all others fixed. With K the Gram matrix of its elements the dual is

    c (o - <sigma, m>) - c^2/2 <sigma - before, K (sigma - before)>

as a function of the point. In a label set K is |x|^2 times the identity, so the maximiser is the proximal point of B
at mu = c |x|^2 (`setloss.solvers.corrals`), and with W stored as features x labels the scores of all labels are one
row times a matrix. In a bag of frames K is replaced by a number times the identity: the curvature seen along the way
of the last visits. Where B is a hinge per element, a visit is a closed form, element by element.
"""

from __future__ import annotations

from typing import Any

from setloss.compilation import kernel
from setloss.solvers.corrals import Corral, climb

_fast: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}

FADING = 0.7
"""The curvature of a bag of frames falls by no more than this factor from one visit to the next."""

FLATTEST = 1e-9
"""Least mu of a visit; margins that move by so little are the same."""


@kernel(**_fast)
def row_dot(design, row, vector):
    """<x_row, vector>, the constant feature included."""
    dense, data, indices, indptr, sparse, constant = design
    total = 0.0
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * vector[indices[k]]
    else:
        x = dense[row]
        for j in range(len(x)):
            total += x[j] * vector[j]
    return total + constant * vector[-1]


@kernel(**_fast)
def row_add(design, row, factor, vector):
    """Vector += factor x_row."""
    dense, data, indices, indptr, sparse, constant = design
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            vector[indices[k]] += factor * data[k]
    else:
        x = dense[row]
        for j in range(len(x)):
            vector[j] += factor * x[j]
    vector[-1] += factor * constant


@kernel()
def all_margins(design, rows, vector, out):
    """out[e] = <x_row(e), w>."""
    for e in range(len(out)):
        out[e] = row_dot(design, rows[e], vector)


@kernel()
def accumulate_rows(design, rows, weights, out):
    """Out += weights[e] x_row(e)."""
    for e in range(len(weights)):
        if weights[e] != 0.0:
            row_add(design, rows[e], weights[e], out)


@kernel()
def _read_scores(design, row, W, scores):
    """Scores = x_row times the matrix of features x labels."""
    dense, data, indices, indptr, sparse, constant = design
    last = W.shape[0] - 1
    for j in range(len(scores)):
        scores[j] = constant * W[last, j]
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            value, feature = data[k], indices[k]
            for j in range(len(scores)):
                scores[j] += value * W[feature, j]
    else:
        for k in range(last):
            value = dense[row, k]
            for j in range(len(scores)):
                scores[j] += value * W[k, j]


@kernel()
def _add_row(design, row, change, W):
    """Add the outer product of x_row and `change` to the matrix of features x labels."""
    dense, data, indices, indptr, sparse, constant = design
    last = W.shape[0] - 1
    for j in range(len(change)):
        W[last, j] += constant * change[j]
    if sparse:
        for k in range(indptr[row], indptr[row + 1]):
            value, feature = data[k], indices[k]
            for j in range(len(change)):
                W[feature, j] += value * change[j]
    else:
        for k in range(last):
            value = dense[row, k]
            for j in range(len(change)):
                W[k, j] += value * change[j]


@kernel()
def _read_margins(i, lo, p, design, maps, W, scores, margins):
    """The margins of bag i."""
    rows, tasks, signs = maps
    if W.shape[1] == 1:
        vector = W.reshape(-1)
        for e in range(p):
            margins[e] = signs[lo + e] * row_dot(design, rows[lo + e], vector)
        return
    _read_scores(design, rows[i], W, scores)
    for e in range(p):
        margins[e] = signs[lo + e] * scores[e if p == len(scores) else tasks[lo + e]]


@kernel()
def _write_change(i, lo, p, design, maps, cost, slopes, before, scores, W):
    """Bring W up to date with the slopes of bag i, which were `before`."""
    rows, tasks, signs = maps
    moved = False
    for j in range(len(scores)):
        scores[j] = 0.0
    for e in range(p):
        change = cost * signs[lo + e] * (slopes[lo + e] - before[e])
        moved = moved or change != 0.0
        if W.shape[1] > 1:
            scores[e if p == len(scores) else tasks[lo + e]] = change
        elif change != 0.0:
            row_add(design, rows[lo + e], change, W.reshape(-1))
    if moved and W.shape[1] > 1:
        _add_row(design, rows[i], scores, W)


@kernel()
def hinge_epoch(visits, design, maps, batch, costs, norms, gains, state, work):
    """Visit bags whose B is ``sum_e largest_e (1 - m_e)_+``: 0 <= sigma_e <= largest_e, o = sum of sigma.

    `gains` has the largest slopes by group and kind of bag, `norms` |x|^2 of every row.
    """
    starts, partitions, which = batch
    rows, tasks, signs = maps
    W, slopes, offsets, gaps = state
    scores, changes = work
    frames, labels = W.shape[1] == 1, W.shape[1]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        if not frames:
            _read_scores(design, rows[i], W, scores)
            for j in range(labels):
                changes[j] = 0.0
        gap = offset = 0.0
        for e in range(lo, hi):
            row, task = (rows[e], 0) if frames else (rows[i], e - lo if hi - lo == labels else tasks[e])
            score = row_dot(design, row, W.reshape(-1)) if frames else scores[task]
            largest = gains[min(partitions[e], 1), which[i]]
            slack, slope = 1.0 - signs[e] * score, slopes[e]
            gap += max(largest * slack, 0.0) - slope * slack
            slopes[e] = min(max(slope + slack / (costs[i] * norms[row]), 0.0), largest)
            offset += slopes[e]
            changes[task] = costs[i] * signs[e] * (slopes[e] - slope)
            if frames and changes[0] != 0.0:
                row_add(design, row, changes[0], W.reshape(-1))
        offsets[i], gaps[i] = offset, max(gap, 0.0)
        if not frames:
            _add_row(design, rows[i], changes, W)


@kernel()
def epoch(visits, design, maps, batch, costs, curvatures, state, most, shrink, work):
    """Visit the given bags in turn: each moves to its proximal point, as far as `climb` goes."""
    starts = batch[0]
    W, slopes, offsets, atoms, atom_offsets, weights, counts, gaps = state
    scores, margins, before, shifted, pull, slope, chosen, products, factor, targets, ones = work
    capacity = weights.shape[1]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        p, cost = hi - lo, costs[i]
        _read_margins(i, lo, p, design, maps, W, scores, margins)
        for e in range(p):
            before[e] = slopes[lo + e]
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, p)
        corral = Corral(block, atom_offsets, weights, products, factor, targets, ones)
        prox = (margins, before, max(cost * curvatures[i], FLATTEST))
        room = (shifted[:p], pull, slope[:p], chosen[:p])
        count, offset, gap = climb(
            i, batch, prox, corral, i, counts[i], slopes[lo:hi], offsets[i], room, most, shrink
        )
        counts[i], offsets[i], gaps[i] = count, offset, max(gap, 0.0)
        for k in range(count, capacity):
            weights[i, k] = 0.0
        _write_change(i, lo, p, design, maps, cost, slopes, before, scores, W)
        if W.shape[1] == 1:
            curvatures[i] = _curvature_seen(lo, p, design, maps, cost, slopes, before, margins, W, curvatures[i])


@kernel()
def move_to_points(visits, batch, margins, centre, mu, cuts, most, shrink, work):
    """Move the given bags towards their proximal points at the margins, as far as `climb` goes."""
    starts = batch[0]
    slopes, offsets, atoms, atom_offsets, weights, counts = cuts
    here, middle, shifted, pull, slope, chosen, products, factor, targets, ones = work
    capacity = weights.shape[1]
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        p = hi - lo
        for e in range(p):
            here[e], middle[e] = margins[lo + e], centre[lo + e]
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, p)
        corral = Corral(block, atom_offsets, weights, products, factor, targets, ones)
        room = (shifted[:p], pull, slope[:p], chosen[:p])
        prox = (here, middle, max(mu, FLATTEST))
        count, offset, _ = climb(i, batch, prox, corral, i, counts[i], slopes[lo:hi], offsets[i], room, most, shrink)
        counts[i], offsets[i] = count, offset
        for k in range(count, capacity):
            weights[i, k] = 0.0


@kernel()
def hinge_points(batch, margins, centre, mu, gains, slopes, offsets):
    """The proximal points of all bags whose B is ``sum_e largest_e (1 - m_e)_+``."""
    starts, partitions, which = batch
    for i in range(len(offsets)):
        offsets[i] = 0.0
        for e in range(starts[i], starts[i + 1]):
            largest = gains[min(partitions[e], 1), which[i]]
            slopes[e] = min(max(centre[e] + (1.0 - margins[e]) / mu, 0.0), largest)
            offsets[i] += slopes[e]


@kernel()
def _curvature_seen(lo, p, design, maps, cost, slopes, before, margins, W, known):
    """<way, K way> / |way|^2 along the way that a bag of frames has taken, at least `FADING` of what was known."""
    rows, _, signs = maps
    rise = square = 0.0
    for e in range(p):
        way = slopes[lo + e] - before[e]
        if way != 0.0:
            there = signs[lo + e] * row_dot(design, rows[lo + e], W.reshape(-1))
            rise += way * (there - margins[e])
            square += way * way
    return max(rise / (cost * square), FADING * known) if square > 0.0 else known


@kernel()
def recombine(starts, atoms, atom_offsets, weights, slopes, offsets):
    """The dual point afresh from the active cuts and their weights, which are normalised to sum to one."""
    capacity = weights.shape[1]
    slopes[:] = 0.0
    offsets[:] = 0.0
    for i in range(len(starts) - 1):
        lo, p = starts[i], starts[i + 1] - starts[i]
        total = 0.0
        for k in range(capacity):
            total += weights[i, k]
        for k in range(capacity):
            weights[i, k] /= total
            if weights[i, k] > 0.0:
                offsets[i] += weights[i, k] * atom_offsets[i, k]
                for e in range(p):
                    slopes[lo + e] += weights[i, k] * atoms[lo * capacity + k * p + e]
