"""The Lovász hinge of a submodular function (Definition 8)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from setloss.losses import Family, Hamming
from setloss.operators.cut import Cut, FunctionSurrogate, OrderedMargins
from setloss.setfunctions.counts import CountFunction
from setloss.setfunctions.properties import is_increasing, is_submodular, monotone_closure
from setloss.setfunctions.set_function import SetFunction

PositivePart = Literal["elementwise", "outer"]


@dataclass(frozen=True)
class LovaszHinge(FunctionSurrogate):
    """L f(m) = max over permutations of sum_j s_{pi_j} (f({pi_1..pi_j}) - f({pi_1..pi_{j-1}})),  s = 1 - m.

    The maximum is at pi by descending s. Where the positive part goes depends on f:

    * f increasing: each s_j is replaced by max(0, s_j). Convex, and an upper bound of f at the prediction.
    * f not increasing: only the outer positive part of the sum, as printed, keeps it convex. It is then *not*
      an upper bound: it can be 0 while the prediction is wrong. `LovaszHinge.of_closure` repairs that.

    `positive_part` forces one of the two, "elementwise" or "outer".

    Examples
    --------
    >>> from setloss import Jaccard
    >>> LovaszHinge(Jaccard().set_function([1, 0]))([2.0, 0.5])  # one false positive would cost 0.5
    0.25
    """

    positive_part: PositivePart | None = None

    def __post_init__(self) -> None:
        if self.positive_part not in (None, "elementwise", "outer"):
            raise ValueError(f'positive_part is "elementwise", "outer" or None; got {self.positive_part!r}')
        if self.of_family:
            return
        if self.one.counts.by_calls:
            if self.positive_part is not None:
                return
            raise ValueError(
                "whether a function known only through calls is submodular and increasing cannot be checked; "
                'vouch for it with positive_part="elementwise" (submodular, increasing) or "outer" (submodular)'
            )
        if not (submodular := is_submodular(self.one)):
            raise ValueError(
                f"LovaszHinge needs a submodular function; this one is not: {submodular.witness}. "
                "Use decompose() or B_D."
            )
        if self.positive_part == "elementwise" and not (increasing := is_increasing(self.one)):
            raise ValueError(
                "the element-wise positive part is convex only for an increasing function; this one is not: "
                f"{increasing.witness}. Use positive_part='outer' or LovaszHinge.of_closure."
            )

    @classmethod
    def of_closure(cls, function: SetFunction | Family) -> Self:
        """The Lovász hinge of the monotone closure f_up(A) = min over B containing A of f(B)."""
        if isinstance(function, Family):
            return cls(ClosedFamily(function))
        return cls(monotone_closure(function))

    @cached_property
    def elementwise(self) -> bool:
        """Whether the positive part is taken element by element."""
        return self.positive_part == "elementwise" or (self.positive_part is None and bool(is_increasing(self.one)))

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        slope = np.zeros(self.p)
        slope[ordered.order] = self.one.gains(ordered.order)
        slack = 1 - ordered.margins
        if self.elementwise:
            slope[slack <= 0] = 0.0
        elif not slope @ slack > 0:
            slope[:] = 0.0
        return Cut(float(slope.sum()), slope)


def Hinge(p: int, *, normalize: bool = False) -> LovaszHinge:
    """sum_i max(0, 1 - m_i), divided by p if normalised: L of the Hamming loss, "0-1" in the paper's tables.

    Examples
    --------
    >>> Hinge(3)([0.5, 2.0, -1.0])
    2.5
    """
    return LovaszHinge(Hamming(normalize=normalize).on_counts(p, 0))


def hinge_like(function: SetFunction | Family) -> LovaszHinge:
    """`Hinge` over the elements of a set function, or of all sets of a family, whatever the values."""
    return Hinge(function.p) if isinstance(function, SetFunction) else LovaszHinge(Hamming(normalize=False))


@dataclass(frozen=True)
class ClosedFamily(Family):
    """The monotone closures of the functions of a family."""

    family: Family

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        return monotone_closure(self.family.on_counts(positives, negatives))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return monotone_closure(self.family.set_function(y_true))

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        counts = self.family.closed_counts(positives, negatives)
        return counts and counts.closure()
