"""Numba kernels of approximate slack rescaling: greedy and one-pass searches over a whole ragged data set.

Bag i has the losses ``buffer[starts[i] + a * (negatives + 1) + b]`` for a mistakes in group 0 and b in group 1;
symmetric losses have group 0 only.
"""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.plans.sorting import sort_elements


@kernel()
def _objective(loss, total, scale):
    return loss * (1.0 - scale * total) if loss > 0.0 else 0.0


@kernel()
def _next_of(group, order, position, wanted):
    """The first position in `order`, from `position` on, of an element of the wanted group."""
    while position < len(order) and group[order[position]] != wanted:
        position += 1
    return position


@kernel()
def _best_first(margins, group, table, width, scale, order, chosen):
    """Of the next positive and the next negative take the better one, as long as it raises the objective."""
    n = len(margins)
    order[:] = np.arange(n)
    sort_elements(margins, order, np.empty_like(order), None)
    count0 = count1 = 0
    total = value = loss = 0.0
    place0, place1 = _next_of(group, order, 0, 0), _next_of(group, order, 0, 1)
    while place0 < n or place1 < n:
        best, best_group = -np.inf, 0
        for b in range(2):
            place = place0 if b == 0 else place1
            if place < n:
                cell = (count0 + (b == 0)) * width + count1 + (b == 1)
                candidate = _objective(table[cell], total + margins[order[place]], scale)
                if candidate > best:
                    best, best_group = candidate, b
        if not best > value:
            break
        if best_group == 0:
            i, count0 = order[place0], count0 + 1
            place0 = _next_of(group, order, place0 + 1, 0)
        else:
            i, count1 = order[place1], count1 + 1
            place1 = _next_of(group, order, place1 + 1, 1)
        chosen[i] = True
        total += margins[i]
        value = best
        loss = table[count0 * width + count1]
    return loss


@kernel()
def _one_pass(margins, group, table, width, scale, chosen):
    """Every element once, in the order of the data; it stays if it raises the objective."""
    total = value = loss = 0.0
    cell = 0
    for i in range(len(margins)):
        next_cell = cell + (width if group[i] == 0 else 1)
        candidate = _objective(table[next_cell], total + margins[i], scale)
        if candidate > value:
            chosen[i] = True
            cell, total, value = next_cell, total + margins[i], candidate
            loss = table[cell]
    return loss


@kernel()
def inexact_cuts(margins, offsets, groups, starts, widths, buffer, scale, released, order, slopes, chosen, totals):
    """Fill slopes, chosen sets, and offset and height per bag.

    `released` is the search of the released code, one pass, and its slope: c instead of c l(A).
    """
    for i in range(len(starts)):
        lo, hi = offsets[i], offsets[i + 1]
        here, group, picked = margins[lo:hi], groups[lo:hi], chosen[lo:hi]
        picked[:] = False
        table = buffer[starts[i] :]
        if released:
            loss = _one_pass(here, group, table, widths[i], scale, picked)
        else:
            loss = _best_first(here, group, table, widths[i], scale, order[lo:hi], picked)
        rate = scale if released else scale * loss
        height = loss
        for e in range(hi - lo):
            slopes[lo + e] = rate if picked[e] else 0.0
            height -= slopes[lo + e] * here[e]
        totals[i, 0] = loss
        totals[i, 1] = height
