"""Cuts of sets of equal size, straight from scores and truth: no flat copy, no array of offsets, no search for kinds.

For losses with a closed form the record of a set follows from its number of positives. Label sets have some dozens of
elements; of so few, the increments of f for all counts are a small table, and their order is found without a branch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import room_for_cuts, share_out
from setloss.plans.build import ClosedForm
from setloss.plans.records import LINEAR, NONE, TVERSKY, Plans
from setloss.setfunctions.combinations import Linear
from setloss.setfunctions.tversky import TverskyCounts
from setloss.typing import Array

Scores = NDArray[np.floating]
Truth = NDArray[np.bool_]

REMEMBERED_WIDTH = 1024
"""Largest number of elements for which the records of all numbers of positives are kept."""

NARROW = 32
"""Largest number of elements of which every pair is compared."""


def row_cuts(scores: Scores, truth: Truth, closed: ClosedForm, threads: int) -> tuple[Array, Scores]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    n, width = scores.shape
    ignores_negative_slacks = closed.rescaled == NONE and closed.lovasz in (LINEAR, TVERSKY)
    if ignores_negative_slacks and 0 < width <= NARROW and threads == 1:
        return _narrow_cuts(scores, truth, closed)
    from setloss.plans.kernels import write_row_cuts

    if width <= REMEMBERED_WIDTH:
        plans, which = _plans_of_width(closed, width), np.count_nonzero(truth, axis=1)
    else:
        positives = np.array([np.count_nonzero(row) for row in truth])
        plans, which = closed.plans(positives, width - positives), np.arange(n)
    values, gradient = np.empty(n), np.empty_like(scores)

    def work(first: int, last: int) -> None:
        room = room_for_cuts(plans, width, scores.dtype)
        own = np.empty(width, dtype=np.int16), np.empty(width, dtype=bool)
        write_row_cuts(first, last, (scores, truth, which), plans.arrays, room, own, (values, gradient))

    share_out(work, n, threads)
    return values, gradient


@lru_cache(maxsize=256)
def _plans_of_width(closed: ClosedForm, width: int) -> Plans:
    positives = np.arange(width + 1)
    return closed.plans(positives, width - positives)


def _narrow_cuts(scores: Scores, truth: Truth, closed: ClosedForm) -> tuple[Array, Scores]:
    """The same for small sets of one hinge."""
    from setloss.plans.kernels import write_narrow_cuts

    n, width = scores.shape
    values, gradient = np.empty(n), np.empty_like(scores)
    room = np.empty(width, dtype=np.int32), np.empty(width, dtype=np.int32), np.empty(width, dtype=scores.dtype)
    write_narrow_cuts((scores, truth), _gains_of_width(closed, width), room, (values, gradient))
    return values, gradient


@lru_cache(maxsize=256)
def _gains_of_width(closed: ClosedForm, width: int) -> tuple[NDArray[np.int64], Array]:
    """The first cell of the table of each number of positives, and the tables of gains: of a miss, of an alarm."""
    tables = []
    for m in range(width + 1):
        costs = closed.fields(m, width - m)
        rates, sizes = (costs.false_negative, costs.false_positive), (m, width - m)
        counts = Linear(sizes, rates) if closed.lovasz == LINEAR else TverskyCounts(*sizes, *rates[::-1])
        cells = np.indices(counts.shape)
        tables.append(np.stack([counts.step(axis, *cells) for axis in (0, 1)], axis=-1).ravel())
    lengths = np.array([len(table) for table in tables])
    return np.cumsum(lengths) - lengths, np.concatenate(tables)
