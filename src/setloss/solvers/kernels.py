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

import numpy as np

from setloss.compilation import kernel
from setloss.solvers.corrals import climb

_fast: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}

FADING = 0.7
"""The curvature of a bag of frames falls by no more than this factor from one visit to the next."""

FEW = 4
"""Scores of labels are read one by one where this many times as many are not more than all."""

FLATTEST = 1e-9
"""Least mu of a visit; margins that move by so little are the same."""


@kernel(**_fast)
def row_dot(design, row, vector):
    """<x_row, vector>, the constant feature included."""
    dense, data, indices, indptr = design.dense, design.data, design.indices, design.indptr
    sparse, constant = design.sparse, design.constant
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
    dense, data, indices, indptr = design.dense, design.data, design.indices, design.indptr
    sparse, constant = design.sparse, design.constant
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
    dense, data, indices, indptr = design.dense, design.data, design.indices, design.indptr
    sparse, constant = design.sparse, design.constant
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
    dense, data, indices, indptr = design.dense, design.data, design.indices, design.indptr
    sparse, constant = design.sparse, design.constant
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
def _read_some(design, row, W, tasks, count, scores):
    """The scores of some labels of a row, where these are few."""
    last = W.shape[0] - 1
    for j in range(count):
        scores[j] = design.constant * W[last, tasks[j]]
    if design.sparse:
        for k in range(design.indptr[row], design.indptr[row + 1]):
            value, feature = design.data[k], design.indices[k]
            for j in range(count):
                scores[j] += value * W[feature, tasks[j]]
    else:
        for k in range(last):
            value = design.dense[row, k]
            for j in range(count):
                scores[j] += value * W[k, tasks[j]]


@kernel()
def _add_some(design, row, tasks, count, change, W):
    """Add the outer product of x_row and the changes of some labels to the matrix of features x labels."""
    last = W.shape[0] - 1
    for j in range(count):
        W[last, tasks[j]] += design.constant * change[j]
    if design.sparse:
        for k in range(design.indptr[row], design.indptr[row + 1]):
            value, feature = design.data[k], design.indices[k]
            for j in range(count):
                W[feature, tasks[j]] += value * change[j]
    else:
        for k in range(last):
            value = design.dense[row, k]
            for j in range(count):
                W[k, tasks[j]] += value * change[j]


@kernel()
def _read_margins(i, lo, size, places, design, maps, W, space):
    """The margins of the active elements of bag i, those at `places` of its `size` elements."""
    signs, margins, labels, p = maps.signs, space.margins, W.shape[1], len(places)
    if labels == 1:
        vector = W.reshape(-1)
        for j in range(p):
            e = lo + places[j]
            margins[j] = signs[e] * row_dot(design, maps.rows[e], vector)
        return
    for j in range(p):
        space.tasks[j] = places[j] if size == labels else maps.tasks[lo + places[j]]
    if FEW * p < labels:
        _read_some(design, maps.rows[i], W, space.tasks, p, margins)
        for j in range(p):
            margins[j] *= signs[lo + places[j]]
        return
    _read_scores(design, maps.rows[i], W, space.scores)
    for j in range(p):
        margins[j] = signs[lo + places[j]] * space.scores[space.tasks[j]]


@kernel()
def _write_change(i, lo, places, design, maps, cost, W, space):
    """Bring W up to date with the slopes of bag i, which were `space.centre` and are `space.point`."""
    labels, tasks, changes, count = W.shape[1], space.tasks, space.changes, np.int64(0)
    for j in range(len(places)):
        e = lo + places[j]
        change = cost * maps.signs[e] * (space.point[j] - space.centre[j])
        if change == 0.0:
            continue
        if labels == 1:
            row_add(design, maps.rows[e], change, W.reshape(-1))
        else:
            tasks[count], changes[count] = tasks[j], change
            count += 1
    _write_labels(design, maps.rows, i, W, tasks, count, changes, space.scores)


