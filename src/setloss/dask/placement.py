"""Which worker a partition belongs to: its tasks run there, and nowhere else while that worker lives.

Dask alone would send a task to whoever is idle, with a copy of the partition. Notes on a partition would then be
spread over workers, and what comes out of a fit would depend on who was faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dask import config
from setloss.dask.errors import ClusterLostError

NO_WORKER_SECONDS = 300.0
"""So long a fit waits without a worker; `setloss.wait-for-workers` in the configuration of Dask says another."""


class Placement:
    """The address of one worker per partition, kept up to date with who is there."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._threads: dict[str, int] = {}
        self.homes: list[str] = []

    def settle(self, parts: Sequence[Any]) -> dict[int, str]:
        """Give all partitions a home; returns those that lie elsewhere, and are to go there.

        Each worker gets its share of the partitions, by its threads, those first that it has. Later
        only those move whose worker is gone, or gives some to one that has come.
        """
        threads = self._present()
        if threads.keys() == self._threads.keys() and len(parts) == len(self.homes):
            return {}
        holders = self._client.who_has(list(parts))
        found = [[worker for worker in holders.get(part.key, ()) if worker in threads] for part in parts]
        known = self.homes if len(self.homes) == len(parts) else [""] * len(parts)
        newcomers = sorted(threads.keys() - self._threads.keys()) if self._threads else []
        self._threads = threads
        self.homes = _homes([home if home in threads else "" for home in known], found, threads, newcomers)
        return {
            index: home
            for index, (home, near) in enumerate(zip(self.homes, found, strict=True))
            if near and home not in near
        }

    def groups(self) -> list[tuple[str, list[int]]]:
        """The partitions of every thread of every worker, with the address of the worker."""
        found = []
        for worker in dict.fromkeys(self.homes):
            here = [index for index, home in enumerate(self.homes) if home == worker]
            count = min(self._threads[worker], len(here))
            found += [(worker, here[k::count]) for k in range(count)]
        return found

    def complete(self) -> bool:
        """Whether every home is still there."""
        return set(self.homes) <= set(self._client.nthreads())

    def require_workers(self) -> None:
        """Wait while there is no worker at all, and raise `ClusterLostError` where that takes too long."""
        self._present()

    def _present(self) -> dict[str, int]:
        """The workers that are there, at least one, and their threads."""
        seconds = float(config.get("setloss.wait-for-workers", NO_WORKER_SECONDS))
        while not (threads := dict(self._client.nthreads())):
            try:
                self._client.wait_for_workers(1, timeout=seconds)
            except TimeoutError:
                raise ClusterLostError(
                    f"the cluster had no worker for {seconds:g} seconds. Start some and fit again; with checkpoint= "
                    "the work goes on where it stopped"
                ) from None
        return threads


def _homes(
    homes: list[str], holders: Sequence[Sequence[str]], threads: dict[str, int], newcomers: Sequence[str]
) -> list[str]:
    """A home for every partition without one, then partitions for newcomers from those that have most a thread."""
    counts = Counter({worker: homes.count(worker) for worker in sorted(threads)})
    shares = {worker: -(-len(homes) * count // sum(threads.values())) for worker, count in threads.items()}

    def load(worker: str, more: int = 0) -> tuple[float, str]:
        return (counts[worker] + more) / threads[worker], worker

    for index, home in enumerate(homes):
        if not home:
            near = [worker for worker in holders[index] if counts[worker] < shares[worker]]
            homes[index] = min(near or threads, key=lambda worker: load(worker, 1))
            counts[homes[index]] += 1
    for newcomer in newcomers:
        while load(busiest := max(threads, key=load))[0] > load(newcomer, 1)[0]:
            homes[homes.index(busiest)] = newcomer
            counts[busiest] -= 1
            counts[newcomer] += 1
    return homes
