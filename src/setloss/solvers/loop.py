"""The one loop: limits, history, callbacks, interruption and checkpoints around the iterations of any method.

A method is a frozen configuration that makes a state and improves it. The state always carries the best primal
point so far and the best dual value; the loop only looks at these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from setloss.plans.batch import BatchSurrogate
from setloss.solvers.checkpoint import Checkpoint
from setloss.solvers.solution import Record, Solution, Status, relative_gap
from setloss.typing import Array

Callback = Callable[[Record], object]


@dataclass
class State:
    """Where a method is: `arrays` is all it needs to go on, by name, and what a checkpoint stores.

    What a method can compute again from the problem and the arrays are fields of a subclass of its own.
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
    """A solver of problems P with states S: how to begin, and one iteration."""

    @property
    def name(self) -> str:
        """How checkpoints and messages call it."""
        ...

    def start(self, problem: P, warm: Solution | None) -> S:
        """The state before the first iteration, near an earlier solution if there is one."""
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
        state = method.start(problem, warm)
        running = _Run(problem, method, limits, saved, state, time.perf_counter() - saved.restore(state))
        try:
            stopped = running.iterate()
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED
        except OutOfReachError:
            running.save()
            raise
        if running.gap() > limits.tol:
            method.finish(problem, state)
        running.save()
    return running.solution(stopped)


@dataclass
class _Run(Generic[P, S]):
    """One run of a method; `began` is when it would have begun if it had never been interrupted."""

    problem: P
    method: Method[P, S]
    limits: Limits
    saved: Checkpoint
    state: S
    began: float
    history: list[Record] = field(default_factory=list)

    def iterate(self) -> Status:
        """Iterate until the gap is reached or a limit is; returns what ended it."""
        limits, state = self.limits, self.state
        last_save = self.seconds()
        while self.gap() > limits.tol:
            if state.iteration >= limits.max_iter:
                return Status.ITERATION_LIMIT
            self.method.step(self.problem, state, limits.tol)
            state.iteration += 1
            self.record()
            if state.stalled:
                return Status.STALLED
            if limits.max_time is not None and self.history[-1].seconds >= limits.max_time:
                return Status.TIME_LIMIT
            if self.seconds() - last_save >= limits.checkpoint_seconds:
                self.save()
                last_save = self.seconds()
        return Status.CONVERGED

    def record(self) -> None:
        """Add a line to the history, and let the callbacks see it."""
        state = self.state
        record = Record(state.iteration, self.seconds(), state.passes, state.primal, state.dual)
        self.history.append(record)
        for callback in self.limits.callbacks:
            callback(record)

    def seconds(self) -> float:
        """The time of the run, that before it was resumed included."""
        return time.perf_counter() - self.began

    def save(self) -> None:
        """Write the checkpoint, if there is to be one."""
        self.saved.write(self.state, self.seconds())

    def gap(self) -> float:
        """The relative gap; 0 where a heuristic sees less than the planes it has found and can add nothing."""
        primal, dual = self.state.primal, self.state.dual
        gap = relative_gap(primal, dual)
        passed = np.isinf(gap) and np.isfinite(dual) and dual >= primal
        return 0.0 if passed and not self.problem.exact() else gap

    def solution(self, stopped: Status) -> Solution:
        """The best point, and what ended the run; a gap between inexact cuts is no certificate."""
        status, state = stopped, self.state
        if stopped is not Status.INTERRUPTED and self.gap() <= self.limits.tol:
            status = Status.CONVERGED if state.exact and self.problem.exact() else Status.UNCERTIFIED
        objectives, how = (state.primal, state.dual), (tuple(self.history), state.iteration)
        return Solution(state.best, *objectives, status, *how, state.arrays, self.problem.surrogate)