@kernel()
def _write_labels(design, rows, i, W, tasks, count, changes, scores):
    """Add the changes of some labels of the row of label set i to W; `scores` is workspace for all labels."""
    if count == 0:
        return
    if FEW * count < W.shape[1]:
        _add_some(design, rows[i], tasks, count, changes, W)
        return
    for j in range(len(scores)):
        scores[j] = 0.0
    for j in range(count):
        scores[tasks[j]] = changes[j]
    _add_row(design, rows[i], scores, W)


@kernel()
def hinge_epoch(visits, design, maps, bags, costs, norms, gains, W, point, active, gaps, space):
    """Visit bags whose B is ``sum_e largest_e (1 - m_e)_+``: 0 <= sigma_e <= largest_e, o = sum of sigma.

    `gains` has the largest slopes by group and kind of bag, `norms` |x|^2 of every row. Elements at rest keep their
    slopes.
    """
    slopes, offsets, labels, changes = point.slopes, point.offsets, W.shape[1], space.changes
    for i in visits:
        lo, size = bags.starts[i], bags.starts[i + 1] - bags.starts[i]
        places = active.places[lo : lo + active.widths[i]]
        if labels > 1:
            _read_margins(i, lo, size, places, design, maps, W, space)
        gap, offset, count = 0.0, offsets[i], np.int64(0)
        for j in range(len(places)):
            e = lo + places[j]
            row = maps.rows[e if labels == 1 else i]
            margin = space.margins[j]
            if labels == 1:
                margin = maps.signs[e] * row_dot(design, row, W.reshape(-1))
            largest = gains[min(bags.partitions[e], 1), bags.which[i]]
            slack, slope = 1.0 - margin, slopes[e]
            gap += max(largest * slack, 0.0) - slope * slack
            slopes[e] = min(max(slope + slack / (costs[i] * norms[row]), 0.0), largest)
            offset += slopes[e] - slope
            change = costs[i] * maps.signs[e] * (slopes[e] - slope)
            if change == 0.0:
                continue
            if labels == 1:
                row_add(design, row, change, W.reshape(-1))
            else:
                space.tasks[count], changes[count] = space.tasks[j], change
                count += 1
        offsets[i], gaps[i] = offset, max(gap, 0.0)
        _write_labels(design, maps.rows, i, W, space.tasks, count, changes, space.scores)


@kernel()
def epoch(visits, design, maps, surrogates, costs, curvatures, W, point, active, gaps, most, shrink, space):
    """Visit the given bags in turn: each moves to its proximal point, as far as `climb` goes."""
    starts = surrogates.starts
    for i in visits:
        lo, size = starts[i], starts[i + 1] - starts[i]
        places = active.places[lo : lo + active.widths[i]]
        if len(places) == 0:
            gaps[i] = 0.0
            continue
        _read_margins(i, lo, size, places, design, maps, W, space)
        for j in range(len(places)):
            space.centre[j] = point.slopes[lo + places[j]]
        mu = max(costs[i] * curvatures[i], FLATTEST)
        gaps[i] = max(climb(i, places, surrogates, point, mu, most, shrink, space), 0.0)
        _write_change(i, lo, places, design, maps, costs[i], W, space)
        if W.shape[1] == 1:
            curvatures[i] = _curvature_seen(lo, places, design, maps, costs[i], W, space, curvatures[i])


@kernel()
def move_to_points(first, last, surrogates, margins, centre, mu, point, active, most, shrink, space):
    """Move the bags from `first` up to `last` to their proximal points at the margins, as far as `climb` goes."""
    for i in range(first, last):
        lo = surrogates.starts[i]
        places = active.places[lo : lo + active.widths[i]]
        if len(places) == 0:
            continue
        for j in range(len(places)):
            e = lo + places[j]
            space.margins[j], space.centre[j] = margins[e], centre[e]
        climb(i, places, surrogates, point, max(mu, FLATTEST), most, shrink, space)


