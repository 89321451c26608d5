"""Running tasks on all partitions: on the workers of a Dask cluster, which hold them, or by Dask in this process.

Where tasks run, and what is computed again after a worker is lost, is up to Dask. Without a cluster partitions are
read in every pass, so that they need not fit into memory together.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from distributed import CancelledError, KilledWorker, get_client, wait

import dask
from dask import config, delayed
from setloss.dask.partition import numbered
from setloss.solvers.deadline import check_time
from setloss.solvers.loop import OutOfReachError
from setloss.typing import Array

FAN_IN = 8
"""Number of partial sums that one task of the reduction adds."""

LOOK_SECONDS = 2.0
"""Interval between two looks at the workers while a round runs."""

NO_WORKER_SECONDS = 300.0
"""Time a fit waits without a worker; `setloss.wait-for-workers` in the configuration of Dask sets another."""

SMALLER = "if a partition is too large for the memory of a worker, make smaller partitions"
ANEW = "Start a cluster with workers and fit again; a model with warm_start=True goes on where it stopped"
GONE = (
    "data that lay on the workers only (scattered or persisted) are gone: a worker was lost, or the cluster was "
    f"restarted. Give collections that can be read again from their source. {ANEW}"
)

Shares = tuple[Array, ...]


class ClusterLostError(OutOfReachError):
    """The scheduler, or every worker that could hold a partition, is gone; the message says how to go on."""


class Partitions:
    """Partitions of a Dask collection, and the tasks that run on them: by the current client, or in this process."""

    def __init__(self, sources: Sequence[Any]) -> None:
        self._sources = list(sources)
        try:
            self._client: Any = get_client()
        except ValueError:
            self._client = None
        self._scheduler = f"the scheduler at {getattr(getattr(self._client, 'scheduler', None), 'address', '?')}"
        self._held: list[Any] = []
        self._last: list[Any] = []
        self._stale = True

    def replace(self, kept: Sequence[int], make: Callable[[Any], Any]) -> None:
        """Work with what is made of these partitions from now on."""
        self._sources = [_lazy(make)(self._sources[index]) for index in kept]
        self._stale = True  # what is held stays until what is made of it is there

    def each(self, task: Callable[..., Any], *shared: Any) -> list[Any]:
        """All answers ``task(partition, *shared)``, in the order of the partitions."""
        return self._run(lambda parts: _answers(task, parts, shared))

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        """The sum of all answers, term by term, in an order that depends on the number of partitions alone."""

        def summed(parts: Sequence[Any]) -> list[Any]:
            answers = _answers(task, parts, shared)
            while len(answers) > 1:
                answers = [_lazy(_sum)(answers[k : k + FAN_IN]) for k in range(0, len(answers), FAN_IN)]
            return answers

        return tuple(self._run(summed)[0])

    # ---------------------------------------------------------------- on a cluster

    def _run(self, graph: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """The results of tasks; on a cluster again if the partitions are gone from it, as after a restart."""
        if self._client is None:
            return list(dask.compute(*graph(self._sources)))
        with self._client.as_current():
            for again in (False, True):
                try:
                    self._require_scheduler()
                    if self._stale or again:
                        self._held = list(self._client.persist(self._sources))
                        self._stale = False
                    results, error = self._results(self._client.compute(graph(self._held)))
                    break
                except (CancelledError, OSError) as lost:
                    running = self._client.status == "running"
                    if again or not running or not isinstance(lost, CancelledError):
                        raise ClusterLostError(GONE if running else f"{self._scheduler} is gone. {ANEW}") from lost
        if error is not None:
            raise error
        return results

    def _results(self, futures: list[Any]) -> tuple[list[Any], Exception | None]:
        """What comes of futures, or the error of a task; waits as long as there are workers or some may come.

        The futures of the last round are let go only now: a client sends messages every 10 ms, and new tasks would
        wait behind the message that old ones are not needed any more.
        """
        self._last, seconds, done = futures, LOOK_SECONDS, False
        while True:
            try:
                done = done or bool(wait(futures, timeout=LOOK_SECONDS))
                errors = [future.exception() for future in futures if future.status == "error"]
                if any(isinstance(error, KilledWorker) for error in errors):
                    raise ClusterLostError(f"a task ended the workers it ran on, again and again; {SMALLER}")
                if errors:
                    return [], errors[0]
                return list(self._client.sync(self._client.gather, futures, callback_timeout=seconds)), None
            except TimeoutError:
                check_time()
                self._require_worker()
                seconds *= 2 if done else 1  # answers are large, or the way is slow

    def _require_scheduler(self) -> None:
        if self._client.status != "running":
            raise ConnectionError("the client has lost its scheduler")

    def _require_worker(self) -> None:
        """Wait while no worker takes tasks, and raise `ClusterLostError` where that takes too long."""
        seconds = float(config.get("setloss.wait-for-workers", NO_WORKER_SECONDS))
        for _ in range(ceil(seconds / LOOK_SECONDS)):
            self._require_scheduler()
            with suppress(TimeoutError):
                self._client.wait_for_workers(1, timeout=min(seconds, LOOK_SECONDS))
                return
        raise ClusterLostError(
            f"the cluster had no worker that takes tasks for {seconds:g} seconds: workers are gone, or paused "
            f"because their memory is full; {SMALLER}. {ANEW}"
        )


def _lazy(function: Callable[..., Any]) -> Any:
    return delayed(function, pure=False, traverse=False)


def _answers(task: Callable[..., Any], parts: Sequence[Any], shared: tuple[Any, ...]) -> list[Any]:
    """A task for every partition; what they share is a task of its own, so that it is sent to a worker once."""
    common = _lazy(partial(tuple, shared))()
    return [_lazy(partial(_apply, index, task))(part, common) for index, part in enumerate(parts)]


def _apply(index: int, task: Callable[..., Any], part: Any, shared: tuple[Any, ...]) -> Any:
    return numbered(index, task, part, *shared)


def _sum(shares: Sequence[Shares]) -> Shares:
    return tuple(np.sum(terms, axis=0) for terms in zip(*shares, strict=True))
