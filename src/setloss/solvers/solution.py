"""What a solver returns: parameters, both objectives, the gap, a status in words, and how it got there."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from setloss.plans.batch import BatchSurrogate
from setloss.typing import Array


@dataclass
class State:
    """The best primal point and the best dual value so far. A method adds what it needs to go on as typed fields."""

    best: Array
    primal: float = np.inf
    dual: float = -np.inf
    iteration: int = 0
    passes: float = 0.0
    stalled: bool = False

    def offer_primal(self, parameters: Array, value: float) -> None:
        """Keep the parameters of the best primal value."""
        if value < self.primal:
            self.primal = value
            self.best = parameters.copy()

    def offer_dual(self, value: float) -> None:
        """Keep the best dual value; every one is a lower bound of every primal value."""
        self.dual = max(self.dual, value)

    def drop_caches(self) -> None:
        """Release the data set and whatever can be computed again, at the end of a run."""


class Status(StrEnum):
    """Why the solver stopped.

    Examples
    --------
    >>> Status.CONVERGED == "converged"
    True
    """

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    UNCERTIFIED = "uncertified (inexact oracle)"


@dataclass(frozen=True)
class Record:
    """One line of the history.

    Examples
    --------
    >>> Record(iteration=3, seconds=0.1, passes=6.0, primal=2.0, dual=1.5).gap
    0.25
    """

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

    `state` is the last state of the method: a warm start goes on from it if the surrogates are the same, and else
    from the parameters alone.

    Examples
    --------
    >>> from setloss.estimators import SetClassifier
    >>> model = SetClassifier("dice").fit([[1.0], [-1.0], [2.0], [-2.0]], [[1, 1], [0, 1], [1, 1], [0, 1]])
    >>> solution = model.solution_
    >>> solution.primal >= solution.dual, solution.gap <= model.tol
    (True, True)
    """

    parameters: Array = field(repr=False)
    primal: float
    dual: float
    status: Status
    history: tuple[Record, ...] = field(repr=False)
    iterations: int = 0
    state: State | None = field(repr=False, default=None)
    surrogate: BatchSurrogate | None = field(repr=False, default=None)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: how far the objective can be from its minimum, relative to itself."""
        return relative_gap(self.primal, self.dual)


def starting_point(warm: Solution | None, shape: tuple[int, ...]) -> Array:
    """A copy of the parameters of an earlier solution if they have the shape, else zeros."""
    if warm is None or warm.parameters.shape != shape:
        return np.zeros(shape)
    return warm.parameters.copy()


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / primal, 0 where both vanish.

    Infinite without a dual bound, and where the "bound" exceeds the primal by more than rounding error: such a pair
    certifies nothing.
    """
    difference = primal - dual
    if not np.isfinite(difference) or difference < -1e-9 * abs(primal):
        return float("inf")
    return max(difference, 0.0) / primal if primal > 0 else 0.0
