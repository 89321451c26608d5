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

import numpy as np

from setloss.compilation import inner_kernel, kernel
from setloss.solvers.corrals import climb, largest_slope, move_hinge

FADING = 0.7
"""The curvature of a bag of frames falls by no more than this factor from one visit to the next."""

FLATTEST = 1e-9
"""Least mu of a visit; margins that move by so little are the same."""


@inner_kernel(fastmath={"reassoc", "contract"})
def row_dot(design, row, vector):
    """<x_row, vector>, the constant feature included."""
    total = design.constant * vector[-1]
    if design.sparse:
        for k in range(design.indptr[row], design.indptr[row + 1]):
            total += design.data[k] * vector[design.indices[k]]
    else:
        x = design.dense[row]
        for j in range(len(x)):
            total += x[j] * vector[j]
    return total


@inner_kernel(fastmath={"reassoc", "contract"})
def row_add(design, row, factor, vector):
    """Vector += factor x_row."""
    if design.sparse:
        for k in range(design.indptr[row], design.indptr[row + 1]):
            vector[design.indices[k]] += factor * design.data[k]
    else:
        x = design.dense[row]
        for j in range(len(x)):
            vector[j] += factor * x[j]
    vector[-1] += factor * design.constant


@inner_kernel(inline="always")
def _entries(design, row):
    """Where the entries of a row begin and how many there are, the constant feature apart."""
    if design.sparse:
        return design.indptr[row], design.indptr[row + 1] - design.indptr[row]
    return 0, design.dense.shape[1]


@inner_kernel(inline="always")
def _entry(design, row, first, k):
    """The value and the feature of the k-th entry of a row."""
    if design.sparse:
        return design.data[first + k], design.indices[first + k]
    return design.dense[row, k], k


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


@inner_kernel()
def _read_margins(i, lo, places, design, maps, W, space):
    """The margins of some elements of bag i, and the labels of those of a label set."""
    margins, tasks, scores, last = space.margins, space.tasks, space.scores, W.shape[0] - 1
    if W.shape[1] == 1:
        vector = W.reshape(-1)
        for j in range(len(places)):
            e = lo + places[j]
            margins[j] = maps.signs[e] * row_dot(design, maps.rows[e], vector)
        return
    row = maps.rows[i]
    for t in range(len(scores)):
        scores[t] = design.constant * W[last, t]
    first, count = _entries(design, row)
    for k in range(count):
        value, feature = _entry(design, row, first, k)
        for t in range(len(scores)):
            scores[t] += value * W[feature, t]
    for j in range(len(places)):
        tasks[j] = maps.tasks[lo + places[j]] if len(maps.tasks) else places[j]
        margins[j] = maps.signs[lo + places[j]] * scores[tasks[j]]


@inner_kernel()
def _write_change(i, lo, places, design, maps, cost, W, space):
    """Bring W up to date with the slopes of bag i, which were `space.centre` and are `space.point`."""
    changes, last, changed = space.scores, W.shape[0] - 1, False
    for t in range(len(changes)):
        changes[t] = 0.0
    for j in range(len(places)):
        e = lo + places[j]
        change = cost * maps.signs[e] * (space.point[j] - space.centre[j])
        if change != 0.0 and W.shape[1] == 1:
            row_add(design, maps.rows[e], change, W.reshape(-1))
        elif change != 0.0:
            changes[space.tasks[j]], changed = change, True
    if not changed:
        return
    row = maps.rows[i]
    for t in range(len(changes)):
        W[last, t] += design.constant * changes[t]
    first, count = _entries(design, row)
    for k in range(count):
        value, feature = _entry(design, row, first, k)
        for t in range(len(changes)):
            W[feature, t] += value * changes[t]


@inner_kernel()
def active_places(active, i, starts):
    """The places of the active elements of bag i."""
    lo, width = starts[i], active.widths[i]
    return active.places[lo : lo + width] if width < starts[i + 1] - lo else active.every[:width]


@kernel()
def epoch(visits, design, maps, surrogates, costs, curvatures, W, point, active, gaps, most, shrink, space):
    """Visit the given bags in turn: each moves to its proximal point, as far as `climb` goes."""
    starts = surrogates.starts
    for i in visits:
        lo = starts[i]
        places = active_places(active, i, starts)
        if len(places) == 0:
            gaps[i] = 0.0
            continue
        _read_margins(i, lo, places, design, maps, W, space)
        for j in range(len(places)):
            space.centre[j] = point.slopes[lo + places[j]]
        mu = max(costs[i] * curvatures[i], FLATTEST)
        if point.hinge:
            gap = move_hinge(i, places, surrogates, point, mu, space)
        else:
            gap = climb(i, places, surrogates, point, mu, most, shrink, space)
        gaps[i] = max(gap, 0.0)
        _write_change(i, lo, places, design, maps, costs[i], W, space)
        if W.shape[1] == 1:
            curvatures[i] = _curvature_seen(lo, places, design, maps, costs[i], W, space, curvatures[i])


