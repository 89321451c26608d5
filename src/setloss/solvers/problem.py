"""The training problem: regularised risk of a set-level surrogate, linear in its parameters.

    min over W of   P(W) = 1/2 |W|^2 + sum_i c_i B_i(m_i(W)),      c_i = C weight_i

Element e of bag i has the margin ``m_e = y_e <x_{row(e)}, W_{task(e)}>``: bags of frames share one task, in
multi-label data the elements of a bag share one row and every label is a task. An intercept is one more
feature of constant value s (`intercept_scaling`), regularised like the others.

Every B_i is a maximum of cuts, so a dual point is one convex combination of cuts (o_i, sigma_i) per bag:

    D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2,      W(sigma)_t = sum_{e : task(e) = t} c_i y_e sigma_e x_{row(e)}

and P(W) >= D(o, sigma) for every W and every dual point. The dual variables live on the elements, never on
bags times features.

Margins are linear in W: with those of both ends of a line known, any point in between costs no pass over X.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from setloss.plans.batch import BatchCuts, BatchSurrogate
from setloss.solvers.deadline import check_time
from setloss.typing import Array

ROWS_AT_ONCE = 4096
"""Rows of X that enter a product of matrices together."""


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of X, dense or CSR, in the form the kernels read; `constant` is the value of one more feature."""

    dense: NDArray[Any]
    data: NDArray[Any]
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]
    sparse: bool
    features: int
    constant: float

    @classmethod
    def of(cls, X: Any, constant: float = 0.0) -> Design:
        """Wrap X without copying it, but for CSR index arrays of another type and X in Fortran order."""
        if issparse(X):
            rows = csr_array(X)
            data = rows.data if rows.dtype in (np.float32, np.float64) else rows.data.astype(np.float64)
            empty = np.empty((0, 0), dtype=data.dtype)
            indices, indptr = rows.indices.astype(np.int64, copy=False), rows.indptr.astype(np.int64, copy=False)
            return cls(empty, data, indices, indptr, True, rows.shape[1], constant)
        dense = np.ascontiguousarray(X)
        if dense.dtype not in (np.float32, np.float64):
            dense = dense.astype(np.float64)
        none = np.empty(0, dtype=np.int64)
        return cls(dense, np.empty(0, dtype=dense.dtype), none, none, False, dense.shape[1], constant)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1 if self.sparse else len(self.dense)

    def pieces(self) -> Iterator[slice]:
        """The rows of a dense X, some thousand at a time: what is converted to float64 stays small."""
        return (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.dense), ROWS_AT_ONCE))

    @property
    def row_entries(self) -> float:
        """How many numbers a row holds, on average."""
        return self.data.size / max(self.rows, 1) if self.sparse else self.features

    def squared_norms(self) -> Array:
        """|x|^2 of every row, the constant feature included."""
        if self.sparse:
            entries = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
            found = np.bincount(entries, np.square(self.data, dtype=np.float64), minlength=len(self.indptr) - 1)
        else:
            found = np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        return np.asarray(found + self.constant**2)

    @property
    def rows_of_csr(self) -> csr_array:
        """A sparse X as scipy takes it."""
        return csr_array((self.data, self.indices, self.indptr), shape=(len(self.indptr) - 1, self.features))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.dense, self.data, self.indices, self.indptr, self.sparse, self.constant


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, surrogates and costs; see the module's docstring for the notation."""

    design: Design
    surrogate: BatchSurrogate = field(repr=False)
    signs: Array = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    tasks: NDArray[np.int64] = field(repr=False)
    costs: Array = field(repr=False)
    n_tasks: int = 1

    @property
    def n_bags(self) -> int:
        return len(self.surrogate.bags)

    @property
    def maps(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """What the kernels take: row, task and sign of every element."""
        return self.rows, self.tasks, self.signs

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the parameters: tasks times features and the constant one."""
        return self.n_tasks, self.design.features + 1

    @cached_property
    def element_costs(self) -> Array:
        """c_i of the bag of every element."""
        return np.repeat(self.costs, self.surrogate.bags.sizes)

    def exact(self) -> bool:
        """Whether every cut so far touched its surrogate, so that a gap is a certificate."""
        return self.surrogate.exact

    def margins(self, parameters: Array) -> Array:
        """m(W), one pass over X."""
        from setloss.solvers.kernels import all_margins

        check_time()
        if self.tabular:
            return np.asarray(self.signs * self._scores(parameters).ravel()[self._cells])
        out = np.empty(len(self.signs))
        all_margins(self.design.arrays, self.rows, self.tasks, self.signs, parameters, out)
        return out

    def parameters(self, slopes: Array) -> Array:
        """W(sigma), one pass over X."""
        from setloss.solvers.kernels import accumulate_rows

        check_time()
        out = np.zeros(self.shape)
        weights = self.element_costs * self.signs
        weights *= slopes
        if self.tabular:
            return self._combined_rows(weights)
        accumulate_rows(self.design.arrays, self.rows, self.tasks, weights, out)
        return out

    @cached_property
    def label_sets(self) -> bool:
        """Whether every bag is one row with distinct tasks: its Gram matrix is |x|^2 times the identity."""
        if self.n_tasks == 1:
            return False
        starts = np.zeros(len(self.signs), dtype=bool)
        starts[self.surrogate.bags.offsets[:-1]] = True
        same = (self.rows[1:] == self.rows[:-1]) & (self.tasks[1:] > self.tasks[:-1])
        return bool(np.all(same | starts[1:]))

    @cached_property
    def tabular(self) -> bool:
        """Whether most rows of X are used by most tasks: passes over X are then products of matrices."""
        return self.n_tasks > 1 and 2 * len(self.signs) >= self.design.rows * self.n_tasks

    @cached_property
    def _cells(self) -> NDArray[np.int64] | slice:
        """Where the elements are in the table of all rows and tasks."""
        cells = self.rows * self.n_tasks + self.tasks
        whole = len(cells) == self.design.rows * self.n_tasks
        return slice(None) if whole and np.array_equal(cells, np.arange(len(cells))) else cells

    def _scores(self, parameters: Array) -> Array:
        """<x, W_t> of all rows and tasks, in float64 whatever X is."""
        if self.design.sparse:
            out = np.asarray(self.design.rows_of_csr @ parameters[:, :-1].T)
        else:
            out = np.empty((self.design.rows, self.n_tasks))
            for here in self.design.pieces():
                np.matmul(self.design.dense[here], parameters[:, :-1].T, out=out[here], dtype=np.float64)
        out += self.design.constant * parameters[:, -1]
        return out

    def _combined_rows(self, weights: Array) -> Array:
        """The sum over the elements of weight times x, for every task."""
        size, cells = self.design.rows * self.n_tasks, self._cells
        table = weights if isinstance(cells, slice) else np.bincount(cells, weights, minlength=size)
        table = table.reshape(-1, self.n_tasks)
        out = np.zeros(self.shape)
        if self.design.sparse:
            out[:, :-1] = (self.design.rows_of_csr.T @ table).T
        else:
            for here in self.design.pieces():
                out[:, :-1] += np.matmul(table[here].T, self.design.dense[here], dtype=np.float64)
        out[:, -1] = self.design.constant * table.sum(axis=0)
        return out

    def cuts(self, margins: Array, *, consume: bool = False) -> BatchCuts:
        """The cut of every bag at the given margins, which slopes may take the place of with `consume`."""
        check_time()
        return self.surrogate.cuts(margins, consume=consume)

    def risk_along(self, start: Array, way: Array, length: float, room: Array) -> tuple[float, float]:
        """R and a slope of it at the margins ``start + length way``; `room` is for arrays of their size.

        New arrays are pages that the system must clear, on workers of Dask every time.
        """
        np.multiply(way, length, out=room)
        room += start
        cuts = self.cuts(room, consume=True)
        np.multiply(self.element_costs, cuts.slopes, out=room)
        return float(self.costs @ cuts.values), -float(room @ way)

    def place(self, parameters: Array) -> KnownMargins:
        """A point whose margins are known, one pass over X."""
        return KnownMargins(self, parameters, self.margins(parameters))

    def line(self, start: KnownMargins, target: Array) -> Segment:
        """The way from a place to other parameters, one pass over X."""
        return Segment(start, self.place(target))

    def primal(self, parameters: Array, values: Array) -> float:
        """P(W) from the values B_i(m_i(W))."""
        return 0.5 * float(np.vdot(parameters, parameters)) + float(self.costs @ values)

    def objective(self, parameters: Array) -> float:
        """P(W), one pass over X."""
        return self.primal(parameters, self.cuts(self.margins(parameters)).values)

    def dual(self, parameters: Array, offsets: Array) -> float:
        """D(o, sigma) from W(sigma)."""
        return float(self.costs @ offsets) - 0.5 * float(np.vdot(parameters, parameters))

    def fingerprint(self) -> str:
        """A digest of everything the solution depends on."""
        design = self.design
        rows = (design.dense, design.data, design.indices, design.indptr)
        arrays = (*rows, *self.maps, self.costs, *self.surrogate.arrays)
        return digest_of(repr((self.shape, design.constant)), *arrays)


@dataclass(frozen=True, eq=False)
class KnownMargins:
    """A place of a problem in memory."""

    problem: Problem = field(repr=False)
    parameters: Array
    margins: Array = field(repr=False)

    @cached_property
    def cuts(self) -> BatchCuts:
        """The cut of every bag here."""
        return self.problem.cuts(self.margins)

    def risk(self) -> float:
        return float(self.problem.costs @ self.cuts.values)

    def cut(self) -> tuple[float, Array]:
        plane = self.problem.parameters(np.asarray(self.cuts.slopes)).ravel()
        return float(self.problem.costs @ self.cuts.offsets), plane


@dataclass(frozen=True, eq=False)
class Segment:
    """A line between two places of a problem in memory."""

    start: KnownMargins
    end: KnownMargins

    @cached_property
    def way(self) -> Array:
        """How the margins change."""
        return self.end.margins - self.start.margins

    @cached_property
    def _room(self) -> Array:
        return np.empty_like(self.way)

    def at(self, length: float) -> tuple[float, float]:
        return self.start.problem.risk_along(self.start.margins, self.way, length, self._room)

    def place(self, length: float) -> KnownMargins:
        if length in (0.0, 1.0):
            return self.end if length else self.start
        start, end = self.start.parameters, self.end.parameters
        margins = self.start.margins + length * self.way
        return KnownMargins(self.start.problem, start + length * (end - start), margins)


def digest_of(words: str, *arrays: NDArray[Any]) -> str:
    """A digest of words and of the contents, shapes and types of arrays."""
    digest = hashlib.sha256(words.encode())
    for array in arrays:
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
