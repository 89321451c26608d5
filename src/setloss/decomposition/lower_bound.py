"""A lower bound on every feasible g, cell by cell; where it is itself feasible, it is D l.

Any feasible g has second differences of at least ``r_bc = max(0, those of l)`` and starts with g(empty) = 0
and increments >= 0. Its increment ``d_b(a) = g(a + e_b) - g(a)`` therefore obeys

    d_b(a) >= d_b(a - e_c) + r_bc(a - e_c)   for every c,      g(a) >= g(a - e_b) + d_b(a - e_b)   for every b,

and the largest right-hand sides, level by level, bound g from below whatever path one telescopes along. A
feasible function that meets a pointwise lower bound is the minimiser, and the only one. Of one group the bound is
always feasible: ``g'' = max(0, l'')``, in O(p).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.decomposition.certificate import TableRangeError
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, TableTooLargeError
from setloss.setfunctions.differences import ROUNDING, axis_pairs, bend_noise, cell_levels, second_difference
from setloss.typing import Array

Numbers = NDArray[Any]
"""An array of floats or of Python integers."""

Curvature = dict[tuple[int, int], Numbers]
"""A block of second differences for each pair of axes, in the order of `axis_pairs`."""

MAX_RANGE = 1e8
"""Largest of the values and positive second differences of a table that D takes, over the smallest that is not zero.

A second difference of float64 values is known to `ROUNDING` times the largest, so the smallest number that g must
follow is known to a relative 2e-7 (docs/reading-the-paper.md): rounding is never mistaken for a number.
"""

MAX_CELLS_TIMES_PAIRS = 2**29
"""Cells times squared number of groups: 2 GiB; p = 20 if every element is a group of its own."""

DOWNWARD = {"submodular": True}
UPWARD = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)
"""The laws of every f, and of every g."""

MAX_SUMMED_VALUES = 401
"""Longest curve whose f is the sum of its own steps; on longer ones the sum has larger errors than f = l - g."""


def only_axis(counts: CountFunction) -> int | None:
    """The axis of the only group that has elements, if there is but one."""
    populated = [b for b, n in enumerate(counts.sizes) if n > 0]
    return populated[0] if len(populated) == 1 else None


def split_symmetric(loss: CountFunction) -> Split | None:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g; f = l - g.

    Bends of l that rounding explains are taken as zero, for on long straight curves their sum would be no small g.
    """
    axis = only_axis(loss)
    if axis is None:
        return None
    values, steps = loss.border(axis)
    bends = np.diff(steps)
    noise = bend_noise(values, 0, 0) if len(bends) else 0.0
    required = np.where(bends > noise, bends, 0.0)
    climb, descent = _from_zero(required), steps[:1] + _from_zero(bends - required)
    g = _from_zero(climb)
    if len(values) <= MAX_SUMMED_VALUES:  # a difference has the rounding errors of l, which may be larger than f
        f = np.where(g == 0, values, _from_zero(descent))
    else:
        f = without_rounding(values - g, values, g)
    return Split(
        AxisCurve(loss.sizes, axis, f, descent, DOWNWARD),
        AxisCurve(loss.sizes, axis, g, climb, UPWARD),
        "g'' = max(0, l'')",
    )


def _from_zero(steps: Array) -> Array:
    return np.concatenate(([0.0], np.cumsum(steps)))


def without_rounding(rest: Array, loss: Array, supermodular: Array) -> Array:
    """The part f = l - g with zeros where it, and f of all subsets, are no more than |A| (or 64) rounding errors."""
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    noise = np.abs(rest) <= ROUNDING * np.minimum(cell_levels(rest.shape), 64) * sizes
    for axis in range(rest.ndim):
        noise = np.logical_and.accumulate(noise, axis)
    return np.where(noise, 0.0, rest)


def pointwise_lower_bound(table: Array) -> Array:
    """The bound described above, as a table."""
    shape = table.shape
    strides = [int(np.prod(shape[b + 1 :], dtype=np.intp)) for b in range(len(shape))]
    flat: Curvature = {}
    for (b, c), block in required_curvature(table).items():
        missing = [(0, n - m) for n, m in zip(shape, block.shape, strict=True)]
        flat[b, c] = flat[c, b] = np.pad(block, missing).ravel()
    levels = cell_levels(shape).ravel()
    counts = np.indices(shape).reshape(len(shape), -1)
    increments = np.zeros((len(shape), len(levels)))
    bound = np.zeros(len(levels))
    by_level = np.split(np.argsort(levels, kind="stable"), np.cumsum(np.bincount(levels))[:-1])
    for cells in by_level[1:]:
        for c in range(len(shape)):
            after = cells[counts[c, cells] > 0]
            before = after - strides[c]
            for b in range(len(shape)):
                if (b, c) in flat:
                    raised = increments[b, before] + flat[b, c][before]
                    increments[b, after] = np.maximum(increments[b, after], raised)
        for b in range(len(shape)):
            after = cells[counts[b, cells] > 0]
            before = after - strides[b]
            bound[after] = np.maximum(bound[after], bound[before] + increments[b, before])
    return bound.reshape(shape)


def required_curvature(table: Numbers, floats: Array | None = None) -> Curvature:
    """``max(0, second difference)`` along each pair of axes; `floats` are the values where the table has integers.

    Second differences that rounding of the floats explains are taken as zero: along straight lines they would add up
    to far more than they are.
    """
    floats = table if floats is None else floats
    required: Curvature = {}
    for b, c in axis_pairs(table.shape):
        block = np.maximum(second_difference(table, b, c), 0)
        block[second_difference(floats, b, c) <= bend_noise(floats, b, c)] = 0
        required[b, c] = block
    return required


def require_memory(table: Array) -> None:
    """Refuse a table whose second differences would not fit, before any of them is made."""
    groups = table.ndim
    if table.size * groups**2 > MAX_CELLS_TIMES_PAIRS:
        raise TableTooLargeError(
            f"D of a table with {table.size} cells over {groups} groups takes {table.size * groups**2 / 2**28:.0f} "
            f"GiB, and the limit is {MAX_CELLS_TIMES_PAIRS / 2**28:.0f}; "
            "use fewer elements, or describe the function by fewer groups (one if it is symmetric, two for false "
            "negatives and false positives)"
        )


def require_range(table: Array, required: Curvature) -> None:
    """Refuse a table whose values and required curvature, zeros apart, span more than `MAX_RANGE`.

    What rounding of the values explains is zero.
    """
    curvatures = np.concatenate([block.ravel() for block in required.values()])
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
