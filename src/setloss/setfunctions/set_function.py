"""Set functions l : P(V) -> R with l(empty) = 0, V = {0, ..., p - 1} (the paper's Definitions 1 and 2).

A `SetFunction` is a function of counts together with the group that each element of V belongs to. One group
is the paper's symmetric case, two groups (the positives and the negatives of a label vector) cover every loss
of false negatives and false positives, and p groups of one element are the general case. Groups of elements are the
`partition` of one set; what estimators and losses take as ``groups=`` names the bags, the sets themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import is_whole_number, refuse_masked
from setloss.setfunctions.counts import MAX_CELLS, CountFunction, Formula, Table, added, scaled
from setloss.setfunctions.differences import RELATIVE_TOLERANCE
from setloss.typing import Array, Shape

MAX_CALLABLE_ELEMENTS = 16
"""Largest p for which a callable is evaluated on all 2^p subsets."""


@dataclass(frozen=True, eq=False)
class SetFunction:
    """l(A) = counts(|A n V_1|, ..., |A n V_k|), with ``partition[i]`` the group V_b of element i.

    Use one of the constructors, `symmetric`, `from_table`, `from_values`, `from_callable`, `oracle`, or ask a loss
    for the set function of a label vector.

    Examples
    --------
    >>> l = SetFunction.from_table([[0.0, 0.5], [1.0, 2.0]])  # one false negative, one false positive
    >>> l({0}), l([True, True])
    (1.0, 2.0)
    >>> SetFunction.from_callable(lambda A: float(len(A) > 1), 3)({0, 2})
    1.0
    """

    counts: CountFunction
    partition: NDArray[np.intp]

    def __post_init__(self) -> None:
        partition = np.array(self.partition, dtype=np.intp)
        if partition.size == 0:
            raise ValueError("a set function needs at least one element; leave empty sets out")
        sizes = np.bincount(partition, minlength=len(self.counts.sizes))
        if partition.ndim != 1 or tuple(sizes) != self.counts.sizes:
            raise ValueError(
                f"the groups have sizes {tuple(int(s) for s in sizes)}, the table over counts expects "
                f"{self.counts.sizes}: axis b of the table must have length |V_b| + 1"
            )
        if isinstance(self.counts, Table) and not np.all(np.isfinite(self.counts.values)):
            raise ValueError("the values of a set function must be finite; scaling or adding has overflowed")
        at_empty = float(self.counts(*[np.intp(0)] * len(self.counts.sizes)))
        if at_empty != 0:
            raise ValueError(
                f"l(empty) must be 0, this function has l(empty) = {at_empty:g}. "
                "Subtract the constant: a set without mistakes costs nothing."
            )
        partition.flags.writeable = False
        object.__setattr__(self, "partition", partition)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def symmetric(cls, curve: ArrayLike) -> SetFunction:
        """l(A) = curve[|A|], from the p + 1 values of the curve."""
        return cls.from_table(_real_array(curve, "the curve", ndim=1))

    @classmethod
    def from_table(cls, table: ArrayLike, partition: ArrayLike | None = None) -> SetFunction:
        """From a table over counts; axis b has length |V_b| + 1.

        Without a partition, the axis of every element, those of the first axis come first, then those of the second.
        """
        values = _real_array(table, "the table")
        if values.ndim == 0:
            raise ValueError("the table needs at least one axis; got a single number")
        if partition is None:
            partition = np.repeat(np.arange(values.ndim), [n - 1 for n in values.shape])
        return cls(Table(values), _partition_array(partition))

    @classmethod
    def from_values(cls, values: ArrayLike) -> SetFunction:
        """From all 2^p values: an array of shape ``(2,) * p``, or that array flattened in C order.

        In the flat form A has index ``sum(2**(p - 1 - i) for i in A)``: element 0 is the leading bit.
        """
        array = _real_array(values, "the values")
        p = int(array.size).bit_length() - 1
        if array.size != 2**p or array.shape not in ((2**p,), (2,) * p):
            raise ValueError(
                f"a general set function needs 2^p values, flat or of shape (2,) * p; got shape {array.shape}"
            )
        return cls.from_table(array.reshape((2,) * p), np.arange(p))

    @classmethod
    def from_callable(cls, function: Callable[[frozenset[int]], Any], p: int) -> SetFunction:
        """Tabulate a callable, of a frozenset of elements, on all 2^p subsets, p <= 16."""
        if not is_whole_number(p, 1, MAX_CALLABLE_ELEMENTS):
            raise ValueError(
                f"from_callable evaluates all 2^p subsets and takes 1 <= p <= {MAX_CALLABLE_ELEMENTS}; got "
                f"p = {p}. Describe the function by counts (from_table), or use SetFunction.oracle and name "
                "a heuristic for its maximisation."
            )
        return cls.from_values(cls.oracle(function, p).table)

    @classmethod
    def oracle(cls, function: Callable[[frozenset[int]], Any], p: int) -> SetFunction:
        """A function known only through calls with frozensets, at any p: nothing is tabulated.

        `along` works; verdicts, D and exact maximisation need a table and say so beyond their limits.
        """
        return cls(Formula((1,) * p, partial(_called, function), by_calls=True), np.arange(p))

    # ---------------------------------------------------------------- values

    @property
    def p(self) -> int:
        """|V|, the number of elements."""
        return len(self.partition)

    @property
    def sizes(self) -> Shape:
        """The number of elements of each group."""
        return self.counts.sizes

    @cached_property
    def table(self) -> Array:
        """The values of all cells, one axis per group."""
        return self.counts.table()

    def __call__(self, members: ArrayLike | AbstractSet[int]) -> Any:
        """l(A) of a mask of p booleans or of 0 and 1, or of each row of masks ``(n, p)``; or of a Python set A.

        ``l({0, 2})`` and ``l([1, 0, 1, 0])`` are l of the elements 0 and 2 of four.
        """
        if isinstance(members, AbstractSet) and members <= set(range(self.p)):
            members = np.isin(np.arange(self.p), list(members))
        masks = np.asarray(members)
        is_mask = masks.dtype == bool or bool(np.all((masks == 0) | (masks == 1)))
        if not is_mask or masks.ndim not in (1, 2) or masks.shape[-1] != self.p:
            raise ValueError(
                f"a set is a mask of shape ({self.p},) or (n, {self.p}), of booleans or of 0 and 1, or a Python set "
                f"of elements from 0 to {self.p - 1}; got {masks.dtype} of shape {masks.shape}"
            )
        member = self.partition == np.arange(len(self.sizes))[:, None]
        values = self.counts(*(masks.astype(bool) @ member.T.astype(np.intp)).T)
        return float(values) if masks.ndim == 1 else values

    def at(self, *counts: Any) -> Any:
        """The value for ``counts[b]`` elements in group b, broadcast over arrays."""
        if len(counts) != len(self.sizes):
            raise ValueError(f"expected {len(self.sizes)} counts, one per group; got {len(counts)}")
        for b, (count, size) in enumerate(zip(counts, self.sizes, strict=True)):
            whole = np.issubdtype(np.asarray(count).dtype, np.integer)
            if not whole or np.any(np.asarray(count) < 0) or np.any(np.asarray(count) > size):
                raise ValueError(f"a count of group {b} must be an integer between 0 and {size}")
        return self.counts(*counts)

    def along(self, order: ArrayLike) -> Array:
        """Values on the chain of prefixes of `order`: l(empty), l({pi_1}), ..., l(V), p + 1 numbers."""
        return self.counts(*self._prefix_counts(_permutation(order, self.p)))

    def gains(self, order: ArrayLike) -> Array:
        """Increments along the chain of `along`, exact to the last digits where a closed form is known."""
        permutation = _permutation(order, self.p)
        prefixes = [count[:-1] for count in self._prefix_counts(permutation)]
        gains = np.empty(self.p)
        for b in range(len(self.sizes)):
            here = self.partition[permutation] == b
            gains[here] = self.counts.step(b, *(count[here] for count in prefixes))
        return gains

    def _prefix_counts(self, permutation: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        ordered = self.partition[permutation]
        return [np.concatenate(([0], np.cumsum(ordered == b))) for b in range(len(self.sizes))]

    # ---------------------------------------------------------------- algebra

    def refine(self, partition: ArrayLike) -> SetFunction:
        """The same function, tabulated on a finer partition; ``np.arange(p)`` gives the general table."""
        fine = _partition_array(partition)
        if fine.shape != self.partition.shape:
            raise ValueError(f"expected one group per element, {self.p}; got shape {fine.shape}")
        sizes = np.bincount(fine)
        coarse = np.zeros(len(sizes), dtype=np.intp)
        coarse[fine] = self.partition
        if np.any(coarse[fine] != self.partition):
            i = int(np.flatnonzero(coarse[fine] != self.partition)[0])
            raise ValueError(
                f"group {fine[i]} is not finer: it holds element {i} together with elements "
                "that belong to another group of this function"
            )
        members = [np.flatnonzero(coarse == b) for b in range(len(self.sizes))]

        def read_coarsely(*counts: Any) -> Array:
            return self.counts(*(sum((counts[b] for b in inside), start=np.intp(0)) for inside in members))

        return SetFunction(Table(Formula(tuple(sizes.tolist()), read_coarsely).table()), fine)

    def aligned(self, other: SetFunction) -> tuple[SetFunction, SetFunction]:
        """Describe both functions on their common refinement."""
        if self.p != other.p:
            raise ValueError(f"set functions over {self.p} and {other.p} elements cannot be combined")
        if np.array_equal(self.partition, other.partition) and self.sizes == other.sizes:
            return self, other
        common = np.unique(self.partition * len(other.sizes) + other.partition, return_inverse=True)[1]
        return self.refine(common), other.refine(common)

    def __add__(self, other: SetFunction) -> SetFunction:
        if not isinstance(other, SetFunction):
            return NotImplemented
        left, right = self.aligned(other)
        return SetFunction(added(left.counts, right.counts), left.partition)

    def __mul__(self, factor: float | Real) -> SetFunction:
        if not isinstance(factor, Real):
            return NotImplemented
        if not np.isfinite(float(factor)):
            raise ValueError(f"a set function can be scaled by a finite number only; got {factor}")
        return SetFunction(scaled(float(factor), self.counts), self.partition)

    __rmul__ = __mul__

    def __neg__(self) -> SetFunction:
        return self * -1.0

    def __sub__(self, other: SetFunction) -> SetFunction:
        return self + -other

    def allclose(self, other: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> bool:
        """Whether the two functions agree on every set, up to `rtol` times the largest value of either."""
        if self.p != other.p:
            return False
        left, right = self.aligned(other)
        largest = np.max(np.abs([left.table, right.table]))
        return bool(np.all(np.abs(left.table - right.table) <= rtol * largest))

    def __eq__(self, other: object) -> bool:
        return self.allclose(other) if isinstance(other, SetFunction) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kind = {1: "symmetric", 2: f"two groups {self.sizes}"}.get(len(self.sizes))
        if kind is None or self.p == 1:
            kind = "general" if max(self.sizes) <= 1 else f"groups {self.sizes}"
        values = f"{type(self.counts).__name__}, no table"
        if self.counts.cells <= MAX_CELLS and not self.counts.by_calls:
            values = np.array2string(self.table.ravel(), precision=4, threshold=8, edgeitems=4)
        return f"SetFunction(p={self.p}, {kind}: {' '.join(values.split())})"


def _called(function: Callable[[frozenset[int]], Any], *counts: Any) -> Array:
    """The values of a user's callable, where every element is a group of its own and its count is 0 or 1."""
    columns = np.broadcast_arrays(*counts)
    masks = np.stack([column.ravel() for column in columns], axis=-1)
    values = [function(frozenset(np.flatnonzero(mask).tolist())) for mask in masks]
    return _real_array(values, "the function's values").reshape(columns[0].shape)


