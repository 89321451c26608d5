"""The arrays that the kernels of the solvers take: what they hold, in which order, and which are changed in place."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

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
    """The rows of X, dense or CSR, as products of matrices take them; `constant` is the value of one more feature.

    Examples
    --------
    >>> design = Design.of([[1.0, 0.0], [0.0, 2.0]], constant=1.0)
    >>> design.rows, design.features, design.squared_norms()
    (2, 2, array([2., 5.]))
    """

    matrix: Any
    constant: float

    @classmethod
    def of(cls, X: Any, constant: float = 0.0) -> Self:
        """Wrap X without copying it, but for Fortran order and types other than float32 and float64."""
        rows = csr_array(X) if issparse(X) else np.ascontiguousarray(X)
        return cls(rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64), float(constant))

    @property
    def sparse(self) -> bool:
        return bool(issparse(self.matrix))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def features(self) -> int:
        """The number of features, the constant one apart."""
        return int(self.matrix.shape[1])

    def squared_norms(self) -> Array:
        """|x|^2 of every row, the constant feature included."""
        if self.sparse:
            entries = np.repeat(np.arange(self.rows), np.diff(self.matrix.indptr))
            squares = np.bincount(entries, np.square(self.matrix.data, dtype=np.float64), minlength=self.rows)
        else:
            squares = np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64)
        return np.asarray(squares + self.constant**2)

    def some(self, rows: NDArray[np.int64]) -> Any:
        """Some rows of the matrix; no copy of a dense one where they are neighbours."""
        if np.all(np.diff(rows) == 1):
            return self.matrix if len(rows) == self.rows else self.matrix[rows[0] : rows[-1] + 1]
        return self.matrix[rows]

    @cached_property
    def arrays(self) -> DesignArrays:
        """The arguments of kernels."""
        none = np.empty(0, dtype=np.int64)
        if not self.sparse:
            return DesignArrays(self.matrix, np.empty(0, self.matrix.dtype), none, none, False, self.constant)
        data, *places = self.matrix.data, self.matrix.indices, self.matrix.indptr
        indices, indptr = (array.astype(np.int64, copy=False) for array in places)
        return DesignArrays(np.empty((0, 0), data.dtype), data, indices, indptr, True, self.constant)


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
    """The surrogates of all bags, `BatchSurrogate.arrays`, and workspace for the cut of any one."""

    starts: Any  # offsets of the bags
    partitions: Any  # group of every element
    which: Any  # kind of every bag
    records: Any  # plan of every kind
    sizes: Any  # sizes of the groups of every kind
    values: Any  # curves and tables of the plans
    workspace: Any  # for float64 margins


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
