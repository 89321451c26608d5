"""Ragged data: elements (frames, labels, pixels) gathered in bags, stored flat with offsets."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import is_missing, refuse_masked

ONE_KIND = "groups must be names of one kind, all numbers or all strings"


@dataclass(frozen=True, eq=False)
class Bags:
    """Bag ``i`` holds the elements ``order[offsets[i]:offsets[i + 1]]`` of the flat arrays.

    `order` is None where the bags already lie one after the other.

    Examples
    --------
    >>> bags = Bags.from_groups(["b", "a", "b"])
    >>> len(bags), bags.sizes, bags.gather(np.array([1, 2, 3]))
    (2, array([1, 2]), array([2, 1, 3]))
    """

    offsets: NDArray[np.intp]
    order: NDArray[np.intp] | None = None
    ids: NDArray[Any] | None = None

    @classmethod
    def from_offsets(cls, offsets: ArrayLike) -> Self:
        """Bags one after the other, bag i from ``offsets[i]`` up to ``offsets[i + 1]``."""
        array = np.asarray(offsets)
        if array.ndim != 1 or array.size < 1 or not np.issubdtype(array.dtype, np.integer) or array[0] != 0:
            raise ValueError("offsets must be a 1-D array of integers that starts with 0")
        empty = np.flatnonzero(np.diff(array) <= 0)
        if empty.size:
            raise ValueError(f"offsets must increase; bag {empty[0]} is empty. Leave empty bags out.")
        return cls(array.astype(np.intp))

    @classmethod
    def from_groups(cls, groups: ArrayLike) -> Self:
        """One bag per distinct id; bags are in sorted order of their ids, elements keep their order."""
        array = group_array(groups)
        try:
            ids, inverse, sizes = np.unique(array, return_inverse=True, return_counts=True)
        except TypeError:
            raise ValueError(ONE_KIND) from None
        order = np.argsort(inverse, kind="stable")
        contiguous = bool(np.all(order == np.arange(len(order))))
        return cls(np.concatenate(([0], np.cumsum(sizes))), None if contiguous else order, ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """The number of elements of each bag."""
        return np.diff(self.offsets)

    @cached_property
    def by_size(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """For every size p that occurs: the bags of that size, and the places (bags, p) of their elements."""
        places_by_size = []
        for p in np.unique(self.sizes):
            some = np.flatnonzero(self.sizes == p)
            places = self.offsets[some][:, None] + np.arange(p)
            places_by_size.append((some, places if self.order is None else self.order[places]))
        return tuple(places_by_size)

    @property
    def elements(self) -> int:
        """The number of elements of all bags together."""
        return int(self.offsets[-1])

    def gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """A flat array, rearranged so that the bags lie one after the other."""
        if len(values) != self.elements:
            raise ValueError(f"the bags hold {self.elements} elements, the array has {len(values)}")
        return values if self.order is None else values[self.order]

    def scatter(self, gathered: NDArray[Any]) -> NDArray[Any]:
        """The reverse of `gather`: a gathered array in the order of the flat ones."""
        if self.order is None:
            return gathered
        values = np.empty_like(gathered)
        values[self.order] = gathered
        return values

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over each bag of a gathered array."""
        if len(self) == 0:
            return np.zeros(0, dtype=values.dtype)
        return np.add.reduceat(values, self.offsets[:-1])

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The mean over each bag of a flat array."""
        return self.totals(self.gather(values).astype(np.float64)) / self.sizes


def group_array(groups: Any) -> NDArray[Any]:
    """Names of bags as a 1-D array, or a sentence that says what is wrong with them."""
    refuse_masked(groups, "groups")
    names = np.asarray(groups)
    if names.ndim != 1:
        raise ValueError(f"groups must be a 1-D array, one bag id per element; got shape {names.shape}")
    missing = [is_missing(name) for name in names.tolist()] if names.dtype == object else np.not_equal(names, names)
    if np.any(missing):
        raise ValueError(f"groups must name a bag for every element; that of element {np.argmax(missing)} is missing")
    # NumPy makes strings of a list of numbers and strings, so that 1 and "1" become the same bag.
    mixed = names.dtype.kind in "US" and isinstance(groups, list | tuple)
    if names.dtype.kind == "c" or (mixed and not all(isinstance(name, str | bytes) for name in groups)):
        raise ValueError(ONE_KIND)
    return names
