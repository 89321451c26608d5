"""Numba kernels of the solvers: passes over X, and one epoch of block-coordinate Frank-Wolfe.

All sums are float64 also where X is float32. Reductions may be reassociated so that they vectorise; everything
else is computed as written, and nothing depends on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut

_fast: dict[str, Any] = {"fastmath": {"reassoc", "contract"}}


@kernel(inner=True, **_fast)
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


@kernel(inner=True, **_fast)
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
def all_margins(design, rows, tasks, signs, parameters, out):
    """out[e] = y_e <x_row(e), W_task(e)>."""
    for e in range(len(out)):
        out[e] = signs[e] * row_dot(design, rows[e], parameters[tasks[e]])


@kernel()
def accumulate_rows(design, rows, tasks, weights, out):
    """out[task(e)] += weights[e] x_row(e)."""
    for e in range(len(weights)):
        if weights[e] != 0.0:
            row_add(design, rows[e], weights[e], out[tasks[e]])


@kernel(inner=True, **_fast)
def _inner_products(design, first, second, scratch):
    """<x_first, x_second>; for CSR `scratch` holds x_first already."""
    dense, data, indices, indptr, sparse, constant = design
    total = constant * constant
    if sparse:
        for k in range(indptr[second], indptr[second + 1]):
            total += data[k] * scratch[indices[k]]
    else:
        x, z = dense[first], dense[second]
        for j in range(len(x)):
            total += x[j] * z[j]
    return total


@kernel(inner=True)
def block_gram(design, rows, tasks, signs, scratch, gram):
    """gram[e, e'] = y_e y_e' <x_row(e), x_row(e')> for elements of the same task, 0 otherwise."""
    dense, data, indices, indptr, sparse, constant = design
    p = len(rows)
    if not sparse and tasks[0] == tasks[-1] and rows[-1] - rows[0] == p - 1:
        block = dense[rows[0] : rows[-1] + 1]
        gram[:] = np.dot(block, block.T)
        for a in range(p):
            for b in range(p):
                gram[a, b] = signs[a] * signs[b] * (gram[a, b] + constant * constant)
        return
    for a in range(p):
        if sparse:
            for k in range(indptr[rows[a]], indptr[rows[a] + 1]):
                scratch[indices[k]] += data[k]
        for b in range(a + 1):
            value = 0.0
            if tasks[a] == tasks[b]:
                value = signs[a] * signs[b] * _inner_products(design, rows[a], rows[b], scratch)
            gram[a, b] = gram[b, a] = value
        if sparse:
            for k in range(indptr[rows[a]], indptr[rows[a] + 1]):
                scratch[indices[k]] = 0.0


@kernel()
def all_grams(design, starts, rows, tasks, signs, gram_starts, scratch, grams):
    """The Gram matrices of all bags that have a place in `grams`."""
    for i in range(len(starts) - 1):
        lo, hi = starts[i], starts[i + 1]
        if gram_starts[i + 1] > gram_starts[i]:
            block = grams[gram_starts[i] : gram_starts[i + 1]].reshape(hi - lo, hi - lo)
            block_gram(design, rows[lo:hi], tasks[lo:hi], signs[lo:hi], scratch, block)


@kernel(inner=True, **_fast)
def _score(offset, slope, margins):
    """O - <sigma, m>, the height of a cut at the margins."""
    total = 0.0
    for j in range(len(margins)):
        total += slope[j] * margins[j]
    return offset - total


@kernel(inner=True)
def _lowest_atom(count, weights, offsets, atoms, margins):
    """The active cut of least height: the one a pairwise step takes weight from."""
    worst, least = 0, np.inf
    for k in range(count):
        if weights[k] > 0.0:
            height = _score(offsets[k], atoms[k], margins)
            if height < least:
                worst, least = k, height
    return worst, least


@kernel(inner=True)
def _find_atom(count, offsets, atoms, offset, slope):
    """The slot of a cut that is stored already, or -1."""
    for k in range(count):
        if offsets[k] == offset and np.all(atoms[k] == slope):
            return k
    return -1


@kernel(inner=True)
def _free_slot(count, weights, offsets, atoms):
    """A slot without weight; if there is none, the two lightest cuts become one, a point of the same polytope."""
    order = np.argsort(weights[:count])
    a, b = order[0], order[1]
    if weights[a] > 0.0:
        total = weights[a] + weights[b]
        share = weights[b] / total
        atoms[b] = (1.0 - share) * atoms[a] + share * atoms[b]
        offsets[b] = (1.0 - share) * offsets[a] + share * offsets[b]
        weights[b] = total
        weights[a] = 0.0
    return a


@kernel(inner=True)
def _direction_image(design, rows, tasks, signs, gram, direction, parameters_step, image):
    """Image = K direction, from the Gram matrix if there is one, else by two passes over the rows."""
    p = len(rows)
    if gram.size > 0:
        for a in range(p):
            total = 0.0
            for b in range(p):
                total += gram[a, b] * direction[b]
            image[a] = total
        return
    parameters_step[:] = 0.0
    for a in range(p):
        row_add(design, rows[a], signs[a] * direction[a], parameters_step[tasks[a]])
    for a in range(p):
        image[a] = signs[a] * row_dot(design, rows[a], parameters_step[tasks[a]])


@kernel()
def frank_wolfe_epoch(design, maps, batch, costs, grams, state, visits, inner_steps, shrink):
    """Visit the given bags in turn; each gets up to `inner_steps` pairwise Frank-Wolfe steps.

    A visit reads the rows of the bag twice, for its margins and for the update of W. In between the margins
    follow the steps through the bag's Gram matrix: inner steps are free of X. It ends early when the gap of
    the bag is down to `shrink` times what it was. The step length is the exact maximiser of the dual.
    """
    rows, tasks, signs = maps
    starts, groups, which, records, sizes, values, room = batch
    gram_starts, gram_values = grams
    parameters, slopes, offsets, atoms, atom_offsets, weights, counts, versions, gaps = state
    widest = 0
    for i in visits:
        widest = max(widest, starts[i + 1] - starts[i])
    slope, chosen = np.empty(widest), np.empty(widest, np.bool_)
    direction, image = np.empty(widest), np.empty(widest)
    capacity = weights.shape[1]
    parameters_step = np.zeros(parameters.shape)
    steps = 0
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        p, cost, kind = hi - lo, costs[i], which[i]
        r, t, y, sigma = rows[lo:hi], tasks[lo:hi], signs[lo:hi], slopes[lo:hi]
        gram = gram_values[gram_starts[i] : gram_starts[i + 1]].reshape(-1, p)
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, p)
        before = sigma.copy()
        margins = np.empty(p)
        for e in range(p):
            margins[e] = y[e] * row_dot(design, r[e], parameters[t[e]])
        first = 0.0
        for step in range(inner_steps if gram.size > 0 else 1):
            tables = (sizes[kind], values)
            offset, value = bag_cut(margins, groups[lo:hi], records[kind], tables, room, slope[:p], chosen[:p])
            gap = value - _score(offsets[i], sigma, margins)
            if step == 0:
                first = gap
                gaps[i] = max(gap, 0.0)
            if not gap > shrink * first or not gap > 1e-15 * abs(value):
                break
            worst, least = _lowest_atom(counts[i], weights[i], atom_offsets[i], block, margins)
            slot = _find_atom(counts[i], atom_offsets[i], block, offset, slope[:p])
            if slot == worst:
                break
            for e in range(p):
                direction[e] = slope[e] - block[worst, e]
            _direction_image(design, r, t, y, gram, direction[:p], parameters_step, image[:p])
            curvature = 0.0
            for e in range(p):
                curvature += image[e] * direction[e]
            length, room = weights[i, worst], cost * curvature
            if room * length > value - least:
                length = (value - least) / room
            if not length > 0.0:
                break
            steps += 1
            for e in range(p):
                sigma[e] += length * direction[e]
                margins[e] += cost * length * image[e]
            offsets[i] += length * (offset - atom_offsets[i, worst])
            weights[i, worst] -= length
            if weights[i, worst] <= 1e-14:
                length += weights[i, worst]
                weights[i, worst] = 0.0
            if slot < 0:
                if counts[i] < capacity:
                    slot = counts[i]
                    counts[i] += 1
                else:
                    slot = _free_slot(capacity, weights[i], atom_offsets[i], block)
                    versions[i] += 1
                weights[i, slot] = 0.0
                atom_offsets[i, slot] = offset
                block[slot] = slope[:p]
            weights[i, slot] += length
        for e in range(p):
            change = cost * y[e] * (sigma[e] - before[e])
            if change != 0.0:
                row_add(design, r[e], change, parameters[t[e]])
    return steps


@kernel()
def recombine(starts, atoms, atom_offsets, weights, slopes, offsets):
    """The dual point afresh from the active cuts and their weights, which are normalised to sum to one."""
    capacity = weights.shape[1]
    for i in range(len(starts) - 1):
        lo, hi = starts[i], starts[i + 1]
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, hi - lo)
        total = weights[i].sum()
        slopes[lo:hi] = 0.0
        offsets[i] = 0.0
        for k in range(capacity):
            weights[i, k] /= total
            if weights[i, k] > 0.0:
                offsets[i] += weights[i, k] * atom_offsets[i, k]
                for j in range(hi - lo):
                    slopes[lo + j] += weights[i, k] * block[k, j]


