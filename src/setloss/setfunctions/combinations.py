"""Functions of counts made of simpler ones, `Linear` of the counts themselves and `Sum` of weighted functions; with
the algebra that keeps tables tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.setfunctions.counts import CountFunction, Split, Table
from setloss.typing import Array, Shape


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
        return Split(
            added(submodular, modular) if modular.terms else submodular,
            scaled(weight, inner.supermodular),
            inner.reason,
        )

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
