"""Cuts of many small sets of equal size by a Lovász hinge: where calls and guesses cost more than arithmetic.

Label sets have some dozens of elements. For so few, the increments of f for all counts are a small table, and the
order of the margins is found without a branch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from setloss.plans.making import ClosedForm
from setloss.plans.records import LINEAR, NONE, TVERSKY
from setloss.typing import Array

Scores = NDArray[np.floating]
Truth = NDArray[np.bool_]

NARROW = 32
"""Up to this many elements, every pair of them is compared."""


def is_narrow(width: int, closed: ClosedForm) -> bool:
    """Whether sets of `width` elements are small, and the surrogate is one hinge that ignores negative slacks."""
    return 0 < width <= NARROW and closed.rescaled == NONE and closed.lovasz in (LINEAR, TVERSKY)


def narrow_cuts(scores: Scores, truth: Truth, closed: ClosedForm) -> tuple[Array, Scores]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    from setloss.plans.narrow_kernels import write_narrow_cuts

    n, width = scores.shape
    values, gradient = np.empty(n), np.empty_like(scores)
    room = np.empty(width, dtype=np.int32), np.empty(width, dtype=np.int32), np.empty(width, dtype=scores.dtype)
    write_narrow_cuts((scores, truth), _gains_of_width(closed, width), room, (values, gradient))
    return values, gradient


@lru_cache(maxsize=256)
def _gains_of_width(closed: ClosedForm, width: int) -> tuple[NDArray[np.int64], Array]:
    """Where the table of each number of positives starts, and the tables."""
    from setloss.plans.narrow_kernels import write_gains

    positives = np.arange(width + 1)
    cells = 2 * (positives + 1) * (width - positives + 1)
    starts, gains = np.cumsum(cells) - cells, np.empty(cells.sum())
    write_gains(closed.plans(positives, width - positives).records, starts, gains)
    return starts, gains
