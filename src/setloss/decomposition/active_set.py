"""A small strictly convex quadratic program, in float64 or in decimals.

    min_u  1/2 |W (x + Z u)|^2   s.t.   A (Z u) >= -slack,        W diagonal

by the dual active-set method of Goldfarb and Idnani (1983): start at the unconstrained minimum, then make the
most violated row tight, step by step, dropping rows whose multiplier would turn negative. The objective rises with
every step, so no set of rows comes back. Every operation is a product, a quotient or a comparison of array
elements: floats and `decimal.Decimal` run the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.decomposition.certificate import DecompositionError

Numbers = NDArray[Any]
"""An array of floats or of `Decimal`."""

DECIMAL_DIGITS = 120
PIVOT = 1e-9
DEPENDENT_FLOAT = 1e-16
DEPENDENT_DECIMAL = 10.0**-60
"""Squared sine of the angle between a row and the span of the tight rows below which it lies in it."""

MAX_STEPS = 100_000


@dataclass(frozen=True)
class Quadratic:
    """``1/2 |roots * (start + basis @ u)|^2``; `basis` has orthogonal-ish columns of norm about one."""

    basis: Numbers
    roots: Numbers
    start: Numbers

    @property
    def hessian(self) -> Numbers:
        """``Z^T W^2 Z``."""
        weighted = self.roots[:, None] * self.basis
        return np.asarray(weighted.T @ weighted)

    @property
    def gradient(self) -> Numbers:
        """``Z^T W^2 x``, the gradient at u = 0."""
        return np.asarray(self.basis.T @ (self.roots * self.roots * self.start))


@dataclass(frozen=True)
class Minimum:
    """A minimiser u, the rows that hold it there, and their pull: the sum of multipliers times normals."""

    change: Numbers
    tight: list[int]
    pull: Numbers


def least_on_polyhedron(quadratic: Quadratic, matrix: csr_array, slack: Numbers, tolerance: float) -> Minimum:
    """The minimiser of a strictly convex quadratic under ``A (Z u) >= -slack``.

    Rows may be short by ``tolerance (1 + the largest value)``.
    """
    search = _Search(quadratic)
    allowed = search.number(tolerance) * (1 + np.max(np.abs(quadratic.start)))
    for _ in range(MAX_STEPS):
        room = times(matrix, quadratic.basis @ search.change) + slack
        worst = int(np.argmin(room))
        if room[worst] >= -allowed:
            return search.minimum(times(matrix[search.tight], quadratic.basis), slack[search.tight])
        search.tighten(worst, times(matrix[[worst]], quadratic.basis)[0], slack[worst])
    raise DecompositionError(f"the tie-break in {len(search.change)} dimensions did not end in {MAX_STEPS} steps")


def times(matrix: csr_array, numbers: Numbers) -> Numbers:
    """A sparse integer matrix times floats or decimals, a vector or the columns of a matrix."""
    if numbers.dtype != object:
        return np.asarray(matrix @ numbers)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    signs = np.array([int(sign) for sign in matrix.data], dtype=object)
    terms = signs.reshape([-1] + [1] * (numbers.ndim - 1)) * numbers[matrix.indices]
    out = np.zeros((matrix.shape[0], *numbers.shape[1:]), dtype=object)
    np.add.at(out, rows, terms)
    return out


class _Search:
    """The tight rows N of the method with two operators kept up to date (H the Hessian).

    ``inverse`` = H^-1 - H^-1 N M N^T H^-1  and  ``lift`` = M N^T H^-1,  with  M = (N^T H^-1 N)^-1.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.number = type(quadratic.start[0])
        self.dependent = self.number(DEPENDENT_DECIMAL if quadratic.start.dtype == object else DEPENDENT_FLOAT)
        self.hessian, self.gradient = quadratic.hessian, quadratic.gradient
        self.inverse = self.free_inverse = inverted(self.hessian)
        self.lift = self.hessian[:0]
        self.tight: list[int] = []
        self.multipliers = self.hessian[:0, 0]
        self.change = -self.free_inverse @ self.gradient

    def tighten(self, row: int, normal: Numbers, slack: Any) -> None:
        """Move until ``normal @ u = -slack``, by full and partial steps."""
        price = self.number(0)
        length = normal @ (self.free_inverse @ normal)
        while True:
            direction, rates = self.inverse @ normal, self.lift @ normal
            slope = normal @ direction
            full = -(normal @ self.change + slack) / slope if slope > self.dependent * length else None
            blocking = [(self.multipliers[k] / rates[k], k) for k in range(len(rates)) if rates[k] > 0]
            partial, leaving = min(blocking, default=(None, -1))
            if full is None and partial is None:
                raise DecompositionError("the tie-break met rows that contradict each other")
            blocked = full is None or (partial is not None and partial < full)
            step = partial if blocked else full
            if full is not None:
                self.change = self.change + step * direction
            self.multipliers = self.multipliers - step * rates
            price = price + step
            if not blocked:
                self._update(direction, slope, rates)
                self.tight.append(row)
                self.multipliers = np.append(self.multipliers, price)
                return
            self._drop(leaving)

    def _update(self, direction: Numbers, slope: Any, rates: Numbers) -> None:
        unit = direction / slope
        self.inverse = self.inverse - np.multiply.outer(direction, unit)
        self.lift = np.vstack([self.lift - np.multiply.outer(rates, unit), unit])

    def _drop(self, leaving: int) -> None:
        loosened = self.lift[leaving]
        shares = self.lift @ (self.hessian @ loosened)
        self.inverse = self.inverse + np.multiply.outer(loosened, loosened) / shares[leaving]
        lift = self.lift - np.multiply.outer(shares / shares[leaving], loosened)
        self.lift = np.delete(lift, leaving, axis=0)
        del self.tight[leaving]
        self.multipliers = np.delete(self.multipliers, leaving)

    def minimum(self, normals: Numbers, slacks: Numbers) -> Minimum:
        """The minimum with the tight rows given; solved afresh in float64, where the updates have left rounding."""
        change, multipliers = self.change, self.multipliers
        if change.dtype != object:
            count = len(multipliers)
            system = np.block([[self.hessian, -normals.T], [normals, np.zeros((count, count))]])
            both = np.linalg.solve(system, -np.concatenate([self.gradient, slacks]))
            change, multipliers = both[: len(change)], both[len(change) :]
        # A multiplier that is negative after all shows up as missing pull.
        pull = np.maximum(multipliers, self.number(0)) @ normals
        return Minimum(change, self.tight, np.asarray(pull))


