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


@kernel(**_fast)
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


@kernel()
def block_gram(design, rows, tasks, signs, scratch, gram):
    """gram[e, e'] = y_e y_e' <x_row(e), x_row(e')> for elements of the same task, 0 otherwise."""
    _, data, indices, indptr, sparse, _ = design
    for a in range(len(rows)):
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
def write_grams(visits, design, maps, starts, gram_starts, scratch, grams):
    """The Gram matrices of the given bags, at their places in `grams`."""
    rows, tasks, signs = maps
    for i in visits:
        lo, hi = starts[i], starts[i + 1]
        gram = grams[gram_starts[i] : gram_starts[i + 1]].reshape(hi - lo, hi - lo)
        block_gram(design, rows[lo:hi], tasks[lo:hi], signs[lo:hi], scratch, gram)


@kernel(**_fast)
def _score(offset, slope, margins):
    """O - <sigma, m>, the height of a cut at the margins."""
    total = 0.0
    for j in range(len(margins)):
        total += slope[j] * margins[j]
    return offset - total


@kernel()
def _lowest_atom(count, weights, offsets, atoms, margins):
    """The active cut of least height: the one a pairwise step takes weight from."""
    worst, least = 0, np.inf
    for k in range(count):
        if weights[k] > 0.0:
            height = _score(offsets[k], atoms[k], margins)
            if height < least:
                worst, least = k, height
    return worst, least


@kernel()
def _find_atom(count, offsets, atoms, offset, slope):
    """The slot of a cut that is stored already, or -1."""
    for k in range(count):
        if offsets[k] == offset:
            same = True
            for e in range(len(slope)):
                same = same and atoms[k, e] == slope[e]
            if same:
                return k
    return -1


@kernel()
def _free_slot(weights, offsets, atoms):
    """A slot without weight; if there is none, the two lightest cuts become one, a point of the same polytope."""
    a = b = 0
    for k in range(len(weights)):
        if weights[k] < weights[a]:
            a = k
    b = 1 if a == 0 else 0
    for k in range(len(weights)):
        if k != a and weights[k] < weights[b]:
            b = k
    if weights[a] > 0.0:
        total = weights[a] + weights[b]
        share = weights[b] / total
        for e in range(atoms.shape[1]):
            atoms[b, e] = (1.0 - share) * atoms[a, e] + share * atoms[b, e]
        offsets[b] = (1.0 - share) * offsets[a] + share * offsets[b]
        weights[b] = total
        weights[a] = 0.0
    return a


@kernel()
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
    for t in range(parameters_step.shape[0]):
        for j in range(parameters_step.shape[1]):
            parameters_step[t, j] = 0.0
    for a in range(p):
        row_add(design, rows[a], signs[a] * direction[a], parameters_step[tasks[a]])
    for a in range(p):
        image[a] = signs[a] * row_dot(design, rows[a], parameters_step[tasks[a]])


@kernel()
def _new_slot(i, active, block, offset, slope):
    """Store a cut of bag i without weight; returns its slot."""
    atom_offsets, weights, counts, versions = active
    if counts[i] < weights.shape[1]:
        slot = counts[i]
        counts[i] += 1
    else:
        slot = _free_slot(weights[i], atom_offsets[i], block)
        versions[i] += 1
    weights[i, slot] = 0.0
    atom_offsets[i, slot] = offset
    for e in range(len(slope)):
        block[slot, e] = slope[e]
    return slot


@kernel()
def _move_weight(i, active, block, worst, slot, length, cut):
    """Move weight `length` of bag i from cut `worst` to the cut in `slot`, a new one if that is -1."""
    weights = active[1]
    offset, slope = cut
    weights[i, worst] -= length
    if weights[i, worst] <= 1e-14:
        length += weights[i, worst]
        weights[i, worst] = 0.0
    if slot < 0:
        slot = _new_slot(i, active, block, offset, slope)
    weights[i, slot] += length


@kernel()
def _step_length(most, rise, curvature):
    """The maximiser of rise t - curvature t^2 / 2 over 0 <= t <= most."""
    return rise / curvature if curvature * most > rise else most


