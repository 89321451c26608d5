"""Functions of counts: what a set function says once V is partitioned.

With V partitioned into groups ``V_1, ..., V_k`` of sizes ``n_1, ..., n_k``, a `CountFunction` is the ``c`` in

    l(A) = c(|A n V_1|, ..., |A n V_k|).

Its kinds differ in how they are stored, never in what they mean: `Table` (every cell), `AxisCurve` (one group
only), `Formula` (a callable), `Linear` (of the counts themselves), `Sum` (of weighted functions, with the algebra
that keeps tables tables); and, in `setloss.setfunctions.tversky`, the closed forms of the Dice family, which never
need a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from math import log10, prod
from typing import Any, NamedTuple

import numpy as np

from setloss.typing import Array, Shape

MAX_CELLS = 2**24
"""Largest table that is ever built (128 MiB); beyond it only closed forms work."""


def cells_in_words(cells: int) -> str:
    """A number of cells that may exceed any float."""
    return f"{cells:.3g}" if cells < 10**15 else f"about 10^{log10(cells):.0f}"


class TableTooLargeError(ValueError):
    """A table was needed that has more cells than `MAX_CELLS`."""


class Kind(IntEnum):
    """The form in which a function of counts is handed to kernels: a curve over one count, a table of cells, or the
    closed forms of `Linear` and of the Tversky family; `NONE` where there is no function.
    """

    NONE = 0
    CURVE = 1
    TABLE = 2
    LINEAR = 3
    TVERSKY = 4
    TVERSKY_SUBMODULAR = 5
    TVERSKY_SUPERMODULAR = 6


class Split(NamedTuple):
    """A decomposition known in closed form: ``c = submodular + supermodular``, and why it is D's."""

    submodular: CountFunction
    supermodular: CountFunction
    reason: str


