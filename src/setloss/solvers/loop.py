"""The one loop: limits, history, callbacks and interruption around the iterations of any method.

A method is a frozen configuration that makes a typed state and improves it. The state always carries the best primal
point so far and the best dual value; the loop only looks at these. A second method may take over after some
iterations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter as clock
from typing import Any, Protocol

import numpy as np

from setloss.solvers.deadline import OutOfTimeError, check_time, time_limit
from setloss.solvers.solution import Record, Solution, State, Status, relative_gap

Callback = Callable[[Record], object]

RECENT = 30
"""Iterations that say how fast the gap falls."""


class OutOfReachError(RuntimeError):
    """The data cannot be reached any more; `solution` is that of the last whole iteration, None before the first."""

    solution: Solution | None = None


class Method(Protocol):
    """A solver: how to begin, one iteration, and how to end. The loop asks a problem for `exact` and `surrogate`."""

    def start(self, problem: Any, warm: Solution | None) -> Any:
        """The state before the first iteration: near `warm` if it fits, by its state or by its parameters alone."""
        ...

    def step(self, problem: Any, state: Any, tol: float) -> None:
        """One iteration, in place."""
        ...

    def finish(self, problem: Any, state: Any) -> None:
        """Bring the best primal point and dual value up to date when the loop stops before convergence."""
        ...


@dataclass(frozen=True)
class Limits:
    """When to stop: at the relative gap `tol`, after `max_iter` iterations or `max_time` seconds.

    Examples
    --------
    >>> Limits(tol=1e-4, max_time=60.0).max_iter
    1000
    """

    tol: float = 1e-3
    max_iter: int = 1000
    max_time: float | None = None
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol is a relative gap, a number >= 0; got {self.tol}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter}")
        if self.max_time is not None and not self.max_time > 0:
            raise ValueError(f"max_time is in seconds and positive; got {self.max_time}")
        if not all(map(callable, self.callbacks)):
            raise ValueError(f"callbacks must hold functions of a Record; got {self.callbacks!r}")


def run(
    problem: Any,
    method: Method,
    limits: Limits,
    warm: Solution | None = None,
    then: Method | None = None,
    after: int = 0,
    patience: int = 0,
) -> Solution:
    """Iterate until a limit is reached; Ctrl-C returns the best solution so far.

    `then` takes over from the first method after so many iterations, but not while the gap falls so fast that
    `patience` more will do. It begins where the warm start took longer than that.
    """
    began = clock()
    if then is not None and warm is not None and warm.iterations > after:
        method, then = then, None
    return _Run(problem, method, then, after, patience, limits, method.start(problem, warm), began).solution()


@dataclass(eq=False)
class _Run:
    """One run; `began` is its start on the clock."""

    problem: Any
    method: Method
    then: Method | None
    after: int
    patience: int
    limits: Limits
    state: State
    began: float
    history: list[Record] = field(default_factory=list)

    def solution(self) -> Solution:
        """Iterate, certify the end, and say why it ended."""
        status = self._stopped()
        if self._gap() > self.limits.tol:
            self.method.finish(self.problem, self.state)
        if self._gap() <= self.limits.tol and status is not Status.INTERRUPTED:
            status = Status.CONVERGED if self.problem.exact() else Status.UNCERTIFIED
        self.state.drop_caches()
        return self._solution(status)

    def _solution(self, status: Status) -> Solution:
        state = self.state
        values = (state.best, state.primal, state.dual)
        history = tuple(self.history)
        return Solution(*values, status, history, state.iteration, state, self.problem.surrogate)

    def _stopped(self) -> Status:
        """Iterate until a limit, or somebody, ends it; the findings are in the state."""
        left = None if self.limits.max_time is None else self.limits.max_time - (clock() - self.began)
        try:
            with time_limit(left):
                return self._iterate()
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except OutOfTimeError:
            return Status.TIME_LIMIT
        except OutOfReachError as lost:
            self.state.drop_caches()
            lost.solution = self._solution(Status.INTERRUPTED)
            raise

    def _iterate(self) -> Status:
        state, limits = self.state, self.limits
        while self._gap() > limits.tol and state.iteration < limits.max_iter:
            if self.then is not None and state.iteration >= self.after and not self._arriving():
                state = self._hand_over(self.then)
            self.method.step(self.problem, state, limits.tol)
            state.iteration += 1
            record = Record(state.iteration, clock() - self.began, state.passes, state.primal, state.dual)
            self.history.append(record)
            for callback in limits.callbacks:
                callback(record)
            if state.stalled:
                return Status.STALLED
            check_time()
        return Status.ITERATION_LIMIT

    def _arriving(self) -> bool:
        """Whether `patience` more iterations suffice, at the rate of the last ones."""
        gap, before = self._gap(), self.history[-RECENT - 1 :]
        if not (before and gap < before[0].gap < np.inf):
            return False
        rate = np.log(before[0].gap / gap) / (len(before) - 1)
        return bool(np.log(gap / max(self.limits.tol, np.finfo(np.float64).tiny)) <= rate * self.patience)

    def _hand_over(self, method: Method) -> State:
        """Go on with another method. The best of both values stay: every dual one bounds every primal one."""
        before = self.state
        state: State = method.start(self.problem, self._solution(Status.STALLED))
        state.offer_primal(before.best, before.primal)
        state.offer_dual(before.dual)
        state.iteration = before.iteration
        state.passes += before.passes
        self.method, self.state, self.then = method, state, None
        return state

    def _gap(self) -> float:
        """The relative gap; 0 where a heuristic sees less than the planes it has found and can add nothing."""
        state = self.state
        gap = relative_gap(state.primal, state.dual)
        passed = np.isinf(gap) and np.isfinite(state.dual) and state.dual >= state.primal
        return 0.0 if passed and not self.problem.exact() else gap
