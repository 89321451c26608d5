"""l = f + g as two tables of floats, each right to its last digits.

Where g is large and f small, ``l - g`` in floats has the rounding errors of l and g, which may exceed f. So f is
computed from g before g is rounded: then either table has relative errors of its own size only, and obeys its
laws up to those, whatever the other is.
"""

from __future__ import annotations

import numpy as np

from setloss.decomposition.exact import Exact, rounded
from setloss.setfunctions.differences import cell_levels
from setloss.setfunctions.tolerance import ROUNDING, curvature
from setloss.typing import Array


def rest_in_floats(loss: Array, supermodular: Array) -> Array:
    """The part f = l - g, with zeros where rounding alone has left something."""
    return _tidied(loss - supermodular, np.maximum(np.abs(loss), np.abs(supermodular)))


def rest_exactly(loss: Exact, supermodular: Exact, exponent: int, resolution: int = 0) -> Array:
    """The part f = l - g of whole numbers of ``2**exponent``, rounded once, with the same zeros.

    Where g is not zero it is known to ``resolution`` units (0: exactly), and so is f: anything less is what a solve
    left of l = g. Where g is zero f is l, however small.
    """
    rest = loss - supermodular
    rest[(np.abs(rest) < resolution) & (supermodular != 0)] = 0
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    return _tidied(rounded(rest, exponent), rounded(sizes, exponent))


def _tidied(values: Array, sizes: Array) -> Array:
    """Zero where a value, and all values of subsets, are no more than |A| (or 64) rounding errors of the sizes."""
    noise = np.abs(values) <= ROUNDING * np.minimum(cell_levels(values.shape), 64) * sizes
    for axis in range(values.ndim):
        noise = np.logical_and.accumulate(noise, axis)
    return np.where(noise, 0.0, values)


def bends_up(table: Array) -> float:
    """By how much a table is not submodular, see `Inequalities.violation`."""
    return max((family.violation() for family in curvature(table, 1.0)), default=0.0)
