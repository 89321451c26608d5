"""The lattice of counts: second differences of tables.

A table over counts has one axis per group of V; cell ``a = (a_1, ..., a_k)`` stands for the
``prod_b C(n_b, a_b)`` subsets with ``a_b`` elements in group ``b``. Submodularity, supermodularity and the
linear program of D all speak of the same numbers, the second differences

    l(a + e_b + e_c) - l(a + e_b) - l(a + e_c) + l(a),        b <= c,

along one axis (``b = c``, in groups of two or more elements) and across two (``b < c``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.typing import Shape


def axis_pairs(shape: Shape) -> Iterator[tuple[int, int]]:
    """Pairs ``b <= c`` of axes that have a second difference; ``b = c`` needs a group of two elements."""
    for b, length in enumerate(shape):
        if length >= 3:
            yield b, b
        for c in range(b + 1, len(shape)):
            if length >= 2 and shape[c] >= 2:
                yield b, c


def second_difference(table: NDArray[Any], b: int, c: int) -> NDArray[Any]:
    """All second differences of ``table`` along ``b`` and ``c``."""
    return np.diff(np.diff(table, axis=b), axis=c)


def second_difference_matrix(shape: Shape) -> csr_array:
    """The sparse ``K`` with all second differences in ``K @ table.ravel()``, one pair of axes after the other."""
    cells = np.arange(np.prod(shape, dtype=np.intp)).reshape(shape)
    strides = [int(np.prod(shape[b + 1 :], dtype=np.intp)) for b in range(len(shape))]
    corners = [np.empty((0, 4), dtype=np.intp)]
    for b, c in axis_pairs(shape):
        base = _origins(cells, b, c)
        corners.append(base[:, None] + np.array([0, strides[b], strides[c], strides[b] + strides[c]]))
    columns = np.concatenate(corners)
    rows = np.repeat(np.arange(len(columns)), 4)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], len(columns))
    matrix = csr_array((signs, (rows, columns.ravel())), shape=(len(columns), cells.size))
    matrix.sum_duplicates()
    return matrix


def _origins(cells: NDArray[np.intp], b: int, c: int) -> NDArray[np.intp]:
    """Flat index of the lowest corner of every second difference along ``b`` and ``c``."""
    stop = list(cells.shape)
    stop[b] -= 1
    stop[c] -= 1
    return cells[tuple(slice(s) for s in stop)].ravel()


def without_modular_part(table: NDArray[Any]) -> NDArray[Any]:
    """``l(A) - sum_{i in A} l({i})``: what second differences see of a table, and D decomposes."""
    rest = table.copy()
    for b, length in enumerate(table.shape):
        if length > 1:
            rate = table[tuple(int(axis == b) for axis in range(table.ndim))]
            ramp = rate * np.arange(length).astype(table.dtype)
            rest = rest - ramp.reshape([-1 if axis == b else 1 for axis in range(table.ndim)])
    return rest


def cell_levels(shape: Shape) -> NDArray[np.intp]:
    """``|A|`` of the subsets in each cell: the sum of its counts."""
    return np.asarray(np.indices(shape).sum(axis=0), dtype=np.intp)
