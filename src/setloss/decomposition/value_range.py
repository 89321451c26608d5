"""The range of values that D takes, and the refusal of tables beyond it.

Float64 has 16 digits. Within a range of 1e8 the smallest number that g must follow is known to 8 of them beside the
largest, so that a float solver, refined once, finds the right basis and rounding is never mistaken for a number.
"""

from __future__ import annotations

import numpy as np

from setloss.decomposition.certificate import DecompositionError
from setloss.decomposition.lower_bound import required_curvature
from setloss.setfunctions.tolerance import ROUNDING
from setloss.typing import Array

MAX_RANGE = 1e8
"""Largest of the values and positive second differences of a table, over the smallest that is not zero."""


class TableRangeError(DecompositionError):
    """A table has numbers of too different size for D; nothing was computed."""


def require_range(table: Array) -> None:
    """Refuse a table whose values and positive second differences, zeros apart, span more than `MAX_RANGE`.

    What rounding of the values explains is zero. Without a positive second difference D is 0 in any range.
    """
    curvatures = np.concatenate([block.ravel() for block in required_curvature(table, noise=table).values()])
    if not curvatures.any():
        return
    values = np.abs(table[np.abs(table) > ROUNDING * np.max(np.abs(table))])
    numbers = np.concatenate((values, curvatures[curvatures > 0]))
    largest, smallest = float(np.max(numbers)), float(np.min(numbers))
    if largest <= MAX_RANGE * smallest:
        return
    unit = 10.0 ** np.ceil(np.log10(1.01 * largest / MAX_RANGE))
    raise TableRangeError(
        f"D takes tables whose values and positive second differences span at most {MAX_RANGE:g}, and those of this "
        f"one go from {smallest:.3g} to {largest:.3g}; round its values to multiples of {unit:g}, which drops the "
        "tiny ones, or lower the largest."
    )
