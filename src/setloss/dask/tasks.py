"""What is done where a partition lies: its share of the risk, of a cutting plane, of a dual point.

Every task is a pure function of its arguments. What a process remembers of a partition saves time, never changes
an answer; so a task may run twice, elsewhere, or on a worker that has just come.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.dask.notes import Notes, notes_on
from setloss.dask.partition import Kind, Partition
from setloss.dask.reports import PartitionReport, inspect_partition
from setloss.estimators.elements import Elements
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.solvers import Design, Problem
from setloss.solvers.problem import digest_of
from setloss.typing import Array

MARGINS_KEPT = 3
"""Both ends of a line, and the point that was cut at."""


@dataclass(frozen=True, eq=False)
class FitDescription:
    """What all partitions of a fit share."""

    fit: str
    kind: Kind
    positive: Any
    loss: Loss
    operator: str | Operator
    scale: float
    C: float
    constant: float
    seed: int


@dataclass(frozen=True, eq=False)
class ParameterPoint:
    """Parameters W, and of which two other points it is the mixture (1 - share) a + share b, if of any."""

    parameters: Array
    mixture: tuple[str, str, float] | None = field(default=None)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.parameters.nbytes

    @cached_property
    def name(self) -> str:
        """A digest: points of the same parameters have the same name."""
        return digest_of("point", self.parameters)


class PartitionSource(Protocol):
    """A partition that may have to be read first."""

    def read(self) -> Partition:
        """The data, kept by whoever asks."""
        ...


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """The part of a fit that is one partition: its problem without the rows of X, and what was noted of it."""

    source: PartitionSource
    spec: FitDescription
    notes: Notes
    bare: Problem

    @cached_property
    def problem(self) -> Problem:
        """The training problem of the partition alone; reads it."""
        return replace(self.bare, design=Design.of(self.source.read().X, self.spec.constant))

    def margins(self, point: ParameterPoint) -> Array:
        """Those noted, or mixed from noted ones, or one pass over X."""
        with self.notes.lock:
            known: dict[str, Array] = self.notes.setdefault("margins", {})
            margins = known.pop(point.name, None)
            if margins is None and point.mixture is not None and {*point.mixture[:2]} <= set(known):
                start, end = (known[name] for name in point.mixture[:2])
                margins = end - start
                margins *= point.mixture[2]
                margins += start
            known[point.name] = self.problem.margins(point.parameters) if margins is None else margins
            while len(known) > MARGINS_KEPT:
                del known[next(iter(known))]
            return known[point.name]


def problem_of(source: PartitionSource, index: int, spec: FitDescription) -> PartitionProblem:
    """The share of a partition; its surrogates are made once in a process."""
    notes = notes_on(spec.fit, index)
    with notes.lock:
        if "problem" not in notes:
            part = source.read()
            nothing = np.empty((0, part.X.shape[1]), dtype=part.X.dtype)
            arguments = (spec.constant, spec.loss, spec.operator, spec.scale, spec.C)
            notes["problem"] = part.elements(spec.kind, spec.positive).problem(nothing, *arguments)
    return PartitionProblem(source, spec, notes, notes["problem"])


def risk_at(source: PartitionSource, index: int, spec: FitDescription, point: ParameterPoint) -> tuple[Array]:
    """The share of R(W)."""
    share = problem_of(source, index, spec)
    return (np.asarray(share.bare.costs @ share.bare.cuts(share.margins(point)).values),)


def risk_along(
    source: PartitionSource,
    index: int,
    spec: FitDescription,
    start: ParameterPoint,
    end: ParameterPoint,
    lengths: tuple[float, ...],
) -> tuple[Array]:
    """The shares of R and of its slope at points of a line; the slopes come second."""
    share = problem_of(source, index, spec)
    first, way = share.margins(start), share.margins(end) - share.margins(start)
    room = np.empty_like(way)
    return (np.array([share.bare.risk_along(first, way, length, room) for length in lengths]).T,)


def inexact_partition(source: PartitionSource, index: int, spec: FitDescription) -> tuple[Array]:
    """1 where a cut of this partition came from a heuristic."""
    return (np.asarray(0.0 if problem_of(source, index, spec).bare.exact() else 1.0),)


def cut_at(source: PartitionSource, index: int, spec: FitDescription, point: ParameterPoint) -> tuple[Array, Array]:
    """The shares of offset and slope of the plane that touches R at a point."""
    share = problem_of(source, index, spec)
    cuts = share.bare.cuts(share.margins(point))
    return np.asarray(share.bare.costs @ cuts.offsets), share.problem.parameters(np.asarray(cuts.slopes))


def cuts_at(source: PartitionSource, index: int, spec: FitDescription, points: Array) -> tuple[Array, Array]:
    """The shares of offset and flat slope of the planes that touch R at several points."""
    problem = problem_of(source, index, spec).problem
    return problem.planes_at(points)


def judge_partition(
    source: PartitionSource, index: int, spec: FitDescription, parameters: Array
) -> tuple[PartitionReport, NDArray[np.float64]]:
    """What a partition reports of itself and, if it fits the model and has any, the losses of its bags; one read."""
    part = source.read()
    report = inspect_partition(source, index, spec.kind, hashed=False)
    tasks = 1 if spec.kind == "bags" else report.labels or 1
    fits = report.bags > 0 and (tasks, report.features + 1) == parameters.shape
    return report, losses_of(part, spec, parameters) if fits else np.empty((2, 0))


def losses_of(part: Partition, spec: FitDescription, parameters: Array) -> NDArray[np.float64]:
    """The loss of every bag under the scores of the parameters, and below it the weight of the bag."""
    elements, predicted, groups = judged_elements(part, spec.kind, spec.positive, parameters, spec.constant)
    losses = spec.loss(elements.truth, predicted, groups=groups)
    weights = elements.bags.totals(part.weights[elements.rows]) / elements.bags.sizes
    return np.vstack([losses, weights])


def judged_elements(
    part: Partition, kind: Kind, positive: Any, parameters: Array, constant: float
) -> tuple[Elements, NDArray[np.bool_], NDArray[np.intp]]:
    """`all_elements`, and between them whether each is predicted positive."""
    from setloss.solvers.kernels import all_margins

    elements, bags = all_elements(part, kind, positive)
    scores = np.empty(len(elements.rows))
    places = (elements.rows, elements.tasks, np.ones(len(scores)))
    all_margins(Design.of(part.X, constant).arrays, *places, parameters, scores)
    return elements, scores > 0, bags


def all_elements(part: Partition, kind: Kind, positive: Any) -> tuple[Elements, NDArray[np.intp]]:
    """The elements of all bags whatever their weight, and the bag that each is in."""
    elements = replace(part, weights=np.ones_like(part.weights)).elements(kind, positive)
    return elements, np.repeat(np.arange(len(elements.bags)), elements.bags.sizes)
