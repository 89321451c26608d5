"""Where partitions lie and tasks run: on the workers of a Dask cluster, or here, one after the other from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, NoReturn, Protocol, TypeVar
from uuid import uuid4

from dask import annotate, get, optimize
from setloss.dask.errors import ClusterLostError, PartitionError
from setloss.dask.notes import forget
from setloss.dask.partition import Partition
from setloss.dask.placement import Placement
from setloss.typing import Array

T = TypeVar("T")
FAN_IN = 8
"""So many partial sums are added by one task of the reduction."""

LOOK_SECONDS = 2.0
"""How often a round that takes longer looks whether its workers are still there."""

SENT_ALONG = 2**21
"""Up to so many bytes, together, go to and from every partition in one task a thread, and are added by the driver."""

Shares = tuple[Array, ...]


class Engine(Protocol):
    """Runs ``task(source, index, *shared)`` for every partition."""

    def __len__(self) -> int: ...

    def stream(self, task: Callable[..., T], *shared: Any) -> Iterator[T]:
        """The answers one by one, in the order of the partitions."""
        ...

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

    part: Partition

    def read(self) -> Partition:
        return self.part


@dataclass(eq=False)
class OnDisk:
    """A partition that is read when it is asked for, once, by a graph that is as short as it gets."""

    delayed: Any
    index: int
    part: Partition | None = None

    def read(self) -> Partition:
        if self.part is None:
            try:
                self.part = get(self.delayed.__dask_graph__(), self.delayed.key)
            except (OSError, RuntimeError) as error:
                raise PartitionError(f"partition {self.index} cannot be read: {error}") from error
        return self.part


class OneByOne:
    """In this process: each partition is read when its turn comes, if it is needed at all, and dropped after it."""

    def __init__(self, delayed_partitions: Sequence[Any], watch: Callable[[int, int], object] | None = None) -> None:
        self._parts = [optimize(part)[0] for part in delayed_partitions]  # and not each time that it is read
        self._watch = watch

    def __len__(self) -> int:
        return len(self._parts)

    def stream(self, task: Callable[..., T], *shared: Any) -> Iterator[T]:
        for index, part in enumerate(self._parts):
            if self._watch is not None:
                self._watch(index + 1, len(self._parts))
            yield task(OnDisk(part, index), index, *shared)

    def each(self, task: Callable[..., T], *shared: Any) -> list[T]:
        return list(self.stream(task, *shared))

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        return tree_sum(self.stream(task, *shared), len(self))

    def keep(self, indices: Sequence[int]) -> None:
        self._parts = [self._parts[index] for index in indices]

    def close(self, fit: str) -> None:
        forget(fit)


class OnCluster:
    """On the workers of a Dask client, where the partitions stay; lost ones are read again by Dask."""

    def __init__(self, client: Any, delayed_partitions: Sequence[Any]) -> None:
        self.client = client
        self._placement = Placement(client)
        self._address = client.scheduler.address if client.scheduler is not None else "?"
        self._last: list[Any] = []
        with self._reaching():
            self._parts = client.compute(list(delayed_partitions))

    def __len__(self) -> int:
        return len(self._parts)

    def stream(self, task: Callable[..., T], *shared: Any) -> Iterator[T]:
        return iter(self.each(task, *shared))

    def each(self, task: Callable[..., T], *shared: Any) -> list[T]:
        if self._few_bytes(shared):
            return self._together(task, shared)
        return self._round(lambda: self._submit(task, shared))

    def total(self, task: Callable[..., Shares], *shared: Any) -> Shares:
        if self._few_bytes(shared):
            return tree_sum(iter(self._together(task, shared)), len(self))
        return tuple(self._round(lambda: self._summed(self._submit(task, shared)))[0])

    def keep(self, indices: Sequence[int]) -> None:
        self._parts = [self._parts[index] for index in indices]

    def close(self, fit: str) -> None:
        self._last = []
        if self.client.status == "running":
            self.client.run(forget, fit, on_error="ignore")

    def _few_bytes(self, shared: tuple[Any, ...]) -> bool:
        """Whether what tasks share, and answer, may go to and from the driver for every one of a few partitions."""
        total = len(self) * sum(getattr(each, "nbytes", 0) for each in shared)
        return len(self) <= FAN_IN * FAN_IN and total <= SENT_ALONG

    def _together(self, task: Callable[..., T], shared: tuple[Any, ...]) -> list[T]:
        """One task a thread of the workers, for all partitions there: Dask takes milliseconds for every task."""

        def submit() -> list[Any]:
            homes, groups = zip(*self._placement.groups(), strict=True)
            held = [[self._parts[index] for index in group] for group in groups]
            return self._map(_apply_to_all, homes, [task] * len(groups), held, groups, [shared] * len(groups))

        found: dict[int, T] = {}
        for answers in self._round(submit):
            found.update(answers)
        return [found[index] for index in range(len(self))]

    def _round(self, submit: Callable[[], list[Any]]) -> list[Any]:
        """The results of tasks on all partitions; again if a worker of one goes away.

        The tasks of a round are let go when those of the next are on their way: a client sends what it has to say
        every 10 ms, so that new tasks would wait behind the word that old ones are not needed any more.
        """
        with self._reaching(), self.client.as_current():
            while True:
                self._await_partitions()
                self._move_partitions()
                self._last = submit()
                results = self._results(self._last)
                if results is not None:
                    return results

    def _await_partitions(self) -> None:
        """Wait until the partitions are on workers again, for as long as there are workers, or some may come."""
        from distributed import wait

        while True:
            try:
                wait(self._parts, timeout=LOOK_SECONDS)
                return
            except TimeoutError:
                self._placement.require_workers()

    def _move_partitions(self) -> None:
        """Give partitions to the workers that are to have them: a copy there, and none where they were."""
        for index, home in self._placement.settle(self._parts).items():
            part = self._parts[index]
            key = f"{str(part.key).partition('-')[0]}-moved-{uuid4().hex}"
            self._parts[index] = self.client.submit(_same, part, key=key, workers=[home], allow_other_workers=True)

    def _results(self, futures: list[Any]) -> list[Any] | None:
        """What comes of futures, fetched together; None if a worker is gone that was to compute one."""
        from distributed import wait

        seconds = LOOK_SECONDS
        while True:
            try:
                wait(futures, timeout=LOOK_SECONDS)
                if failed := [future for future in futures if future.status == "error"]:
                    return _raise_error_of(failed[0])
                return list(self.client.sync(self.client.gather, futures, callback_timeout=seconds))
            except TimeoutError:
                if not self._placement.complete():
                    return None
                if all(future.status == "finished" for future in futures):
                    seconds *= 2  # they are large, or the way is slow

    def _submit(self, task: Callable[..., Any], shared: tuple[Any, ...]) -> list[Any]:
        """One future per partition; what they share is a task of its own, so that it is sent, and kept, once."""
        common = self.client.submit(_same, shared, pure=False)
        count = len(self)
        return self._map(_apply, self._placement.homes, [task] * count, self._parts, range(count), [common] * count)

    def _map(self, function: Callable[..., Any], homes: Sequence[str], *arguments: Sequence[Any]) -> list[Any]:
        """The futures of a function of arguments at each of these workers, sent in one message."""
        token = f"{arguments[0][0].__name__}-{uuid4().hex}"
        home_of = {f"{token}-{place}": home for place, home in enumerate(homes)}
        with annotate(workers=home_of.__getitem__):
            return list(self.client.map(function, *arguments, key=list(home_of), pure=False))

    def _summed(self, answers: list[Any]) -> list[Any]:
        """The root of the tree of sums."""
        while len(answers) > 1:
            groups = [answers[k : k + FAN_IN] for k in range(0, len(answers), FAN_IN)]
            answers = list(self.client.map(_sum, groups, pure=False))
        return answers

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
            if isinstance(error, CancelledError) and self.client.status == "running":
                raise ClusterLostError(
                    "a worker is gone, and with it data that lay nowhere else. Give arrays that can be read again "
                    "from their source (files, functions) rather than scattered ones; with checkpoint= the work goes "
                    "on where it stopped"
                ) from error
            raise ClusterLostError(
                f"the scheduler at {self._address} is gone ({type(error).__name__}). Start a cluster and fit again; "
                "with checkpoint= the work goes on where it stopped"
            ) from error


def add_shares(left: Shares, right: Shares) -> Shares:
    """Term by term."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def in_eights(answers: Iterable[Shares]) -> Iterator[Shares]:
    """Sums of `FAN_IN` answers each: one level of the tree."""
    following = iter(answers)
    return (reduce(add_shares, islice(following, FAN_IN - 1), first) for first in following)


def tree_sum(answers: Iterator[Shares], count: int) -> Shares:
    """The sum of so many answers, in the order of the tree."""
    while count > 1:
        answers, count = in_eights(answers), -(-count // FAN_IN)
    return next(answers)


def _raise_error_of(failed: Any) -> NoReturn:
    """The error of a task; one of reading is that of a partition."""
    try:
        failed.result()
    except (OSError, RuntimeError) as error:
        raise PartitionError(f"a partition cannot be read where its worker is: {error}") from error
    raise AssertionError("a task that failed has a result")


def _sum(shares: Sequence[Shares]) -> Shares:
    return reduce(add_shares, shares)


def _same(shared: Any) -> Any:
    return shared


def _apply_to_all(
    task: Callable[..., T], parts: Sequence[Partition], indices: Sequence[int], shared: tuple[Any, ...]
) -> dict[int, T]:
    """The answers by the numbers of the partitions."""
    return {index: task(InMemory(part), index, *shared) for part, index in zip(parts, indices, strict=True)}


def _apply(task: Callable[..., T], part: Partition, index: int, shared: tuple[Any, ...]) -> T:
    return task(InMemory(part), index, *shared)
