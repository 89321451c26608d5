"""The arrays that the kernels of the solvers take: what they hold, in which order, and which are changed in place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from setloss.bags import Bags
from setloss.typing import Array


class DesignArrays(NamedTuple):
    """The rows of X for the kernels: dense, or CSR where `sparse`; the arrays of the other form are empty."""

    dense: NDArray[Any]
    data: NDArray[Any]
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]
    sparse: bool
    constant: float  # one more feature, the last one


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of X, dense or CSR, in the form the kernels read; `constant` is the value of one more feature.

    Examples
    --------
    >>> design = Design.of([[1.0, 0.0], [0.0, 2.0]], constant=1.0)
    >>> design.rows, design.features, design.squared_norms()
    (2, 2, array([2., 5.]))
    """

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

    def squared_norms(self) -> Array:
        """|x|^2 of every row, the constant feature included."""
        if self.sparse:
            entries = np.repeat(np.arange(self.rows), np.diff(self.indptr))
            found = np.bincount(entries, np.square(self.data, dtype=np.float64), minlength=self.rows)
        else:
            found = np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        return np.asarray(found + self.constant**2)

    @cached_property
    def matrix(self) -> Any:
        """X without the constant feature, as products of matrices take it."""
        if self.sparse:
            return csr_array((self.data, self.indices, self.indptr), shape=(self.rows, self.features))
        return self.dense

    def some(self, rows: NDArray[np.int64]) -> Any:
        """Some rows of the matrix; no copy of a dense one where they are neighbours."""
        if np.all(np.diff(rows) == 1):
            return self.matrix if len(rows) == self.rows else self.matrix[rows[0] : rows[-1] + 1]
        return self.matrix[rows]

    @property
    def arrays(self) -> DesignArrays:
        """The arguments of kernels."""
        return DesignArrays(self.dense, self.data, self.indices, self.indptr, self.sparse, float(self.constant))


class ElementMaps(NamedTuple):
    """Where the margins of elements come from."""

    rows: NDArray[np.int64]  # of every frame, or of every label set
    tasks: NDArray[np.int64]  # label of every element; empty where all label sets have all labels in their order
    signs: NDArray[np.int8]  # truth of every element


class Active(NamedTuple):
    """The elements that are visited.

    `places` has, from the first element of bag i on, the places in the bag of its `widths[i]` active elements, in
    ascending order. What follows these in the range of the bag means nothing. Where all elements of a bag are active,
    nothing is written there, and `every` has their places (`setloss.solvers.visits.active_places`).
    """

    places: NDArray[np.int32]
    widths: NDArray[np.int64]
    every: NDArray[np.int32]

    @classmethod
    def all(cls, bags: Bags) -> Active:
        """Every element of every bag."""
        every = np.arange(bags.sizes.max(initial=0), dtype=np.int32)
        return cls(np.empty(bags.elements, dtype=np.int32), bags.sizes.astype(np.int64), every)

    def copy(self) -> Active:
        return Active(self.places.copy(), self.widths.copy(), self.every)


class Combination(NamedTuple):
    """The dual point of `ActiveCuts` for the kernels, which change all arrays in place.

    The block ``atoms[starts[i] * capacity:]`` of bag i is a matrix of `capacity` rows, one per cut, with a column per
    active element, in the order of `Active.places`; slopes of all other elements are 0 in every cut of the bag.
    """

    hinge: bool  # B is a hinge per element: slopes and offsets are all there is
    slopes: Array  # of every element: the combination
    offsets: Array  # of every bag: the combination
    atoms: Array
    atom_offsets: Array  # bags x capacity
    weights: Array  # bags x capacity, 0 from the number of cuts on
    counts: NDArray[np.int64]  # the number of cuts of every bag


class Surrogates(NamedTuple):
    """`BatchSurrogate.kernel_data`: the surrogates of all bags."""

    starts: Any  # offsets of the bags
    partitions: Any  # group of every element
    which: Any  # kind of every bag
    records: Any  # plan of every kind
    sizes: Any  # sizes of the groups of every kind
    values: Any  # curves and tables of the plans
    workspace: Any  # for the cut of a bag


class Corral(NamedTuple):
    """The cuts of one bag, and workspace for what is computed from them. The kernels change all arrays in place."""

    slopes: Any  # a row per cut, a column per active element
    offsets: Any  # one per cut
    weights: Any  # one per cut
    products: Any  # of the slopes of every two cuts
    factor: Any  # of the products, see `_factorise`
    heights: Any  # of every cut at the margins ``m + mu (sigma - centre)``
    change: Any  # of the weights
    ones: Any  # for `_correct`


class VisitSpace(NamedTuple):
    """Workspace of a visit. Arrays with a number per active element have them in the order of `Active.places`."""

    margins: Any  # of the active elements
    centre: Any  # of the proximal point
    point: Any  # the combination of the cuts
    shifted: Any  # margins of the surrogate at the point
    slope: Any  # of the newest cut
    groups: Any  # of the active elements
    chosen: Any  # whether an element is in the worst set
    tasks: Any  # labels of the active elements
    scores: Any  # of all labels of a row, then their changes
    corral: Any  # what follows the weights in a `Corral`
