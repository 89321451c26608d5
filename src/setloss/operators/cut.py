"""The one primitive: a cut, and the surrogates that answer with one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.losses.families import Family
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array

MAX_MARGIN = 1e300
"""Larger margins are refused: their sums are no longer finite."""


@dataclass(frozen=True, eq=False)
class Cut:
    """An affine minorant of a surrogate: ``B(m') >= offset - <slope, m'>`` for every margin vector m'.

    Equality holds at the m it was asked for if `exact`; a cut of a heuristic is a minorant all the same.

    Examples
    --------
    >>> from setloss.operators import Hinge
    >>> cut = Hinge(2).cut([0.5, 2.0])
    >>> cut.offset, cut.slope, cut([0.5, 2.0])
    (1.0, array([1., 0.]), 0.5)
    """

    offset: float
    slope: Array
    exact: bool = True

    def __call__(self, margins: ArrayLike) -> float:
        """``offset - <slope, margins>``."""
        return float(self.offset - self.slope @ np.asarray(margins, dtype=np.float64))

    def __add__(self, other: Cut) -> Cut:
        if not isinstance(other, Cut):
            return NotImplemented
        return Cut(self.offset + other.offset, self.slope + other.slope, self.exact and other.exact)

    def __mul__(self, factor: float) -> Cut:
        if not _is_weight(factor):
            raise ValueError(f"a minorant can be scaled by a number >= 0 only; got {factor!r}")
        return Cut(factor * self.offset, factor * self.slope, self.exact)

    __rmul__ = __mul__


def _is_weight(factor: object) -> bool:
    return isinstance(factor, Real) and 0 <= float(factor) < np.inf


class OrderedMargins:
    """A margin vector and its ascending order, sorted once however many operators ask for it."""

    def __init__(self, margins: ArrayLike, p: int) -> None:
        self.margins: Array = np.asarray(margins, dtype=np.float64)
        if self.margins.shape != (p,):
            raise ValueError(f"expected a margin for each of {p} elements; got shape {self.margins.shape}")
        within = np.abs(self.margins) <= MAX_MARGIN
        if not np.all(within):
            i = int(np.argmin(within))
            raise ValueError(f"margins must be finite; element {i} has margin {self.margins[i]}")

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Elements by ascending margin: the worst mistakes first."""
        return np.argsort(self.margins)


class Surrogate(ABC):
    """A convex function B of the margins that stands in for a set function of mistakes.

    Examples
    --------
    >>> from setloss import Jaccard
    >>> from setloss.operators import Hinge, LovaszHinge
    >>> mixed = 0.5 * LovaszHinge(Jaccard().set_function([1, 1, 0])) + 0.5 * Hinge(3)
    >>> mixed([1.0, 1.0, 0.0])  # 0.5 / 3 for the false positive, and half a hinge
    0.6666666666666666
    """

    p: int
    of_family = False
    """Whether this is the surrogate of all sets of a family, which has cuts for one set at a time only."""

    @abstractmethod
    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        """The cut at margins whose order may be shared with other operators."""

    def on_counts(self, positives: int, negatives: int) -> Surrogate:
        """Pick the surrogate of a set whose positives come first from that of all sets."""
        return self._of_one(lambda family: family.on_counts(positives, negatives))

    def on_labels(self, y_true: ArrayLike) -> Surrogate:
        """Pick the surrogate of the set with these labels from that of all sets."""
        return self._of_one(lambda family: family.set_function(y_true))

    def _of_one(self, pick: Callable[[Family], SetFunction]) -> Surrogate:
        """The surrogate of the one set that is picked from each family in this one."""
        raise TypeError(f"this {type(self).__name__} is the surrogate of one set, not of a family of them")

    def cut(self, margins: ArrayLike) -> Cut:
        """The affine minorant that touches B at `margins`."""
        return self.cut_ordered(OrderedMargins(margins, self.p))

    def __call__(self, margins: ArrayLike) -> float:
        """B(margins)."""
        return self.cut(margins)(margins)

    def __add__(self, other: Surrogate) -> Surrogate:
        if not isinstance(other, Surrogate):
            return NotImplemented
        return SurrogateSum(((1.0, self), (1.0, other)))

    def __mul__(self, factor: float) -> Surrogate:
        if not _is_weight(factor):
            raise ValueError(f"a convex surrogate can be scaled by a number >= 0 only; got {factor!r}")
        return SurrogateSum(((float(factor), self),))

    __rmul__ = __mul__


@dataclass(frozen=True)
class SurrogateSum(Surrogate):
    """``sum_t weight_t B_t``; its cut is the sum of their cuts, from one sort."""

    terms: tuple[tuple[float, Surrogate], ...]

    def __post_init__(self) -> None:
        sizes = dict.fromkeys(term.p for _, term in self.terms if not term.of_family)
        if len(sizes) > 1 or (sizes and self.of_family):
            over = " and ".join(map(str, sizes)) + " elements" + " and over all sets" * self.of_family
            raise ValueError(f"surrogates over {over} cannot be added")

    @property
    def of_family(self) -> bool:  # type: ignore[override]
        return any(term.of_family for _, term in self.terms)

    @property
    def p(self) -> int:  # type: ignore[override]
        return self.terms[0][1].p

    def _of_one(self, pick: Callable[[Family], SetFunction]) -> Surrogate:
        return SurrogateSum(tuple((weight, term._of_one(pick)) for weight, term in self.terms))

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        zero = Cut(0.0, np.zeros(self.p))
        return sum((weight * term.cut_ordered(ordered) for weight, term in self.terms), start=zero)


@dataclass(frozen=True)
class FunctionSurrogate(Surrogate):
    """A surrogate made of one set function, or of a family of them for all sets."""

    function: SetFunction | Family

    @property
    def of_family(self) -> bool:  # type: ignore[override]
        return isinstance(self.function, Family)

    @property
    def one(self) -> SetFunction:
        """The set function of the one set."""
        if isinstance(self.function, Family):
            raise TypeError(
                f"this {type(self).__name__} is of a family, {type(self.function).__name__}; ask it for one set, "
                "by .on_counts(positives, negatives) or .on_labels(y)"
            )
        return self.function

    @property
    def p(self) -> int:  # type: ignore[override]
        return self.one.p

    def _of_one(self, pick: Callable[[Family], SetFunction]) -> Surrogate:
        if not isinstance(self.function, Family):
            return super()._of_one(pick)
        return replace(self, function=pick(self.function))