@kernel()
def choose_active(surrogates, kept, margins, cut_slopes, reach, point, active, used, atoms):
    """New active elements of every bag; its cuts move to their columns. See `ActiveCuts.rest`.

    `kept` has the groups that stay in every bag of a kind: none, as many as it says, the first ones. `used` and
    `atoms` are workspace for a number per element of a bag, and for its cuts with all their slopes.
    """
    starts, capacity = surrogates.starts, point.weights.shape[1]
    for i in range(len(starts) - 1):
        lo, p, before = starts[i], starts[i + 1] - starts[i], active.widths[i]
        block = point.atoms[lo * capacity : (lo + before) * capacity].reshape(capacity, before)
        for e in range(p):
            used[e] = cut_slopes[lo + e] != 0.0
            for k in range(point.counts[i]):
                atoms[k, e] = 0.0
        for k in range(point.counts[i]):
            for j in range(before):
                place = active.places[lo + j]
                atoms[k, place] = block[k, j]
                used[place] |= block[k, j] != 0.0
        farthest = -np.inf
        for e in range(p):
            if used[e]:
                farthest = max(farthest, margins[lo + e])
        after = 0
        for e in range(p):
            stays = surrogates.partitions[lo + e] < kept[surrogates.which[i]]
            if margins[lo + e] < farthest + reach or used[e] or stays:
                active.places[lo + after] = e
                after += 1
        active.widths[i] = after
        columns = point.atoms[lo * capacity : (lo + after) * capacity].reshape(capacity, after)
        for k in range(point.counts[i]):
            for j in range(after):
                columns[k, j] = atoms[k, active.places[lo + j]]


@kernel()
def choose_active_hinges(bags, margins, gains, reach, slopes, active):
    """New active elements: all but those whose slope is at the bound that their margin is well on the side of."""
    for i in range(len(bags.starts) - 1):
        lo, count = bags.starts[i], 0
        for e in range(lo, bags.starts[i + 1]):
            largest = gains[min(bags.partitions[e], 1), bags.which[i]]
            low = slopes[e] == 0.0 and margins[e] > 1.0 + reach
            high = slopes[e] == largest and margins[e] < 1.0 - reach
            if not (low or high):
                active.places[lo + count] = e - lo
                count += 1
        active.widths[i] = count


@kernel()
def hinge_points(bags, margins, centre, mu, gains, point):
    """The proximal points of all bags whose B is ``sum_e largest_e (1 - m_e)_+``."""
    slopes, offsets, starts = point.slopes, point.offsets, bags.starts
    for i in range(len(offsets)):
        offsets[i] = 0.0
        for e in range(starts[i], starts[i + 1]):
            largest = gains[min(bags.partitions[e], 1), bags.which[i]]
            slopes[e] = min(max(centre[e] + (1.0 - margins[e]) / mu, 0.0), largest)
            offsets[i] += slopes[e]


@kernel()
def _curvature_seen(lo, places, design, maps, cost, W, space, known):
    """<way, K way> / |way|^2 along the way that a bag of frames has taken, at least `FADING` of what was known."""
    rise = square = 0.0
    for j in range(len(places)):
        way = space.point[j] - space.centre[j]
        if way != 0.0:
            e = lo + places[j]
            there = maps.signs[e] * row_dot(design, maps.rows[e], W.reshape(-1))
            rise += way * (there - space.margins[j])
            square += way * way
    return max(rise / (cost * square), FADING * known) if square > 0.0 else known


@kernel()
def recombine(starts, point, active):
    """The dual point afresh from the active cuts and their weights, which are normalised to sum to one."""
    slopes, offsets, weights, capacity = point.slopes, point.offsets, point.weights, point.weights.shape[1]
    for e in range(len(slopes)):
        slopes[e] = 0.0
    for i in range(len(starts) - 1):
        lo, p = starts[i], active.widths[i]
        total = 0.0
        for k in range(capacity):
            total += weights[i, k]
        offsets[i] = 0.0
        for k in range(capacity):
            weights[i, k] /= total
            if weights[i, k] > 0.0:
                offsets[i] += weights[i, k] * point.atom_offsets[i, k]
                for j in range(p):
                    slope = point.atoms[lo * capacity + k * p + j]
                    slopes[lo + active.places[lo + j]] += weights[i, k] * slope
