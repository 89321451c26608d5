"""What a solver returns: parameters, both objectives, the gap, a status in words, and how it got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from setloss.lattice import Array


class Status(Enum):
    """Why the solver stopped."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    UNCERTIFIED = "uncertified (inexact oracle)"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Record:
    """One line of the history."""

    iteration: int
    seconds: float
    passes: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """(primal - dual) / primal."""
        return relative_gap(self.primal, self.dual)


@dataclass(frozen=True)
class Solution:
    """The best parameters found, with P(W) = `primal` and a dual point of value `dual` below every P.

    `arrays` is the last state of the method, from which a warm start goes on.
    """

    parameters: Array = field(repr=False)
    primal: float
    dual: float
    status: Status
    history: tuple[Record, ...] = field(repr=False)
    arrays: Mapping[str, Array] = field(repr=False, default_factory=dict)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: how far the objective can be from its minimum, relative to itself."""
        return relative_gap(self.primal, self.dual)

    @property
    def iterations(self) -> int:
        return self.history[-1].iteration if self.history else 0


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / primal, 0 where both vanish; infinite without a dual bound."""
    if not np.isfinite(dual):
        return float("inf")
    return max(primal - dual, 0.0) / primal if primal > 0 else 0.0
