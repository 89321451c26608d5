"""The one loop: limits, history, callbacks, interruption and checkpoints around the iterations of any method.

A method is a frozen configuration that makes a state and improves it. The state always carries the best primal
point so far and the best dual value; the loop only looks at these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from setloss.plans.batch import BatchSurrogate
from setloss.solvers.checkpoint import Checkpoint
from setloss.solvers.solution import Record, Solution, Status, relative_gap
from setloss.typing import Array

Callback = Callable[[Record], object]


@dataclass
class State:
    """Where a method is: `arrays` is all it needs to go on, by name, and what a checkpoint stores.

    `derived` holds what a method computes from the problem once and can compute again.
    """

    arrays: dict[str, Array]
    best: Array
    primal: float = np.inf
    dual: float = -np.inf
    iteration: int = 0
    passes: float = 0.0
    exact: bool = True
    stalled: bool = False
    derived: dict[str, Any] = field(default_factory=dict)

    def offer_primal(self, parameters: Array, value: float) -> None:
        """Keep the parameters of the best primal value."""
        if value < self.primal:
            self.primal = value
            self.best = parameters.copy()

    def offer_dual(self, value: float) -> None:
        """Keep the best dual value; every one is a lower bound of every primal value."""
        self.dual = max(self.dual, value)


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


class OutOfReachError(RuntimeError):
    """The data cannot be reached any more; the state is that of the last whole iteration."""


class Method(Protocol[P]):
    """A solver: how to begin, and one iteration."""

    @property
    def name(self) -> str:
        """How checkpoints and messages call it."""
        ...

    def start(self, problem: P, warm: Solution | None) -> State:
        """The state before the first iteration, near an earlier solution if there is one."""
        ...

    def step(self, problem: P, state: State, tol: float) -> None:
        """One iteration, in place."""
        ...

    def finish(self, problem: P, state: State) -> None:
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


def run(problem: P, method: Method[P], limits: Limits, warm: Solution | None = None) -> Solution:
    """Iterate until a limit is reached; Ctrl-C returns the best solution so far."""
    saved = Checkpoint.at(limits.checkpoint, problem, method.name)
    with saved.alone():
        return _run(problem, method, limits, warm, saved)


def _run(problem: P, method: Method[P], limits: Limits, warm: Solution | None, saved: Checkpoint) -> Solution:
    clock = time.perf_counter
    state = method.start(problem, warm)
    spent = saved.restore(state)
    history: list[Record] = []
    began = last_save = clock()
    status = Status.ITERATION_LIMIT
    try:
        while _gap(problem, state) > limits.tol:
            if state.iteration >= limits.max_iter:
                break
            method.step(problem, state, limits.tol)
            state.iteration += 1
            seconds = spent + clock() - began
            record = Record(state.iteration, seconds, state.passes, state.primal, state.dual)
            history.append(record)
            for callback in limits.callbacks:
                callback(record)
            if state.stalled:
                status = Status.STALLED
                break
            if limits.max_time is not None and seconds >= limits.max_time:
                status = Status.TIME_LIMIT
                break
            if clock() - last_save >= limits.checkpoint_seconds:
                saved.write(state, seconds)
                last_save = clock()
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except OutOfReachError:
        saved.write(state, spent + clock() - began)
        raise
    if _gap(problem, state) > limits.tol:
        method.finish(problem, state)
    if _gap(problem, state) <= limits.tol and status is not Status.INTERRUPTED:
        status = Status.CONVERGED
    saved.write(state, spent + clock() - began)
    if not (state.exact and problem.exact()):
        status = Status.UNCERTIFIED if status is Status.CONVERGED else status
    return Solution(
        state.best,
        state.primal,
        state.dual,
        status,
        tuple(history),
        state.iteration,
        state.arrays,
        problem.surrogate,
    )


def _gap(problem: Trainable, state: State) -> float:
    """The relative gap; 0 where a heuristic sees less than the planes it has found and can add nothing."""
    gap = relative_gap(state.primal, state.dual)
    passed = np.isinf(gap) and np.isfinite(state.dual) and state.dual >= state.primal
    return 0.0 if passed and not problem.exact() else gap
