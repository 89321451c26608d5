"""The arrays that the kernels of the solvers take: what they hold, in which order, and which are changed in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.typing import Array


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
    """The dual point of `setloss.solvers.dual_points.ActiveCuts` for the kernels, which change all arrays in place.

    The block ``atoms[starts[i] * capacity:]`` of bag i is a matrix of `capacity` rows, one per cut, with a column per
    active element, in the order of `Active.places`; slopes of all other elements are 0 in every cut of the bag.
    """

    slopes: Array  # of every element: the combination
    offsets: Array  # of every bag: the combination
    atoms: Array
    atom_offsets: Array  # bags x capacity
    weights: Array  # bags x capacity, 0 from the number of cuts on
    counts: NDArray[np.int64]  # the number of cuts of every bag


class Bounded(NamedTuple):
    """The dual point of `BoundedSlopes` for the kernels, which change both arrays in place."""

    slopes: Array  # of every element
    offsets: Array  # of every bag


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
    products: Any  # ``<a_k, a_l> + unit``
    factor: Any  # their Cholesky factor
    targets: Any  # workspace, one number per cut
    ones: Any  # workspace, one number per cut


class VisitSpace(NamedTuple):
    """Workspace of a visit. Arrays with a number per active element have them in the order of `Active.places`."""

    margins: Any  # of the active elements
    centre: Any  # of the proximal point
    point: Any  # the combination of the cuts
    shifted: Any  # margins of the surrogate at the point
    pull: Any  # mu centre - margins
    slope: Any  # of the newest cut
    changes: Any  # of the parameters, a number per changed element
    groups: Any  # of the active elements
    chosen: Any  # whether an element is in the worst set
    tasks: Any  # labels of some elements
    scores: Any  # of all labels of a row
    products: Any  # of the `Corral`, as the next three
    factor: Any
    targets: Any
    ones: Any


def visit_space(widest: int, tasks: int, capacity: int) -> VisitSpace:
    """The workspace for bags of up to `widest` elements and `capacity` cuts."""
    numbers, products, shares = np.empty((7, widest)), np.empty((2, capacity, capacity)), np.empty((2, capacity))
    margins, centre, point, shifted, pull, slope, changes = numbers
    return VisitSpace(
        margins=margins,
        centre=centre,
        point=point,
        shifted=shifted,
        pull=pull,
        slope=slope,
        changes=changes,
        groups=np.empty(widest, dtype=np.int16),
        chosen=np.empty(widest, dtype=np.bool_),
        tasks=np.empty(widest, dtype=np.int64),
        scores=np.empty(tasks),
        products=products[0],
        factor=products[1],
        targets=shares[0],
        ones=shares[1],
    )
