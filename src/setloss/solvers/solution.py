"""What a solver returns: parameters, both objectives, the gap, a status in words, and how it got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from setloss.plans.batch import BatchSurrogate
from setloss.typing import Array


class Status(StrEnum):
    """Why the solver stopped."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    UNCERTIFIED = "uncertified (inexact oracle)"


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

    `arrays` is the last state of the method, from which a warm start goes on if the surrogates are the same.
    """

    parameters: Array = field(repr=False)
    primal: float
    dual: float
    status: Status
    history: tuple[Record, ...] = field(repr=False)
    iterations: int = 0
    arrays: Mapping[str, Array] = field(repr=False, default_factory=dict)
    surrogate: BatchSurrogate | None = field(repr=False, default=None)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: how far the objective can be from its minimum, relative to itself."""
        return relative_gap(self.primal, self.dual)


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / primal, 0 where both vanish.

    Infinite without a dual bound, and where the "bound" exceeds the primal by more than rounding error: such a pair
    certifies nothing.
    """
    difference = primal - dual
    if not np.isfinite(difference) or difference < -1e-9 * abs(primal):
        return float("inf")
    return max(difference, 0.0) / primal if primal > 0 else 0.0
