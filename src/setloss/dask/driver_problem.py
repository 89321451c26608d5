"""The training problem of all partitions together, seen from the driver.

    min over W of   P(W) = 1/2 |W|^2 + sum_k R_k(W),      R_k the risk of the bags of partition k

The driver holds W and a few vectors of its size, never a row of X. One round asks every partition for its share of
a risk, or of a plane below it, and gets the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from setloss.dask.engines import Engine
from setloss.dask.tasks import FitDescription, ParameterPoint, cut_at, cuts_at, inexact_partition, risk_along, risk_at
from setloss.solvers.deadline import check_time
from setloss.typing import Array

LINE_STEPS = 5
"""Steps of a line search: bisection of [0, 1] that begins at 1."""

LAST_STEP = 2.0 ** (1 - LINE_STEPS)

SHORTER_AND_SHORTER = tuple(0.5**step for step in range(LINE_STEPS))
"""What most line searches ask for: the way to the solution of the program is nearly always too long."""

ROUND_ELEMENTS, TASK_ELEMENTS = 20_000, 2_500
"""A round without work takes as long as nine evaluations of the cuts of so many elements, and so many more a task."""


@dataclass(eq=False)
class PartitionedProblem:
    """Partitions behind an engine, what they share, how lines are asked for, and the rounds so far."""

    engine: Engine = field(repr=False)
    spec: FitDescription = field(repr=False)
    shape: tuple[int, int]
    digest: str
    whole_lines: bool = False
    last_lengths: tuple[float, ...] = SHORTER_AND_SHORTER
    rounds: int = 0
    surrogate: None = None

    def fingerprint(self) -> str:
        """A digest of everything the solution depends on."""
        return self.digest

    def exact(self) -> bool:
        """Whether every cut so far touched its surrogate: one round, unless the operator is one by name."""
        if isinstance(self.spec.operator, str):
            return True
        return not float(self.round(inexact_partition)[0]) > 0

    def round(self, task: Callable[..., tuple[Array, ...]], *shared: Any) -> tuple[Array, ...]:
        """The sum of what all partitions answer; the clock is looked at before."""
        check_time()
        self.rounds += 1
        return self.engine.total(task, self.spec, *shared)

    def place(self, parameters: Array) -> RemotePlace:
        """A point; nothing is asked for yet."""
        return RemotePlace(self, ParameterPoint(parameters))

    def planes_at(self, points: Array) -> tuple[Array, Array]:
        """Offsets and flat slopes of the planes that touch the risk at the rows of `points`; one round for all."""
        if len(points) == 0:
            return np.empty(0), np.empty_like(points)
        offsets, planes = self.round(cuts_at, points)
        return offsets, planes

    def line(self, start: RemotePlace, target: Array) -> RemoteLine:
        """The way from a place to other parameters; nothing is asked for yet."""
        return RemoteLine(self, start.point, ParameterPoint(target))


@dataclass(frozen=True, eq=False)
class RemotePlace:
    """A point where the risk can be asked for."""

    problem: PartitionedProblem
    point: ParameterPoint

    @property
    def parameters(self) -> Array:
        return self.point.parameters

    @property
    def known(self) -> Array:
        """Nothing: margins lie where the data are."""
        return np.empty(0)

    def recalled(self, known: Array) -> RemotePlace:
        return self

    def risk(self) -> float:
        return float(self.problem.round(risk_at, self.point)[0])

    def cut(self) -> tuple[float, Array]:
        offset, plane = self.problem.round(cut_at, self.point)
        return float(offset), plane.ravel()


@dataclass(frozen=True, eq=False)
class RemoteLine:
    """A line whose first round asks for the lengths of the last search: mostly this one takes the same.

    Where it does not, a second round asks for all lengths that the rest of the search can take. Where elements are so
    few that a round costs more than it saves, the first round asks for all lengths.
    """

    problem: PartitionedProblem
    start: ParameterPoint
    end: ParameterPoint
    known: dict[float, tuple[float, float]] = field(default_factory=dict)
    taken: list[float] = field(default_factory=list)

    def at(self, length: float) -> tuple[float, float]:
        if length not in self.known:
            first = (1.0, *within_reach(0.5)) if self.problem.whole_lines else self.problem.last_lengths
            lengths = within_reach(length) if self.known else first
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
        point = ParameterPoint(start + length * (end - start), (self.start.name, self.end.name, length))
        return RemotePlace(self.problem, point)


def asks_for_whole_lines(elements: int, tasks: int) -> bool:
    """Whether the evaluations that are not used, at most eleven of 16, cost less than a second round now and then."""
    return elements < ROUND_ELEMENTS + TASK_ELEMENTS * tasks


def within_reach(length: float) -> tuple[float, ...]:
    """A length below 1 that bisection asks for, among those that it can ask for from there on.

    Every step is half of the one before, so a length is an odd multiple of its own step.
    """
    step = 0.5
    while length % step:
        step /= 2
    return tuple((length - step + LAST_STEP * np.arange(1, 2 * step / LAST_STEP)).tolist())