class CountFunction(ABC):
    """c : {0..n_1} x ... x {0..n_k} -> R, with c(0, ..., 0) = 0."""

    sizes: Shape
    """The sizes of the groups. A closed form may have arrays or tensors here: the functions of many sets at once,
    which are asked for the numbers in their formula and for laws, not for values."""

    concave_in_last = False
    """Whether c is proved concave and increasing in the last count, whatever the other counts are."""

    laws: Mapping[str, Any] = {}
    """Properties proved on paper for this kind; the verdicts trust them where no table fits."""

    by_calls = False
    """Whether values come from a user's callable of sets only, so that no law can be checked."""

    @abstractmethod
    def __call__(self, *counts: Any) -> Array:
        """Value at the given counts, one array per group, broadcast together."""

    def step(self, axis: int, *counts: Any) -> Array:
        """``c(a + e_axis) - c(a)``; closed forms override this, since differencing loses digits."""
        upper = [np.asarray(count) + (axis == b) for b, count in enumerate(counts)]
        return self(*upper) - self(*counts)

    def border(self, axis: int) -> tuple[Array, Array]:
        """The n + 1 values and n steps along one axis, all other counts zero."""
        counts = np.arange(self.sizes[axis] + 1)
        at = [counts * (b == axis) for b in range(len(self.sizes))]
        return self(*at), self.step(axis, *(count[:-1] for count in at))

    @property
    def shape(self) -> Shape:
        return tuple(n + 1 for n in self.sizes)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def split(self) -> Split | None:
        """The decomposition D in closed form, where one is proved."""
        return None

    def closure(self) -> CountFunction | None:
        """The monotone closure ``min over a' >= a of c(a')`` without a table, where it is known."""
        return self if self.laws.get("increasing") else None

    def table(self) -> Array:
        """All cells at once."""
        return self.block(self.shape)

    def block(self, shape: Shape, base: Shape | None = None) -> Array:
        """The cells ``base <= a < base + shape``; without a base, those of the smallest counts."""
        if prod(shape) > MAX_CELLS:
            sizes = tuple(n - 1 for n in shape) if len(shape) <= 4 else f"of {len(shape)} groups"
            raise TableTooLargeError(
                f"a table over counts {sizes} has {cells_in_words(prod(shape))} cells, the limit is "
                f"{MAX_CELLS}. Use a loss with a closed form (Dice, Jaccard, Tversky with beta >= 1/2, "
                "cost curves), or fewer elements per set."
            )
        starts = base or (0,) * len(shape)
        grid = tuple(axis + start for axis, start in zip(np.indices(shape, sparse=True), starts, strict=True))
        return np.ascontiguousarray(np.broadcast_to(self(*grid), shape), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Table(CountFunction):
    """Every cell stored, and the laws that are proved of it."""

    values: Array
    laws: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @property
    def sizes(self) -> Shape:  # type: ignore[override]
        return tuple(n - 1 for n in self.values.shape)

    def __call__(self, *counts: Any) -> Array:
        return np.asarray(self.values[tuple(np.asarray(count) for count in counts)])

    def table(self) -> Array:
        return self.values


class CountCurve(CountFunction):
    """c(a) = values[a_axis]: depends on the count of one group only; `steps` are its exact increments."""

    axis: int
    values: Array
    steps: Array

    def __call__(self, *counts: Any) -> Array:
        return np.broadcast_to(self.values[counts[self.axis]], np.broadcast_shapes(*map(np.shape, counts)))

    def step(self, axis: int, *counts: Any) -> Array:
        shape = np.broadcast_shapes(*(np.shape(count) for count in counts))
        if axis != self.axis:
            return np.zeros(shape)
        return np.broadcast_to(self.steps[counts[axis]], shape)


@dataclass(frozen=True, eq=False)
class AxisCurve(CountCurve):
    """A curve whose values and steps are stored."""

    sizes: Shape
    axis: int
    values: Array
    steps: Array
    laws: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_steps(cls, sizes: Shape, axis: int, steps: Array) -> AxisCurve:
        """The curve that starts at 0 and climbs by `steps`."""
        return cls(sizes, axis, np.concatenate(([0.0], np.cumsum(steps))), steps)


@dataclass(frozen=True, eq=False)
class Formula(CountFunction):
    """A vectorised callable of the counts, and of numbers that stay."""

    sizes: Shape
    formula: Callable[..., Any]
    by_calls: bool = False
    fixed: tuple[Any, ...] = ()

    def __call__(self, *counts: Any) -> Array:
        return np.asarray(self.formula(*counts, *self.fixed), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Linear(CountFunction):
    """c(a) = unit sum_b costs[b] a_b, all of them >= 0: modular, nothing to decompose."""

    sizes: Shape
    costs: tuple[float, ...]
    unit: Any = 1.0
    concave_in_last = True

    @property
    def rates(self) -> tuple[Any, ...]:
        """The value of one more element of each group."""
        return tuple(self.unit * cost for cost in self.costs)

    @property
    def laws(self) -> Mapping[str, bool]:  # type: ignore[override]
        known = ("submodular", "supermodular", "modular", "increasing", "non-negative")
        return dict.fromkeys(known + ("symmetric",) * (len(set(self.costs)) == 1), True)

    def __call__(self, *counts: Any) -> Array:
        terms = (rate * np.asarray(count) for rate, count in zip(self.rates, counts, strict=True))
        return np.asarray(sum(terms), dtype=np.float64)

    def step(self, axis: int, *counts: Any) -> Array:
        return np.full(np.broadcast_shapes(*(np.shape(count) for count in counts)), self.rates[axis])

    def split(self) -> Split:
        return Split(self, Sum(self.sizes), "modular")


@dataclass(frozen=True, eq=False)
class Sum(CountFunction):
    """A linear combination ``sum_t weight_t c_t``; no terms at all is the zero function."""

    sizes: Shape
    terms: tuple[tuple[float, CountFunction], ...] = ()

    @property
    def by_calls(self) -> bool:  # type: ignore[override]
        return any(term.by_calls for _, term in self.terms)

    def __call__(self, *counts: Any) -> Array:
        shape = np.broadcast_shapes(*(np.shape(count) for count in counts))
        return sum((weight * term(*counts) for weight, term in self.terms), start=np.zeros(shape))

    def step(self, axis: int, *counts: Any) -> Array:
        shape = np.broadcast_shapes(*(np.shape(count) for count in counts))
        return sum((weight * term.step(axis, *counts) for weight, term in self.terms), start=np.zeros(shape))

    @property
    def laws(self) -> Mapping[str, bool]:  # type: ignore[override]
        """A law is inherited if it holds for every term of positive weight and mirrored for the others."""
        return {
            law: True
            for law in _MIRRORED
            if all(term.laws.get(law if weight >= 0 else _MIRRORED[law]) for weight, term in self.terms)
        }

    def split(self) -> Split | None:
        if self.laws.get("submodular"):
            return Split(self, Sum(self.sizes), "submodular term by term")
        curved = [pair for pair in self.terms if not pair[1].laws.get("modular")]
        if len(curved) != 1 or curved[0][0] <= 0:
            return None
        weight, term = curved[0]
        inner = term.split()
        if inner is None:
            return None
        # A modular term goes to f as it is: second differences do not see it.
        modular = Sum(self.sizes, tuple(pair for pair in self.terms if pair is not curved[0]))
        submodular = scaled(weight, inner.submodular)
        submodular = added(submodular, modular) if modular.terms else submodular
        return Split(submodular, scaled(weight, inner.supermodular), inner.reason)

    def closure(self) -> CountFunction | None:
        weight, term = unscaled(self)
        inner = term.closure() if term is not self else super().closure()
        return inner and scaled(weight, inner)


_MIRRORED = {
    "submodular": "supermodular",
    "supermodular": "submodular",
    "modular": "modular",
    "symmetric": "symmetric",
    "increasing": "decreasing",
    "non-negative": "non-positive",
}


def scaled(factor: float, function: CountFunction) -> CountFunction:
    """``factor * function``, as a table where it is one."""
    if factor == 0:
        return Sum(function.sizes)
    if isinstance(function, Table):
        return Table(factor * function.values)
    if isinstance(function, Sum):
        return Sum(function.sizes, tuple((factor * weight, term) for weight, term in function.terms))
    return Sum(function.sizes, ((factor, function),))


def unscaled(function: CountFunction) -> tuple[float, CountFunction]:
    """``(w, c)`` with ``function = w c``: a single term is taken out of its sum."""
    if isinstance(function, Sum) and len(function.terms) == 1 and function.terms[0][0] > 0:
        return function.terms[0]
    return 1.0, function


def added(left: CountFunction, right: CountFunction) -> CountFunction:
    """``left + right``, as a table where both are tables."""
    if isinstance(left, Table) and isinstance(right, Table):
        return Table(left.values + right.values)
    terms = [t for side in (left, right) for t in (side.terms if isinstance(side, Sum) else ((1.0, side),))]
    return Sum(left.sizes, tuple(terms))
