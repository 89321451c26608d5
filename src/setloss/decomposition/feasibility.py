"""Feasibility of a pair (f, g) for l: how far f + g = l and the laws of either part are from holding.

Each law is judged by the magnitudes that are in it (`setfunctions.differences`), so that small values do not drown in
large ones.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE
from setloss.setfunctions.differences import (
    ROUNDING,
    SMALLEST,
    Inequalities,
    axis_pairs,
    cell_levels,
    curvature,
    descent,
    negativity,
    second_difference,
    without_modular_part,
)
from setloss.typing import Array

ROUNDING_OF_ROWS = 8 * ROUNDING
"""Share of max|l| below which a slack of the linear program is rounding: 64 last digits of the largest value of l,
2e-6 of the smallest number in range."""


def infeasibility(
    loss: Array, supermodular: Array, submodular: Array | None = None, rtol: float = FEASIBILITY_TOLERANCE
) -> float:
    """The largest breach of a law by g, by f, and by f + g = l; at most `rtol` is none.

    Without f it is l - g, which has the rounding errors of l and g.
    """
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    laws = (curvature(supermodular, -1), descent(supermodular), negativity(supermodular))
    families = [replace(family, sizes=sizes) for law in laws for family in law]
    families += _bends_of_rest(loss, supermodular, submodular)
    broken = [family.violation(rtol) for family in families]
    if submodular is not None:
        off = np.abs(submodular + supermodular - loss)
        broken.append(relative(off, np.maximum(sizes, np.abs(submodular))))
    return float(np.max(broken))


def holds_up_to_rounding(loss: Array, supermodular: Array, submodular: Array) -> bool:
    """Whether the laws hold up to sums of rounding errors.

    What is broken by more, though by less than `FEASIBILITY_TOLERANCE`, may be a small value of l beside large ones.
    """
    sums = ROUNDING * sum(loss.shape)
    return infeasibility(loss, supermodular, submodular, sums) <= sums


def _bends_of_rest(loss: Array, supermodular: Array, submodular: Array | None) -> Iterator[Inequalities]:
    """``f(A + i + j) - f(A + i) - f(A + j) + f(A) <= 0``, by the gains of f with and without l's modular part.

    D does not see modular terms; a large one must not hide a breach. Where f is straight its bends are nothing but
    what rounding of l and of the rows of the program left.
    """
    if submodular is None:
        rest, sizes = loss - supermodular, np.maximum(np.abs(loss), np.abs(supermodular))
    else:
        rest, sizes = submodular, np.full_like(loss, 2 * ROUNDING_OF_ROWS / ROUNDING * np.max(np.abs(loss)))
    curved = rest - (loss - without_modular_part(loss))
    for b, c in axis_pairs(loss.shape):
        bends = second_difference(rest, b, c)
        yield Inequalities(rest, bends, (b, c), sizes)
        yield Inequalities(curved, bends, (b, c), sizes)


def relative(excess: Array, sizes: Array) -> float:
    """The largest excess relative to its size; 0 where nothing exceeds, NaN where something is no number.

    What rounding does at the lower end of float64 is no excess.
    """
    return float(np.max(np.maximum(excess - SMALLEST, 0.0) / np.maximum(sizes, SMALLEST), initial=0.0))


def without_rounding(rest: Array, loss: Array, supermodular: Array) -> Array:
    """The part f = l - g with zeros where it, and f of all subsets, are no more than |A| (or 64) rounding errors."""
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    noise = np.abs(rest) <= ROUNDING * np.minimum(cell_levels(rest.shape), 64) * sizes
    for axis in range(rest.ndim):
        noise = np.logical_and.accumulate(noise, axis)
    return np.where(noise, 0.0, rest)
