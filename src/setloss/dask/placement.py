"""Which worker a partition belongs to: its tasks run there, and nowhere else while that worker lives.

Dask alone would send a task to whoever is idle, with a copy of the partition. Notes on a partition would then be
spread over workers, and what comes out of a fit would depend on who was faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

from dask import config
from setloss.dask.errors import ClusterLostError

NO_WORKER_SECONDS = 300.0
"""So long a fit waits without a worker; `setloss.wait-for-workers` in the configuration of Dask says another."""


class Placement:
    """The address of one worker per partition, kept up to date with who is there."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._addresses: list[str] = []
        self._threads: dict[str, int] = {}

    def of(self, parts: Sequence[Any]) -> list[str]:
        """The homes of all partitions; only those move whose worker is gone, or gives some to one that has come."""
        threads = self._present()
        if threads.keys() != self._threads.keys() or len(parts) != len(self._addresses):
            self._addresses = self._settle(parts, threads.keys())
        self._threads = threads
        return self._addresses

    def groups(self, parts: Sequence[Any]) -> list[tuple[str, list[int]]]:
        """The partitions of every thread of every worker, with the address of the worker."""
        homes = self.of(parts)
        found = []
        for worker in dict.fromkeys(homes):
            here = [index for index, home in enumerate(homes) if home == worker]
            count = min(self._threads[worker], len(here))
            found += [(worker, here[k::count]) for k in range(count)]
        return found

    def complete(self) -> bool:
        """Whether every home is still there."""
        return set(self._addresses) <= set(self._client.nthreads())

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

    def _settle(self, parts: Sequence[Any], workers: Set[str]) -> list[str]:
        known = self._addresses if len(self._addresses) == len(parts) else [""] * len(parts)
        homes = [home if home in workers else "" for home in known]
        counts = Counter({worker: homes.count(worker) for worker in sorted(workers)})
        holders = self._client.who_has(list(parts)) if "" in homes else {}
        for index, part in enumerate(parts):
            if not homes[index]:
                near = [worker for worker in holders.get(part.key, ()) if worker in workers]
                homes[index] = min(near or counts, key=lambda worker: (counts[worker], worker))
                counts[homes[index]] += 1
        if self._threads:
            _share_with(sorted(workers - self._threads.keys()), homes, counts)
        return homes


def _share_with(newcomers: Sequence[str], homes: list[str], counts: Counter[str]) -> None:
    """Give every newcomer partitions of the worker that has most, while that one keeps more."""
    for newcomer in newcomers:
        while counts[busiest := max(counts, key=lambda worker: (counts[worker], worker))] > counts[newcomer] + 1:
            homes[homes.index(busiest)] = newcomer
            counts[busiest] -= 1
            counts[newcomer] += 1
