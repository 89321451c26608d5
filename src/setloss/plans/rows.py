"""Cuts of sets of equal size, straight from scores and truth: no flat copy, no array of offsets, no search for kinds.

For losses with a closed form the record of a set follows from its number of positives. What a tensor of scores needs
besides its cuts, the signs and the check for numbers that are not finite, is done set by set in the same threads.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import room_for_cuts, share_out
from setloss.plans.making import ClosedForm
from setloss.plans.narrow import is_narrow, narrow_cuts
from setloss.plans.records import Plans
from setloss.typing import Array

Scores = NDArray[np.floating]
Truth = NDArray[np.bool_]

REMEMBERED_WIDTH = 1024
"""Sets of up to this many elements share a table of the records of all numbers of positives."""


def row_cuts(scores: Scores, truth: Truth, closed: ClosedForm, threads: int) -> tuple[Array, Scores]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    if is_narrow(scores.shape[1], closed) and threads == 1:
        return narrow_cuts(scores, truth, closed)
    from setloss.plans.row_kernels import count_positives, write_row_cuts

    n, width = scores.shape
    positives = np.empty(n, dtype=np.int64)
    count_positives(truth, positives)
    if width <= REMEMBERED_WIDTH:
        plans, which = _plans_of_width(closed, width), positives
    else:
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
