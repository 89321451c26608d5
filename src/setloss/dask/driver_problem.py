"""The training problem of all partitions together, seen from the driver.

    min over W of   P(W) = 1/2 |W|^2 + sum_k R_k(W),      R_k the risk of the bags of partition k

The driver holds W and the planes, never a row of X. One round asks every partition for its share of a risk, or of a
plane below it, and gets the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from setloss.dask.scheduling import Partitions
from setloss.dask.tasks import Point, cut_at, risk_along, risk_at
from setloss.solvers.deadline import check_time
from setloss.typing import Array

LINE_STEPS = 5
"""Steps of a line search: bisection of [0, 1] that begins at 1."""

LAST_STEP = 2.0 ** (1 - LINE_STEPS)


@dataclass(eq=False)
class PartitionedProblem:
    """Partitions, the shape of W and a digest of all data; `rounds` counts how often all partitions were asked."""

    partitions: Partitions = field(repr=False)
    shape: tuple[int, int]
    digest: str
    last_lengths: tuple[float, ...] = tuple(0.5**step for step in range(LINE_STEPS))
    rounds: int = 0
    surrogate: None = None
    _exact: bool = True
    _numbers: Any = field(default_factory=count, repr=False)

    def fingerprint(self) -> str:
        """A digest of everything the solution depends on."""
        return self.digest

    def exact(self) -> bool:
        """Whether every cut so far touched its surrogate."""
        return self._exact

    def round(self, task: Callable[..., tuple[Array, ...]], *shared: Any) -> tuple[Array, ...]:
        """The sum of the answers of all partitions; the last term tells of inexact cuts."""
        check_time()
        self.rounds += 1
        *answer, inexact = self.partitions.total(task, *shared)
        self._exact = self._exact and not inexact > 0
        return tuple(answer)

    def place(self, parameters: Array) -> RemotePlace:
        """A point; nothing is asked for yet."""
        return RemotePlace(self, self.point(parameters))

    def line(self, start: RemotePlace, target: Array) -> RemoteLine:
        """The way from a place to other parameters; nothing is asked for yet."""
        return RemoteLine(self, start.point, self.point(target))

    def point(self, parameters: Array, mixture: tuple[int, int, float] | None = None) -> Point:
        """Parameters with a number of their own."""
        return Point(next(self._numbers), parameters, mixture)


@dataclass(frozen=True, eq=False)
class RemotePlace:
    """A point where the risk can be asked for."""

    problem: PartitionedProblem
    point: Point

    @property
    def parameters(self) -> Array:
        return self.point.parameters

    def risk(self) -> float:
        (risk,) = self.problem.round(risk_at, self.point)
        return float(risk)

    def cut(self) -> tuple[float, Array]:
        offset, plane = self.problem.round(cut_at, self.point)
        return float(offset), plane.ravel()


@dataclass(frozen=True, eq=False)
class RemoteLine:
    """A line: one round asks for the lengths of the last search, another, if need be, for all that are left."""

    problem: PartitionedProblem
    start: Point
    end: Point
    known: dict[float, tuple[float, float]] = field(default_factory=dict)
    taken: list[float] = field(default_factory=list)

    def at(self, length: float) -> tuple[float, float]:
        if length not in self.known:
            lengths = reachable_from(length) if self.known else self.problem.last_lengths
            (found,) = self.problem.round(risk_along, self.start, self.end, lengths)
            self.known.update(zip(lengths, zip(*found.tolist(), strict=True), strict=True))
        self.taken.append(length)
        if len(self.taken) == LINE_STEPS:
            self.problem.last_lengths = tuple(self.taken)
        return self.known[length]

    def place(self, length: float) -> RemotePlace:
        if length in (0.0, 1.0):
            return RemotePlace(self.problem, self.end if length else self.start)
        start, end = self.start.parameters, self.end.parameters
        mixture = (self.start.number, self.end.number, length)
        return RemotePlace(self.problem, self.problem.point(start + length * (end - start), mixture))


def reachable_from(length: float) -> tuple[float, ...]:
    """The lengths that bisection can ask for from a length below 1 on, itself among them.

    Every step is half of the one before, so a length is an odd multiple of its own step.
    """
    step = 0.5
    while length % step:
        step /= 2
    return tuple((length - step + LAST_STEP * np.arange(1, 2 * step / LAST_STEP)).tolist())
