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

from setloss.dask.dual_blocks import LocalRound, cut_and_step
from setloss.dask.engines import Engine
from setloss.dask.tasks import FitDescription, ParameterPoint, cut_at, cuts_at, inexact_partition, risk_along, risk_at
from setloss.solvers.deadline import check_time
from setloss.typing import Array

LINE_STEPS = 5
"""Steps of a line search."""

ROUND_ELEMENTS, TASK_ELEMENTS = 50_000, 2_500
"""A round without work takes as long as nine evaluations of the cuts of so many elements, and so many more a task."""


@dataclass(eq=False)
class PartitionedProblem:
    """Partitions behind an engine, what they share, how much a line asks for at once, and the rounds so far."""

    engine: Engine = field(repr=False)
    spec: FitDescription = field(repr=False)
    shape: tuple[int, int]
    digest: str
    steps_at_once: int = LINE_STEPS
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

    def cut_and_step(self, where: RemotePlace, order: LocalRound) -> tuple[float, Array, float, Array]:
        """The plane that touches the risk there, and the one of dual steps where the data lie; one round."""
        offset, plane, dual_offset, dual_plane = self.round(cut_and_step, where.point, order)
        return float(offset), plane.ravel(), float(dual_offset), dual_plane.ravel()


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
    """A line whose points are asked for in one round with those that bisection may want next."""

    problem: PartitionedProblem
    start: ParameterPoint
    end: ParameterPoint
    known: dict[float, tuple[float, float]] = field(default_factory=dict)

    def at(self, length: float) -> tuple[float, float]:
        if length not in self.known:
            lengths = with_successors(length, self.problem.steps_at_once)
            (found,) = self.problem.round(risk_along, self.start, self.end, lengths)
            for each, risk, slope in zip(lengths, *found.tolist(), strict=True):
                self.known[each] = (risk, slope)
        return self.known[length]

    def place(self, length: float) -> RemotePlace:
        if length in (0.0, 1.0):
            return RemotePlace(self.problem, self.end if length else self.start)
        start, end = self.start.parameters, self.end.parameters
        point = ParameterPoint(start + length * (end - start), (self.start.name, self.end.name, length))
        return RemotePlace(self.problem, point)


def steps_answered(elements: int, tasks: int) -> int:
    """Steps of a line search that its first round answers: so many tasks, so many elements in the hands of a worker.

    All five take 16 evaluations, of which five are used. Three take four, and a second round three for the last two.
    """
    return LINE_STEPS if elements < ROUND_ELEMENTS + TASK_ELEMENTS * tasks else 3


def with_successors(length: float, steps: int = LINE_STEPS) -> tuple[float, ...]:
    """A length that bisection of [0, 1] asks for, with those it may ask for next: within `steps` from the first.

    Bisection that starts at 1 halves its step each time, so a length is an odd multiple of its step.
    """
    if length == 1.0:
        return tuple(k / 2 ** (steps - 1) for k in range(2 ** (steps - 1), 0, -1))
    step = 1.0
    while length % step:
        step /= 2
    return (length, length - step / 2, length + step / 2)
