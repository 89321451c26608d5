"""Families: one set function for every label vector, and what D and the operators make of all of them at once.

A loss is a family. So are the parts l = f + g of its decomposition, and any set function made of those of a family.
Where one formula covers all sets, `Family.closed_counts` gives it, with arrays for the numbers of positives and
negatives; the proofs about the formula then hold for all sets, and plans read its numbers. Where there is none, every
set has a function of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from setloss.setfunctions.counts import CountFunction
from setloss.setfunctions.set_function import SetFunction


class Family(ABC):
    """A set function for every label vector y; what is made of it depends on the numbers in y only, or on its size.

    Examples
    --------
    >>> from setloss import Dice
    >>> dice = Dice()
    >>> dice.on_counts(2, 1) == dice.set_function([1, 1, 0])
    True
    >>> dice.closed_counts(2, 1)(1, 0)  # one false negative of two positives
    array(0.33333333)
    """

    by_counts = False
    """Whether any numbers of positives and negatives have a function, in which the elements of each are alike."""

    @abstractmethod
    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        """The set function of an example whose positives come first."""

    @abstractmethod
    def set_function(self, y_true: ArrayLike) -> SetFunction:
        """The set function of an example with labels `y_true`."""

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        """The one formula of all sets at these numbers: integers, arrays or tensors. None: there is no such one."""
        return None


@dataclass(frozen=True)
class Mapped(Family):
    """The functions of a family, each passed through the same map: their closures, their numbers of mistakes.

    `each` maps one set function, `closed` the formula of all; both are the same map.
    """

    family: Family
    each: Callable[[SetFunction], SetFunction]
    closed: Callable[[CountFunction], CountFunction | None]

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        return self.each(self.family.on_counts(positives, negatives))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.each(self.family.set_function(y_true))

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        counts = self.family.closed_counts(positives, negatives)
        return None if counts is None else self.closed(counts)
