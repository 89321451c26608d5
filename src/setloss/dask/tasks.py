"""What is done where a partition lies: its share of the risk, and of a cutting plane.

Every task is a pure function of its arguments. Margins that a partition keeps save time and never change an answer:
a task may run twice, or elsewhere, or on a worker that has just come.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.dask.partition import Partition, bag_names
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.typing import Array

MARGINS_KEPT = 3
"""Both ends of a line, and the point of the next cut."""


@dataclass(frozen=True, eq=False)
class FitDescription:
    """What all partitions of a fit share."""

    positive: Any
    loss: Loss
    operator: str | Operator
    scale: float
    C: float
    constant: float


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters W with a number; `mixture` names two other points a, b and the share s if W = (1 - s) a + s b."""

    number: int
    parameters: Array
    mixture: tuple[int, int, float] | None = None


class PartitionProblem:
    """The training problem of one partition, with the margins at the last points: lost where it moves elsewhere."""

    def __init__(self, part: Partition, fit: FitDescription) -> None:
        arguments = (fit.constant, fit.loss, fit.operator, fit.scale, fit.C)
        self.part, self.fit = part, fit
        self.problem = part.elements(fit.positive).problem(part.X, *arguments)
        self._margins: dict[int, Array] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.fit)

    def margins(self, point: Point) -> Array:
        """The margins kept, or mixed from those of two other points, or computed by one pass over X."""
        with self._lock:
            known = self._margins
            found = known.pop(point.number, None)
            if found is None and point.mixture is not None and {*point.mixture[:2]} <= known.keys():
                start, end, share = known[point.mixture[0]], known[point.mixture[1]], point.mixture[2]
                found = start + share * (end - start)
            known[point.number] = self.problem.margins(point.parameters) if found is None else found
            while len(known) > MARGINS_KEPT:
                del known[next(iter(known))]
            return known[point.number]

    def __sizeof__(self) -> int:
        return self.part.__sizeof__() + 8 * 10 * len(self.problem.signs)

    def inexact(self) -> Array:
        """1 where a cut of this partition came from a heuristic search, else 0."""
        return np.asarray(0.0 if self.problem.exact() else 1.0)


def risk_at(share: PartitionProblem, point: Point) -> tuple[Array, ...]:
    """The share of R(W), and whether a cut was inexact."""
    problem = share.problem
    risk = problem.costs @ problem.cuts(share.margins(point)).values
    return np.asarray(risk), share.inexact()


def risk_along(share: PartitionProblem, start: Point, end: Point, lengths: tuple[float, ...]) -> tuple[Array, ...]:
    """The shares of R, and of its slope, at some lengths of a line; and whether a cut was inexact."""
    first = share.margins(start)
    way = share.margins(end) - first
    workspace = np.empty_like(way)
    found = [share.problem.risk_along(first, way, length, workspace) for length in lengths]
    return np.array(found).T, share.inexact()


def cut_at(share: PartitionProblem, point: Point) -> tuple[Array, ...]:
    """The shares of offset and slope of the plane that touches R at a point, and whether a cut was inexact."""
    problem = share.problem
    cuts = problem.cuts(share.margins(point))
    plane = problem.parameters(np.asarray(cuts.slopes))
    return np.asarray(problem.costs @ cuts.offsets), plane, share.inexact()


def judge(part: Partition, model: Any) -> tuple[Array, Array, NDArray[Any]]:
    """The loss and the weight of every set with a known label under a fitted local model, and the names of groups."""
    names, some = bag_names(part), np.flatnonzero(part.known.any(axis=1))
    if not len(some):
        return np.empty(0), np.empty(0), names
    groups = np.arange(len(part.y)) if part.groups is None else part.groups
    return model.losses(part.X, part.y, groups=groups), part.sets.part(some).means(part.weights[some]), names
