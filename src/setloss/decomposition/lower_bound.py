"""A lower bound on every feasible g, cell by cell; where it is itself feasible, it is D l.

Any feasible g has second differences of at least ``r_bc = max(0, those of l)`` and starts with g(empty) = 0
and increments >= 0. Its increment ``d_b(a) = g(a + e_b) - g(a)`` therefore obeys

    d_b(a) >= d_b(a - e_c) + r_bc(a - e_c)   for every c,      g(a) >= g(a - e_b) + d_b(a - e_b)   for every b,

and the largest right-hand sides, level by level, bound g from below whatever path one telescopes along. A
feasible function that meets a pointwise lower bound is the minimiser, and the only one.
"""

from __future__ import annotations

import numpy as np

from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.differences import axis_pairs, cell_levels, second_difference
from setloss.typing import Array


def required_curvature(table: Array) -> dict[tuple[int, int], Array]:
    """``max(0, second difference)`` for both orders of each pair of axes, padded to the shape of the table."""
    required: dict[tuple[int, int], Array] = {}
    for b, c in axis_pairs(table.shape):
        block = np.maximum(second_difference(table, b, c), 0.0)
        padded = np.pad(block, [(0, n - s) for n, s in zip(table.shape, block.shape, strict=True)])
        required[b, c] = required[c, b] = padded.ravel()
    return required


MAX_CELLS_TIMES_PAIRS = 2**29
"""Cells times squared number of groups: 2 GiB; p = 20 if every element is a group of its own."""


def require_room(table: Array) -> None:
    """Refuse a table whose second differences would not fit, before any of them is made."""
    groups = table.ndim
    if table.size * groups**2 > MAX_CELLS_TIMES_PAIRS:
        raise TableTooLargeError(
            f"D of a table with {table.size} cells over {groups} groups takes {table.size * groups**2 / 2**28:.0f} "
            f"GiB, and the limit is {MAX_CELLS_TIMES_PAIRS / 2**28:.0f}; "
            "use fewer elements, or describe the function by fewer groups (one if it is symmetric, two for false "
            "negatives and false positives)"
        )


def pointwise_lower_bound(table: Array) -> Array:
    """The bound described above, as a table."""
    shape = table.shape
    strides = [int(np.prod(shape[b + 1 :], dtype=np.intp)) for b in range(len(shape))]
    required = required_curvature(table)
    levels = cell_levels(shape).ravel()
    counts = np.indices(shape).reshape(len(shape), -1)
    increments = np.zeros((len(shape), table.size))
    bound = np.zeros(table.size)
    by_level = np.split(np.argsort(levels, kind="stable"), np.cumsum(np.bincount(levels))[:-1])
    for cells in by_level[1:]:
        for c in range(len(shape)):
            after = cells[counts[c, cells] > 0]
            before = after - strides[c]
            for b in range(len(shape)):
                if (b, c) in required:
                    raised = increments[b, before] + required[b, c][before]
                    increments[b, after] = np.maximum(increments[b, after], raised)
        for b in range(len(shape)):
            after = cells[counts[b, cells] > 0]
            before = after - strides[b]
            bound[after] = np.maximum(bound[after], bound[before] + increments[b, before])
    return bound.reshape(shape)