def _real_array(values: ArrayLike, name: str, ndim: int | None = None) -> Array:
    refuse_masked(values, name)
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers")
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from None
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axis; got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty; the value of the empty set, 0, comes first")
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite; entry {where} is {array[where]}")
    return array


def _partition_array(partition: ArrayLike) -> NDArray[np.intp]:
    array = np.asarray(partition)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or np.any((array < 0) | (array > MAX_CELLS)):
        raise ValueError(
            "a partition is a 1-D array of non-negative integers, the group of every element, without large gaps"
        )
    return array.astype(np.intp)


def _permutation(order: ArrayLike, p: int) -> NDArray[np.intp]:
    array = np.asarray(order)
    valid = array.shape == (p,) and np.issubdtype(array.dtype, np.integer)
    if not valid or array.min() < 0 or array.max() >= p or np.bincount(array, minlength=p).max() > 1:
        raise ValueError(f"the order must be a permutation of 0..{p - 1}")
    return array.astype(np.intp)


def elements_of(function: SetFunction, counts: Sequence[int]) -> tuple[int, ...]:
    """One set with the given counts: the first elements of each group."""
    members = [np.flatnonzero(function.partition == b)[:count] for b, count in enumerate(counts)]
    return tuple(sorted(int(i) for part in members for i in part))