def echelon(matrix: Numbers, order: NDArray[np.intp] | None = None) -> tuple[Numbers, NDArray[np.intp]]:
    """Reduced row echelon form with columns taken in ``order``: its nonzero rows, and their pivot columns."""
    rows = matrix.copy()
    pivots: list[int] = []
    for column in range(rows.shape[1]) if order is None else order:
        rank = len(pivots)
        if rank == len(rows):
            break
        best = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[best, column]) <= PIVOT:
            continue
        rows[[rank, best]] = rows[[best, rank]]
        rows[rank] = rows[rank] / rows[rank, column]
        others = np.flatnonzero(rows[:, column])
        others = others[others != rank]
        rows[others] = rows[others] - np.multiply.outer(rows[others, column], rows[rank])
        pivots.append(int(column))
    rows[np.abs(rows) < PIVOT] = 0
    return rows[: len(pivots)], np.array(pivots, dtype=np.intp)


def null_basis(matrix: Numbers) -> Numbers:
    """Columns that span the null space of a matrix of small rational numbers."""
    reduced, pivots = echelon(matrix)
    size = matrix.shape[1]
    free = np.setdiff1d(np.arange(size), pivots)
    basis = np.zeros((size, len(free)), dtype=matrix.dtype)
    basis[free, np.arange(len(free))] = 1
    basis[pivots] = -reduced[:, free]
    return basis


def inverted(matrix: Numbers) -> Numbers:
    """The inverse of a positive definite matrix."""
    if matrix.dtype != object:
        return np.linalg.inv(matrix)
    size = len(matrix)
    unit = np.zeros_like(matrix)
    unit[np.arange(size), np.arange(size)] = 1
    work = np.hstack([matrix, unit])
    for k in range(size):
        work[k] = work[k] / work[k, k]
        others = np.arange(size) != k
        work[others] = work[others] - np.multiply.outer(work[others, k], work[k])
    return np.asarray(work[:, size:])