@kernel()
def _visit(i, design, maps, batch, cost, gram, state, work, steps, shrink):
    """Up to `steps` pairwise Frank-Wolfe steps on one bag, its margins following through the Gram matrix.

    Ends early when the gap of the bag is down to `shrink` times what it was. Returns the number of steps.
    """
    starts, partitions, which, records, sizes, values, room = batch
    _, slopes, offsets, atoms, atom_offsets, weights, counts, versions, gaps = state
    lo, hi, kind = starts[i], starts[i + 1], which[i]
    p, capacity = hi - lo, weights.shape[1]
    rows, tasks, signs = maps[0][lo:hi], maps[1][lo:hi], maps[2][lo:hi]
    margins, slope, direction, image, chosen = work[0][:p], work[1][:p], work[2][:p], work[3][:p], work[5][:p]
    sigma, block = slopes[lo:hi], atoms[lo * capacity : hi * capacity].reshape(capacity, p)
    active = (atom_offsets, weights, counts, versions)
    first = 0.0
    for step in range(steps):
        tables = (sizes[kind], values)
        offset, value = bag_cut(margins, partitions[lo:hi], records[kind], tables, room, slope, chosen)
        gap = value - _score(offsets[i], sigma, margins)
        if step == 0:
            first = gap
            gaps[i] = max(gap, 0.0)
        if not gap > shrink * first or not gap > 1e-15 * abs(value):
            return step
        worst, least = _lowest_atom(counts[i], weights[i], atom_offsets[i], block, margins)
        slot = _find_atom(counts[i], atom_offsets[i], block, offset, slope)
        for e in range(p):
            direction[e] = slope[e] - block[worst, e]
        _direction_image(design, rows, tasks, signs, gram, direction, work[6], image)
        length = 0.0
        if slot != worst:
            length = _step_length(weights[i, worst], value - least, cost * -_score(0.0, image, direction))
        if not length > 0.0:
            return step
        for e in range(p):
            sigma[e] += length * direction[e]
            margins[e] += cost * length * image[e]
        offsets[i] += length * (offset - atom_offsets[i, worst])
        _move_weight(i, active, block, worst, slot, length, (offset, slope))
    return steps


@kernel()
def frank_wolfe_epoch(design, maps, batch, costs, grams, state, visits, inner_steps, shrink, work):
    """Visit the given bags in turn; each gets up to `inner_steps` pairwise Frank-Wolfe steps.

    A visit reads the rows of the bag twice, for its margins and for the update of W; without a Gram matrix it takes
    a single step. The step length is the exact maximiser of the dual. `work` holds margins, slope, direction, image,
    the slopes before, a mark per element of the largest bag, and room of the shape of W.
    """
    rows, tasks, signs = maps
    starts = batch[0]
    parameters, slopes = state[0], state[1]
    margins, before = work[0], work[4]
    gram_starts, gram_values = grams
    steps = 0
    for i in visits:
        lo, p = starts[i], starts[i + 1] - starts[i]
        gram = gram_values[gram_starts[i] : gram_starts[i + 1]].reshape(-1, p)
        for e in range(p):
            before[e] = slopes[lo + e]
            margins[e] = signs[lo + e] * row_dot(design, rows[lo + e], parameters[tasks[lo + e]])
        most = inner_steps if gram.size > 0 else 1
        steps += _visit(i, design, maps, batch, costs[i], gram, state, work, most, shrink)
        for e in range(p):
            change = costs[i] * signs[lo + e] * (slopes[lo + e] - before[e])
            if change != 0.0:
                row_add(design, rows[lo + e], change, parameters[tasks[lo + e]])
    return steps


@kernel()
def recombine(starts, atoms, atom_offsets, weights, slopes, offsets):
    """The dual point afresh from the active cuts and their weights, which are normalised to sum to one."""
    capacity = weights.shape[1]
    for i in range(len(starts) - 1):
        lo, hi = starts[i], starts[i + 1]
        block = atoms[lo * capacity : hi * capacity].reshape(capacity, hi - lo)
        total = 0.0
        for k in range(capacity):
            total += weights[i, k]
        for e in range(lo, hi):
            slopes[e] = 0.0
        offsets[i] = 0.0
        for k in range(capacity):
            weights[i, k] /= total
            if weights[i, k] > 0.0:
                offsets[i] += weights[i, k] * atom_offsets[i, k]
                for j in range(hi - lo):
                    slopes[lo + j] += weights[i, k] * block[k, j]
