"""The training problem of all partitions together: its tasks, done where a partition lies, and its driver.

    min over W of   P(W) = 1/2 |W|^2 + sum_k R_k(W),      R_k the risk of the bags of partition k

The driver holds W and the planes, never a row of X. One round asks every partition for its share of a risk, or of a
plane below it, and gets the sum. Every task is a pure function of its arguments. Margins that a partition keeps save
time and never change an answer: a task may run twice, or elsewhere, or on a worker that has just come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.dask.partition import Partition
from setloss.dask.scheduling import Partitions
from setloss.losses import Loss
from setloss.operators import Operator
from setloss.solvers.deadline import check_time
from setloss.typing import Array

LINE_STEPS = 5
"""Steps of a line search: bisection of [0, 1] that begins at 1."""


class FitDescription(NamedTuple):
    """What all partitions of a fit share."""

    positive: Any
    constant: float
    loss: Loss
    operator: str | Operator
    scale: float
    C: float


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters W with a number; `mixture` names two other points a, b and the share s if W = (1 - s) a + s b."""

    number: int
    parameters: Array
    mixture: tuple[int, int, float] | None = None


class PartitionProblem:
    """The training problem of one partition, with the margins at the last points: lost where it moves elsewhere."""

    def __init__(self, part: Partition, fit: FitDescription) -> None:
        self.part, self.fit = part, fit
        self.problem = part.elements(fit.positive).problem(part.X, *fit[1:])
        self._margins: dict[int, Array] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.fit)

    def margins(self, point: Point) -> Array:
        """The margins kept, or mixed from those of two other points, or computed by one pass over X."""
        with self._lock:
            known = self._margins
            margins = known.pop(point.number, None)
            if margins is None and point.mixture is not None and {*point.mixture[:2]} <= known.keys():
                start, end, share = known[point.mixture[0]], known[point.mixture[1]], point.mixture[2]
                margins = start + share * (end - start)
            known[point.number] = self.problem.margins(point.parameters) if margins is None else margins
            while len(known) > 3:  # both ends of a line, and the point of the next cut
                del known[next(iter(known))]
            return known[point.number]

    def __sizeof__(self) -> int:
        return self.part.__sizeof__() + 8 * 10 * len(self.problem.signs)

    def inexact(self) -> Array:
        """1 where a cut of this partition came from a heuristic search, else 0."""
        return np.asarray(0.0 if self.problem.exact() else 1.0)


def risk_at(share: PartitionProblem, point: Point) -> tuple[Array, ...]:
    """The share of R(W), and whether a cut was inexact."""
    values = share.problem.cuts(share.margins(point)).values
    return np.asarray(share.problem.costs @ values), share.inexact()


def risk_along(share: PartitionProblem, start: Point, end: Point, lengths: tuple[float, ...]) -> tuple[Array, ...]:
    """The shares of R, and of its slope, at some lengths of a line; and whether a cut was inexact."""
    first = share.margins(start)
    way = share.margins(end) - first
    workspace = np.empty_like(way)
    risks = [share.problem.risk_along(first, way, length, workspace) for length in lengths]
    return np.array(risks).T, share.inexact()


def cut_at(share: PartitionProblem, point: Point) -> tuple[Array, ...]:
    """The shares of offset and slope of the plane that touches R at a point, and whether a cut was inexact."""
    cuts = share.problem.cuts(share.margins(point))
    plane = share.problem.parameters(np.asarray(cuts.slopes))
    return np.asarray(share.problem.costs @ cuts.offsets), plane, share.inexact()


def judge(part: Partition, model: Any) -> tuple[Array, Array, NDArray[Any]]:
    """The loss and the weight of every set with a known label under a fitted local model, and the names of groups."""
    some = part.known.any(axis=1)
    if not some.any():
        return np.empty(0), np.empty(0), part.names
    weights = part.sets.means(part.weights)
    losses = model.losses(part.X, part.y, groups=part.sets.numbers)
    return losses, weights if part.sets.flat else weights[some], part.names


# -------------------------------------------------------------------- the driver


@dataclass(eq=False)
class PartitionedProblem:
    """Partitions and the shape of W; `rounds` counts how often all partitions were asked."""

    partitions: Partitions = field(repr=False)
    shape: tuple[int, int]
    last_lengths: tuple[float, ...] = tuple(0.5**step for step in range(LINE_STEPS))
    rounds: int = 0
    surrogate: None = None
    _exact: bool = True
    _numbers: Any = field(default_factory=count, repr=False)

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
            (risks,) = self.problem.round(risk_along, self.start, self.end, lengths)
            self.known.update(zip(lengths, zip(*risks.tolist(), strict=True), strict=True))
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
    step, last = 0.5, 2.0 ** (1 - LINE_STEPS)
    while length % step:
        step /= 2
    return tuple((length - step + last * np.arange(1, 2 * step / last)).tolist())
