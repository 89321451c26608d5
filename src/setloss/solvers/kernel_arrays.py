"""The arrays that the kernels of the solvers take: what they hold, in which order, and which are changed in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class ElementMaps(NamedTuple):
    """Where the margins of elements come from."""

    rows: NDArray[np.int64]  # of every frame, or of every label set
    tasks: NDArray[np.int64]  # label of every element; empty where all label sets have all labels in their order
    signs: NDArray[np.int8]  # truth of every element


class Active(NamedTuple):
    """The elements that are visited.

    `places` has, from the first element of bag i on, the places in the bag of its `widths[i]` active elements, in
    ascending order. What follows these in the range of the bag means nothing.
    """

    places: NDArray[np.int32]
    widths: NDArray[np.int64]

    @classmethod
    def all(cls, bags: Bags) -> Active:
        """Every element of every bag."""
        places = np.arange(bags.elements, dtype=np.int32)
        places -= np.repeat(bags.offsets[:-1].astype(np.int32), bags.sizes)
        return cls(places, bags.sizes.astype(np.int64))

    def copy(self) -> Active:
        return Active(self.places.copy(), self.widths.copy())


class Combination(NamedTuple):
    """The dual point of `ActiveCuts` for the kernels, which change all arrays in place.

    The block ``atoms[starts[i] * capacity:]`` of bag i is a matrix of `capacity` rows, one per cut, with a column per
    active element, in the order of `Active.places`; slopes of all other elements are 0 in every cut of the bag.
    """

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
    """The cuts of one bag, and what is computed from them. The kernels change all arrays in place."""

    slopes: Any  # a row per cut, a column per active element
    offsets: Any  # one per cut
    weights: Any  # one per cut
    products: Any  # of the slopes of every two cuts
    heights: Any  # of every cut at the margins ``m + mu (sigma - centre)``


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
    products: Any  # of the `Corral`
    heights: Any  # of the `Corral`


def visit_space(widest: int, tasks: int, capacity: int) -> VisitSpace:
    """The workspace for bags of up to `widest` elements and `capacity` cuts."""
    margins, centre, point, shifted, slope = np.empty((5, widest))
    chosen, groups, labels = (np.empty(widest, dtype=dtype) for dtype in (np.bool_, np.int16, np.int64))
    own = np.empty(tasks), np.empty((capacity, capacity)), np.empty(capacity)
    return VisitSpace(margins, centre, point, shifted, slope, groups, chosen, labels, *own)
