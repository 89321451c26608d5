"""The one loop: limits, history, callbacks, interruption and checkpoints around the iterations of any method.

A method is a frozen configuration that makes a state and improves it. The state always carries the best primal
point so far and the best dual value; the loop only looks at these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from setloss.plans.batch import BatchSurrogate
from setloss.solvers.checkpoint import Checkpoint
from setloss.solvers.deadline import OutOfTimeError, clock, time_limit
from setloss.solvers.solution import Record, Solution, Status, relative_gap
from setloss.typing import Array

Callback = Callable[[Record], object]


@dataclass
class State:
    """Where a method is: `arrays` is all it needs to go on, by name, and what a checkpoint stores.

    What a method computes once from the problem and the arrays, and can compute again, are fields of a subclass.
    """

    arrays: dict[str, Array]
    best: Array
    primal: float = np.inf
    dual: float = -np.inf
    iteration: int = 0
    passes: float = 0.0
    exact: bool = True
    stalled: bool = False

    def offer_primal(self, parameters: Array, value: float) -> None:
        """Keep the parameters of the best primal value."""
        if value < self.primal:
            self.primal = value
            self.best = parameters.copy()

    def offer_dual(self, value: float) -> None:
        """Keep the best dual value; every one is a lower bound of every primal value."""
        self.dual = max(self.dual, value)

    def arrays_replaced(self) -> None:
        """Forget what was computed from the arrays; a subclass that keeps any says what."""


class Trainable(Protocol):
    """What the loop needs to know of a problem."""

    def fingerprint(self) -> str:
        """A digest of everything the solution depends on."""
        ...

    def exact(self) -> bool:
        """Whether every cut so far touched its surrogate, so that a gap is a certificate."""
        ...

    @property
    def surrogate(self) -> BatchSurrogate | None:
        """The surrogates of all bags, where they are at hand."""
        ...


P = TypeVar("P", bound=Trainable, contravariant=True)
S = TypeVar("S", bound=State)


class OutOfReachError(RuntimeError):
    """The data cannot be reached any more; the state is that of the last whole iteration."""


class Method(Protocol[P, S]):
    """A solver: how to begin, and one iteration."""

    @property
    def name(self) -> str:
        """How checkpoints and messages call it."""
        ...

    def start(self, problem: P, warm: Solution | None) -> S:
        """The state before the first iteration, near an earlier solution if there is one."""
        ...

    def verify(self, problem: P, state: S) -> None:
        """Compute again what a checkpoint claims: afterwards both values, and all they rest on, are true."""
        ...

    def step(self, problem: P, state: S, tol: float) -> None:
        """One iteration, in place."""
        ...

    def finish(self, problem: P, state: S) -> None:
        """Bring the best primal point and dual value up to date when the loop stops before convergence."""
        ...


@dataclass(frozen=True)
class Limits:
    """When to stop: at the relative gap `tol`, after `max_iter` iterations or `max_time` seconds."""

    tol: float = 1e-3
    max_iter: int = 1000
    max_time: float | None = None
    callbacks: Sequence[Callback] = field(default=())
    checkpoint: str | Path | None = None
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise ValueError(f"tol is a relative gap, a number >= 0; got {self.tol}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter}")
        if self.max_time is not None and not self.max_time > 0:
            raise ValueError(f"max_time is in seconds and positive; got {self.max_time}")
        if not self.checkpoint_seconds >= 0:
            raise ValueError(f"checkpoint_seconds is in seconds, at least 0; got {self.checkpoint_seconds}")


def run(problem: P, method: Method[P, S], limits: Limits, warm: Solution | None = None) -> Solution:
    """Iterate until a limit is reached; Ctrl-C returns the best solution so far."""
    saved = Checkpoint.at(limits.checkpoint, problem, method.name)
    with saved.alone():
        began = clock()
        state = method.start(problem, warm)
        spent = saved.resume(state, lambda: method.verify(problem, state))
        return _Run(problem, method, limits, saved, state, began - spent).solution()


@dataclass(eq=False)
class _Run(Generic[P, S]):
    """A run from a state; `began` is the time when it started, moved back by the seconds of the runs it resumes."""

    problem: P
    method: Method[P, S]
    limits: Limits
    saved: Checkpoint
    state: S
    began: float
    history: list[Record] = field(default_factory=list)

    def solution(self) -> Solution:
        """Iterate, certify where that ended, and say why it ended."""
        problem, state, tol = self.problem, self.state, self.limits.tol
        status = self._stopped()
        # Before its end is certified: that is no part of the way, which a longer run would go on.
        self.saved.write(state, self._seconds())
        if _gap(problem, state) > tol:
            self.method.finish(problem, state)
        if _gap(problem, state) <= tol and status is not Status.INTERRUPTED:
            certain = state.exact and problem.exact()
            status = Status.CONVERGED if certain else Status.UNCERTIFIED
        found = (state.best, state.primal, state.dual, status, tuple(self.history), state.iteration)
        return Solution(*found, state.arrays, problem.surrogate)

    def _seconds(self) -> float:
        return clock() - self.began

    def _stopped(self) -> Status:
        """Iterate until a limit, or somebody, ends it; what has been found is in the state."""
        left = None if self.limits.max_time is None else self.limits.max_time - self._seconds()
        try:
            with time_limit(left):
                return self._iterate()
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except OutOfTimeError:
            return Status.TIME_LIMIT
        except OutOfReachError:
            self.saved.write(self.state, self._seconds())
            raise

    def _iterate(self) -> Status:
        problem, state, limits = self.problem, self.state, self.limits
        last_save = clock()
        while _gap(problem, state) > limits.tol and state.iteration < limits.max_iter:
            self.method.step(problem, state, limits.tol)
            state.iteration += 1
            record = Record(state.iteration, self._seconds(), state.passes, state.primal, state.dual)
            self.history.append(record)
            for callback in limits.callbacks:
                callback(record)
            if state.stalled:
                return Status.STALLED
            if limits.max_time is not None and record.seconds >= limits.max_time:
                return Status.TIME_LIMIT
            if clock() - last_save >= limits.checkpoint_seconds:
                self.saved.write(state, self._seconds())
                last_save = clock()
        return Status.ITERATION_LIMIT


def _gap(problem: Trainable, state: State) -> float:
    """The relative gap; 0 where a heuristic sees less than the planes it has found and can add nothing."""
    gap = relative_gap(state.primal, state.dual)
    passed = np.isinf(gap) and np.isfinite(state.dual) and state.dual >= state.primal
    return 0.0 if passed and not problem.exact() else gap
