"""Where partitions lie and tasks run: on the workers of a Dask cluster, or here, one after the other from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

from setloss.dask.errors import ClusterLostError
from setloss.dask.memory import forget
from setloss.dask.part import Part
from setloss.lattice import Array

T = TypeVar("T")
FAN_IN = 8
"""So many partial sums are added by one task of the reduction."""

Shares = tuple[Array, ...]


class Engine(Protocol):
    """Runs ``task(source, index, *shared)`` for every partition."""

    def __len__(self) -> int: ...

    def each(self, task: Callable[..., T], *shared: Any) -> list[T]:
        """All answers, in the order of the partitions."""
        ...

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        """The sum of all answers, term by term, in an order that depends on the number of partitions alone."""
        ...

    def keep(self, indices: Sequence[int]) -> None:
        """Work with these partitions only."""
        ...

    def close(self, fit: str) -> None:
        """Drop what was remembered of a fit."""
        ...


@dataclass(eq=False)
class InMemory:
    """A partition that is here."""

    part: Part

    def read(self) -> Part:
        return self.part


@dataclass(eq=False)
class OnDisk:
    """A partition that is read when it is asked for, once."""

    delayed: Any
    part: Part | None = None

    def read(self) -> Part:
        if self.part is None:
            self.part = self.delayed.compute(scheduler="synchronous")
        return self.part


class OneByOne:
    """In this process: each partition is read when its turn comes, if it is needed at all, and dropped after it."""

    def __init__(self, delayed_parts: Sequence[Any]) -> None:
        self._parts = list(delayed_parts)

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, task: Callable[..., T], *shared: Any) -> list[T]:
        return list(self._answers(task, shared))

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        return reduce(add_shares, self._answers(task, shared))

    def keep(self, indices: Sequence[int]) -> None:
        self._parts = [self._parts[index] for index in indices]

    def close(self, fit: str) -> None:
        forget(fit)

    def _answers(self, task: Callable[..., T], shared: tuple[Any, ...]) -> Iterator[T]:
        return (task(OnDisk(part), index, *shared) for index, part in enumerate(self._parts))


class OnCluster:
    """On the workers of a Dask client, where the partitions stay; lost ones are read again by Dask."""

    def __init__(self, client: Any, delayed_parts: Sequence[Any]) -> None:
        self.client = client
        self._address = client.scheduler.address if client.scheduler is not None else "?"
        with self._reaching():
            self._parts = client.compute(list(delayed_parts))

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, task: Callable[..., T], *shared: Any) -> list[T]:
        with self._reaching():
            return list(self.client.gather(self._submit(task, shared)))

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        with self._reaching():
            answers = self._submit(task, shared)
            while len(answers) > 1:
                groups = [answers[k : k + FAN_IN] for k in range(0, len(answers), FAN_IN)]
                answers = [self.client.submit(_sum, group, pure=False) for group in groups]
            return tuple(self.client.gather(answers[0]))

    def keep(self, indices: Sequence[int]) -> None:
        self._parts = [self._parts[index] for index in indices]

    def close(self, fit: str) -> None:
        if self.client.status == "running":
            self.client.run(forget, fit, on_error="ignore")

    def _submit(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> list[Any]:
        """One future per partition; what they share is a task of its own, so that it is sent, and kept, once."""
        common = self.client.submit(_same, shared, pure=False)
        count = len(self._parts)
        arguments = ([task] * count, self._parts, range(count), [common] * count)
        return list(self.client.map(_apply, *arguments, key=task.__name__, pure=False))

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn the ways in which a cluster can vanish into one error."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ClusterLostError(
                f"a task killed the workers it ran on, again and again ({error}). Their memory may be too small for "
                "a partition: make smaller ones, or give the workers more"
            ) from error
        except (CancelledError, CommClosedError, TimeoutError, OSError) as error:
            raise ClusterLostError(
                f"the scheduler at {self._address} is gone ({type(error).__name__}). Start a cluster and fit again; "
                "with checkpoint= the work goes on where it stopped"
            ) from error


def add_shares(left: Shares, right: Shares) -> Shares:
    """Term by term."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _sum(shares: Sequence[Shares]) -> Shares:
    return reduce(add_shares, shares)


def _same(shared: Any) -> Any:
    return shared


def _apply(task: Callable[..., T], part: Part, index: int, shared: tuple[Any, ...]) -> T:
    return task(InMemory(part), index, *shared)