@kernel()
def move_to_points(
    first, last, surrogates, costs, point, active, space, margins, centre, mu, relaxation, most, shrink, slopes, sums
):
    """Move neighbouring bags to their proximal points at the margins, as far as `climb` goes, then the centre.

    `margins` and `slopes`, which receives the points, belong to the elements of these bags. The centre moves
    `relaxation` times as far as to the point. Added to `sums` are, times the costs of the bags, the offsets and the
    squares of the changes and of the slopes.
    """
    start, step = surrogates.starts[first], max(mu, FLATTEST)
    for i in range(first, last):
        lo, hi = surrogates.starts[i], surrogates.starts[i + 1]
        offset = changes = squares = 0.0
        if point.hinge:
            part = surrogates.records[surrogates.which[i]].lovasz
            for e in range(lo, hi):
                largest = largest_slope(surrogates.partitions[e], part)
                slopes[e - start] = min(max(centre[e] + (1.0 - margins[e - start]) / step, 0.0), largest)
                offset += slopes[e - start]
        else:
            places = active_places(active, i, surrogates.starts)
            for j in range(len(places)):
                e = lo + places[j]
                space.margins[j], space.centre[j] = margins[e - start], centre[e]
            if len(places):
                climb(i, places, surrogates, point, step, most, shrink, space)
            for e in range(lo, hi):
                slopes[e - start] = point.slopes[e]
            offset = point.offsets[i]
        for e in range(lo, hi):
            change = slopes[e - start] - centre[e]
            changes += change * change
            squares += slopes[e - start] * slopes[e - start]
            centre[e] += relaxation * change
        sums[0] += costs[i] * offset
        sums[1] += costs[i] * changes
        sums[2] += costs[i] * squares


@kernel()
def choose_active_of_hinge(surrogates, margins, reach, slopes, active):
    """All elements but those whose slope is at the bound that their margin is well on the side of."""
    for i in range(len(surrogates.starts) - 1):
        lo, count, part = surrogates.starts[i], 0, surrogates.records[surrogates.which[i]].lovasz
        for e in range(lo, surrogates.starts[i + 1]):
            low = slopes[e] == 0.0 and margins[e] > 1.0 + reach
            high = slopes[e] == largest_slope(surrogates.partitions[e], part) and margins[e] < 1.0 - reach
            if not (low or high):
                active.places[lo + count] = e - lo
                count += 1
        active.widths[i] = count


@kernel()
def choose_active(first, last, surrogates, kept, margins, cut_slopes, reach, point, active, widest):
    """New active elements of neighbouring bags; their cuts move to their columns. See `ActiveCuts.rest`.

    `margins` and `cut_slopes` are those of the elements of these bags. `kept` says how many groups stay active in
    every bag of a kind, the first ones; bags have up to `widest` elements.
    """
    starts, capacity = surrogates.starts, point.weights.shape[1]
    used, atoms = np.empty(widest, dtype=np.bool_), np.empty((capacity, widest))
    for i in range(first, last):
        lo, p, places = starts[i], starts[i + 1] - starts[i], active_places(active, i, starts)
        own = margins[lo - starts[first] :]
        before = len(places)
        block = point.atoms[lo * capacity : (lo + before) * capacity].reshape(capacity, before)
        for e in range(p):
            used[e] = cut_slopes[lo - starts[first] + e] != 0.0
            for k in range(point.counts[i]):
                atoms[k, e] = 0.0
        for k in range(point.counts[i]):
            for j in range(before):
                atoms[k, places[j]] = block[k, j]
                used[places[j]] |= block[k, j] != 0.0
        farthest = -np.inf
        for e in range(p):
            if used[e]:
                farthest = max(farthest, own[e])
        after = 0
        for e in range(p):
            stays = surrogates.partitions[lo + e] < kept[surrogates.which[i]]
            if own[e] < farthest + reach or used[e] or stays:
                active.places[lo + after] = e
                after += 1
        active.widths[i] = after
        columns = point.atoms[lo * capacity : (lo + after) * capacity].reshape(capacity, after)
        for k in range(point.counts[i]):
            for j in range(after):
                columns[k, j] = atoms[k, active.places[lo + j]]


@inner_kernel()
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
