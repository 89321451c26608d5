"""The numba side of `setloss.plans.rows`."""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.plans.kernels import bag_cut, write_margins


@kernel()
def count_positives(truth, counts):
    """The number of true entries of every row."""
    for i in range(len(counts)):
        count = 0
        for j in range(truth.shape[1]):
            count += truth[i, j]
        counts[i] = count


@kernel()
def write_row_cuts(first, last, data, plans, room, own, out):
    """The cuts of the rows from `first` up to `last`; `out` receives values and gradients in the scores.

    A row of gradients holds its margins first and its slopes then; `own` is room for a partition and the worst set.
    """
    scores, truth, which = data
    records, sizes, tables = plans
    partition, chosen = own
    values, gradients = out
    width = scores.shape[1]
    for i in range(first, last):
        gradient = gradients[i]
        if write_margins(scores[i], truth[i], gradient, gradient) < 0:
            values[i] = np.nan
            continue
        for j in range(width):
            partition[j] = 0 if truth[i, j] else 1
        plan = records[which[i]]
        values[i] = bag_cut(gradient, partition, plan, (sizes[which[i]], tables), room, gradient, chosen)[1]
        for j in range(width):
            if truth[i, j]:
                gradient[j] = -gradient[j]
