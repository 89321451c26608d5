"""The risk R(W) = sum_i c_i B_i(m_i(W)) at a point, and on the way from one point to another.

Margins are linear in W: with those of both ends known, any point in between costs no pass over X.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from setloss.plans.batch import BatchCuts
from setloss.solvers.verification import agreeing_array
from setloss.typing import Array

if TYPE_CHECKING:
    from setloss.solvers.problem import Problem


class Place(Protocol):
    """A point W where the risk is within reach."""

    @property
    def parameters(self) -> Array: ...

    @property
    def known(self) -> Array:
        """What a pass over X has found here and a checkpoint stores: the margins, or nothing."""
        ...

    def recalled(self, known: Array) -> Place:
        """The same point with what was known of it before, where that is right to rounding."""
        ...

    def risk(self) -> float:
        """R(W)."""
        ...

    def cut(self) -> tuple[float, Array]:
        """Offset b and flat slope A of a plane below the risk that touches it here: R(W') >= b - <A, W'>."""
        ...


class Line(Protocol):
    """The points between two places: 0 is where it starts, 1 where it ends."""

    def at(self, length: float) -> tuple[float, float]:
        """R and a slope of it along the line."""
        ...

    def place(self, length: float) -> Place:
        """The point at that length."""
        ...


@dataclass(frozen=True, eq=False)
class KnownMargins:
    """A place of a problem in memory."""

    problem: Problem = field(repr=False)
    parameters: Array
    margins: Array = field(repr=False)

    @property
    def known(self) -> Array:
        return self.margins

    def recalled(self, known: Array) -> KnownMargins:
        return replace(self, margins=agreeing_array(known, self.margins))

    @cached_property
    def cuts(self) -> BatchCuts:
        """The cut of every bag here."""
        return self.problem.cuts(self.margins)

    def risk(self) -> float:
        return float(self.problem.costs @ self.cuts.values)

    def cut(self) -> tuple[float, Array]:
        plane = self.problem.parameters(np.asarray(self.cuts.slopes)).ravel()
        return float(self.problem.costs @ self.cuts.offsets), plane


@dataclass(frozen=True, eq=False)
class Segment:
    """A line between two places of a problem in memory."""

    start: KnownMargins
    end: KnownMargins

    def at(self, length: float) -> tuple[float, float]:
        problem = self.start.problem
        cuts = problem.cuts(self._margins(length))
        way = self.end.margins - self.start.margins
        return float(problem.costs @ cuts.values), -float((problem.element_costs * cuts.slopes) @ way)

    def place(self, length: float) -> KnownMargins:
        start, end = self.start.parameters, self.end.parameters
        return KnownMargins(self.start.problem, start + length * (end - start), self._margins(length))

    def _margins(self, length: float) -> Array:
        start, end = self.start.margins, self.end.margins
        return np.asarray(start + length * (end - start))
