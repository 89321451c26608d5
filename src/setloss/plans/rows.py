"""Cuts of sets of equal size, straight from scores and truth: no flat copy, no array of offsets, no search for kinds.

For losses with a closed form the record of a set follows from its number of positives. Label sets have some dozens of
elements; of so few, the increments of f for all counts are a small table, and their order is found without a branch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import room_for_cuts, share_out
from setloss.plans.build import LossSurrogate
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


def row_cuts(scores: Scores, truth: Truth, surrogate: LossSurrogate, threads: int) -> tuple[Array, Scores]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite.

    The surrogate is one whose sets are all read at once (`LossSurrogate.closed`).
    """
    n, width = scores.shape
    gains = _gains_of_width(surrogate, width) if 0 < width <= NARROW and threads == 1 else None
    if gains is not None:
        return _narrow_cuts(scores, truth, gains)
    from setloss.plans.kernels import write_row_cuts

    if width <= REMEMBERED_WIDTH:
        plans, which = _plans_of_width(surrogate, width), np.count_nonzero(truth, axis=1)
    else:
        positives = np.array([np.count_nonzero(row) for row in truth])
        plans, which = _plans(surrogate, positives, width), np.arange(n)
    values, gradient = np.empty(n), np.empty_like(scores)

    def work(first: int, last: int) -> None:
        room = room_for_cuts(plans, width, scores.dtype)
        own = np.empty(width, dtype=np.int16), np.empty(width, dtype=bool)
        write_row_cuts(first, last, (scores, truth, which), plans.arrays, room, own, (values, gradient))

    share_out(work, n, threads)
    return values, gradient


@lru_cache(maxsize=256)
def _plans_of_width(surrogate: LossSurrogate, width: int) -> Plans:
    return _plans(surrogate, np.arange(width + 1), width)


def _plans(surrogate: LossSurrogate, positives: NDArray[np.intp], width: int) -> Plans:
    plans = surrogate.plans(positives, width - positives)
    assert isinstance(plans, Plans)
    return plans


def _narrow_cuts(scores: Scores, truth: Truth, gains: tuple[NDArray[np.int64], Array]) -> tuple[Array, Scores]:
    """The same for small sets of one hinge."""
    from setloss.plans.kernels import write_narrow_cuts

    n, width = scores.shape
    values, gradient = np.empty(n), np.empty_like(scores)
    room = np.empty(width, dtype=np.int32), np.empty(width, dtype=np.int32), np.empty(width, dtype=scores.dtype)
    write_narrow_cuts((scores, truth), gains, room, (values, gradient))
    return values, gradient


@lru_cache(maxsize=256)
def _gains_of_width(surrogate: LossSurrogate, width: int) -> tuple[NDArray[np.int64], Array] | None:
    """The first cell of the table of each number of positives, and the tables of gains: of a miss, of an alarm.

    None where the surrogate is more than the hinge of an increasing function.
    """
    tables, records = [], _plans_of_width(surrogate, width).records
    if np.any(records["rescaled"]["kind"] != NONE) or not np.all(records["elementwise"]):
        return None
    for m, part in enumerate(records["lovasz"]):
        rates, sizes = (part["false_negative"], part["false_positive"]), (m, width - m)
        if part["kind"] not in (LINEAR, TVERSKY):
            return None
        counts = Linear(sizes, rates) if part["kind"] == LINEAR else TverskyCounts(*sizes, *rates[::-1])
        cells = np.indices(counts.shape)
        steps = [part["weight"] * counts.step(axis, *cells) for axis in (0, 1)]
        tables.append(np.stack(steps, axis=-1).ravel())
    lengths = np.array([len(table) for table in tables])
    return np.cumsum(lengths) - lengths, np.concatenate(tables)
