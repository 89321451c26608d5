"""The numba side of `setloss.plans.narrow`."""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import gain_of_one_more, write_margins


@kernel()
def write_gains(records, starts, gains):
    """The increments of f: for all numbers of positives, misses and alarms so far, for an element of either group."""
    width = len(records) - 1
    for m in range(width + 1):
        part, place = records[m].lovasz, starts[m]
        for misses in range(m + 1):
            for alarms in range(width - m + 1):
                for axis in range(2):
                    gain = gain_of_one_more(part, axis, 0, 0, 0, float(misses), float(alarms), float(m), gains)
                    gains[place] = part.weight * gain
                    place += 1


@kernel()
def _rank(margins, rank, order):
    """The elements by ascending margin, ties in their order: each by the number of elements before it.

    Every pair is compared once and nothing branches, so that no guess of the processor goes wrong. Up to some dozens
    of elements this is faster than any sort.
    """
    one = np.int32(1)
    for i in range(len(margins)):
        rank[i] = 0
    for i in range(len(margins)):
        margin, before = margins[i], np.int32(0)
        for j in range(i):
            first = np.int32(margins[j] <= margin)
            before += first
            rank[j] += one - first
        rank[i] = before
    for i in range(len(margins)):
        order[rank[i]] = i


@kernel()
def write_narrow_cuts(data, table, room, out):
    """The cuts of all rows; `out` receives values and gradients in the scores, NaN where a score is not finite."""
    scores, truth = data
    starts, gains = table
    rank, order, margins = room
    values, gradients = out
    width = scores.shape[1]
    for i in range(len(scores)):
        positives = write_margins(scores[i], truth[i], margins, gradients[i])
        if positives < 0:
            values[i] = np.nan
            continue
        _rank(margins, rank, order)
        # Of the cells of a table (misses, alarms, group) each element moves on by one miss or by one alarm.
        cell, row = starts[positives], 2 * (width - positives + 1)
        value = 0.0
        for k in range(width):
            j = order[k]
            slack = max(1.0 - np.float64(margins[j]), 0.0)
            right = np.int64(truth[i, j])
            gain = gains[cell + 1 - right] if slack > 0.0 else 0.0
            cell += row if right else 2
            gradients[i, j] = -gain if right else gain
            value += gain * slack
        values[i] = value
