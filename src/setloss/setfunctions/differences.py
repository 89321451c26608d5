"""The lattice of counts: differences of tables, and one rule for comparing values.

A table over counts has one axis per group of V; cell ``a = (a_1, ..., a_k)`` stands for the
``prod_b C(n_b, a_b)`` subsets with ``a_b`` elements in group ``b``. Submodularity, supermodularity and the
linear program of D all speak of the same numbers, the second differences

    l(a + e_b + e_c) - l(a + e_b) - l(a + e_c) + l(a),        b <= c,

along one axis (``b = c``, in groups of two or more elements) and across two (``b < c``).

Verdicts, certificates, `setloss.testing` and the operators share one tolerance. The values of a set function are
float64 numbers, right up to their last digits. An inequality between some of them is broken if it fails by more than

    max(rtol * unit, ROUNDING * largest value in it),

where the unit is a size that the inequality itself speaks of: the largest gain where gains are compared, the largest
value otherwise. Nothing is measured by a size from elsewhere in the table, so that small values do not drown in
large ones. With ``rtol = 0`` nothing is allowed, not even rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.typing import Array, Shape

RELATIVE_TOLERANCE = 1e-9
"""Numbers are compared up to this share of their own size; verdicts and equality use it by default."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Error of a second difference by rounding, as a share of the largest of its four values."""

SMALLEST = 4 * float(np.nextafter(0.0, 1.0))
"""Error by rounding at the lower end of float64, where there are no relative errors."""

Cells = tuple[NDArray[np.intp], ...]


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
    corners = [np.empty((0, 4), dtype=np.intp)]
    for b, c in axis_pairs(shape):
        parts = (part(half, c) for half in (_lower(cells, b), _upper(cells, b)) for part in (_lower, _upper))
        corners.append(np.stack([part.ravel() for part in parts], axis=1))
    columns = np.concatenate(corners)
    rows = np.repeat(np.arange(len(columns)), 4)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], len(columns))
    matrix = csr_array((signs, (rows, columns.ravel())), shape=(len(columns), cells.size))
    matrix.sum_duplicates()
    return matrix


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


@dataclass(frozen=True)
class Inequalities:
    """``excess <= 0`` for every cell that an inequality starts from, and the axes that lead to its other cells.

    ``axes`` is (b, c) where gains are compared, (b,) for first differences along b, () for single values. Units are
    read off `table`; rounding errors are those of `sizes`, by default of the same table.
    """

    table: Array
    excess: Array
    axes: tuple[int, ...]
    sizes: Array | None = None

    def tolerances(self, cells: Cells, rtol: float) -> Array:
        """The excess allowed for each of the given inequalities."""
        if rtol == 0:
            return np.zeros(len(cells[0]))
        values = self._corners(self.table, cells)
        largest = np.max(np.abs(values), axis=0)
        unit = _largest_gain(*values) if len(self.axes) == 2 else largest
        rounded = largest if self.sizes is None else np.max(np.abs(self._corners(self.sizes, cells)), axis=0)
        return np.asarray(np.maximum(np.maximum(rtol * unit, ROUNDING * rounded), SMALLEST))

    def _corners(self, table: Array, cells: Cells) -> list[Array]:
        """The values that enter each inequality; a value alone is measured by those of the subsets below it."""
        if not self.axes:
            return [largest_below(table)[cells]]
        corners = [cells]
        for axis in self.axes:
            corners += [raised(corner, axis) for corner in corners]
        return [table[corner] for corner in corners]

    def violation(self, rtol: float = RELATIVE_TOLERANCE) -> float:
        """The largest excess, in units in which `rtol` is allowed; 0 if nothing is broken at all."""
        if np.isnan(self.excess).any():
            return float("nan")
        positive = np.nonzero(self.excess > 0)
        if not len(positive[0]):
            return 0.0
        return rtol * float(np.max(self.excess[positive] / self.tolerances(positive, rtol)))


def raised(cell: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    """The cell, or cells, with one more element of one group."""
    return tuple(index + (b == axis) for b, index in enumerate(cell))


def _largest_gain(low: Array, b: Array, c: Array, both: Array) -> Array:
    return np.asarray(np.max(np.abs([b - low, c - low, both - b, both - c]), axis=0))


def largest_below(table: Array) -> Array:
    """Max |l(B)| over the subsets B of each cell's sets."""
    largest = np.abs(table)
    for axis in range(table.ndim):
        largest = np.maximum.accumulate(largest, axis)
    return largest


def curvature(table: Array, *signs: int) -> Iterator[Inequalities]:
    """``sign * (l(A + i + j) - l(A + i) - l(A + j) + l(A)) <= 0``: submodular for 1, supermodular for -1."""
    for sign in signs:
        for b, c in axis_pairs(table.shape):
            yield Inequalities(table, sign * second_difference(table, b, c), (b, c))


def asymmetry(table: Array) -> Iterator[Inequalities]:
    """``|l(A + i) - l(A + j)| <= 0`` for i and j of different groups: symmetric."""
    for b, c in axis_pairs(table.shape):
        if b < c:
            difference = _upper(_lower(table, c), b) - _upper(_lower(table, b), c)
            yield Inequalities(table, np.abs(difference), (b, c))


def descent(table: Array) -> Iterator[Inequalities]:
    """``l(A) - l(A + i) <= 0``: increasing."""
    for b, length in enumerate(table.shape):
        if length >= 2:
            yield Inequalities(table, -np.diff(table, axis=b), (b,))


def negativity(table: Array) -> Iterator[Inequalities]:
    """``-l(A) <= 0``: non-negative."""
    yield Inequalities(table, -table, ())


def bend_noise(table: Array, b: int, c: int) -> Array:
    """Error by rounding of each second difference along b and c."""
    size = np.abs(table)
    for axis in (b, c):
        size = np.maximum(_upper(size, axis), _lower(size, axis))
    return np.maximum(ROUNDING * size, SMALLEST)


def _upper(table: NDArray[Any], axis: int) -> NDArray[Any]:
    """Without the smallest count of one group."""
    return table[(slice(None),) * axis + (slice(1, None),)]


def _lower(table: NDArray[Any], axis: int) -> NDArray[Any]:
    """Without the largest count of one group."""
    return table[(slice(None),) * axis + (slice(None, -1),)]