@kernel()
def subgradient_epoch(design, maps, batch, costs, dual_point, visits, epoch):
    """One epoch of W <- (1 - 1/t) W + (1/t) n c_i W(cut of bag i); the average cut of every bag is kept."""
    rows, tasks, signs = maps
    starts, groups, which, records, sizes, values, room = batch
    parameters, slopes, offsets = dual_point
    n = len(visits)
    widest = np.max(np.diff(starts))
    slope, chosen = np.empty(widest), np.empty(widest, np.bool_)
    margins = np.empty(widest)
    share = 1.0 / (epoch + 1)
    for visit in range(n):
        i = visits[visit]
        lo, hi = starts[i], starts[i + 1]
        p, kind = hi - lo, which[i]
        rate = 1.0 / (epoch * n + visit + 1)
        for e in range(p):
            margins[e] = signs[lo + e] * row_dot(design, rows[lo + e], parameters[tasks[lo + e]])
        tables = (sizes[kind], values)
        offset, _ = bag_cut(margins[:p], groups[lo:hi], records[kind], tables, room, slope[:p], chosen[:p])
        parameters *= 1.0 - rate
        offsets[i] += share * (offset - offsets[i])
        for e in range(p):
            slopes[lo + e] += share * (slope[e] - slopes[lo + e])
            step = rate * n * costs[i] * signs[lo + e] * slope[e]
            if step != 0.0:
                row_add(design, rows[lo + e], step, parameters[tasks[lo + e]])
