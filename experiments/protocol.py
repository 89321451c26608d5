"""What all experiments share: progress, cores and data folders, the choice of C, ranks of methods."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from scipy.stats import rankdata

from setloss.typing import Array

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, in [0, 1], and with what is under way."""

SECONDS_BETWEEN_LINES = 20.0
ENOUGH_TO_FORESEE = 0.1
"""Share of the work after which the time that is left is shown."""


def no_progress(share: float, doing: str) -> None:
    """Report nothing."""


def part_of(progress: Progress, begun: float, size: float, name: str = "") -> Progress:
    """Progress of a part of the work: it begins when the share `begun` of the whole is done, and adds `size` to it.

    Words are told after the name of the part, if it has one.
    """
    return lambda share, doing: progress(begun + size * share, f"{name}: {doing}" if name else doing)


class ShownProgress:
    """Progress of a long command on standard error: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False)
        columns = (BarColumn(20), TextColumn("{task.description}", markup=False))
        quiet = not self._console.is_terminal
        self._bar = Bar(*columns, console=self._console, transient=True, disable=quiet)
        self._task = self._bar.add_task("starting", total=1.0)
        self._began = self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, share: float, doing: str) -> None:
        """Show the share that is done, the time gone and about that left, and what is under way."""
        now = time.monotonic()
        gone = now - self._began
        left = f", about {_minutes(gone * (1 - share) / share)} left" if share >= ENOUGH_TO_FORESEE else ""
        line = f"{share:.0%}, {_minutes(gone)} gone{left}, {doing}"
        self._bar.update(self._task, completed=share, description=line)
        if self._bar.disable and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self.announce(line)

    def announce(self, line: str) -> None:
        """A line that stays."""
        self._console.print(line, style="dim", soft_wrap=True)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def usual_jobs() -> int:
    """All cores up to four; results do not depend on their number."""
    from joblib import cpu_count

    return min(4, int(cpu_count()))


def in_parallel(call: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], n_jobs: int) -> Any:
    """Iterate over the results of all calls in their order, as they come; each runs with one thread of BLAS."""
    from joblib import Parallel, delayed

    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_one_thread)(call, *job) for job in jobs)


def _one_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    """Threads of BLAS round differently, and that is enough to choose another C."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return call(*arguments)


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data: the one given, or what SETLOSS_DATA names; None where none is named."""
    named = os.environ.get("SETLOSS_DATA")
    return given if given is not None else Path(named) if named else None


LEVEL = 0.1
"""Standard errors within which two mean losses on held-out bags are taken to be level."""


def smallest_good_C(losses: Mapping[float, Array]) -> float:
    """The smallest C whose mean loss on held-out bags is level with the least, within `LEVEL` standard errors.

    `losses` has one value per bag. Held-out losses of neighbouring values of C are often level, and the least of them
    is then decided by how the machine rounds; a small C is cheap and its solution is well determined.
    """
    means = {C: float(np.mean(values)) for C, values in losses.items()}
    best = min(means, key=means.__getitem__)
    bags = losses[best]
    limit = means[best] + LEVEL * float(bags.std(ddof=1)) / np.sqrt(len(bags))
    return min(C for C, mean in means.items() if mean <= limit)


def average_ranks(results: Mapping[str, Mapping[str, float]], *, lower_is_better: bool = False) -> dict[str, float]:
    """The mean rank of every method from ``results[data set][method]``; all data sets must have the same methods."""
    tables = list(results.values())
    methods = list(tables[0]) if tables else []
    if any(set(table) != set(methods) for table in tables):
        raise ValueError("ranks compare the same methods on every data set; some results are missing")
    if not tables:
        return {}
    values = np.array([[table[method] for method in methods] for table in tables])
    ranks = rankdata(values if lower_is_better else -values, axis=1).mean(axis=0)
    return {method: float(rank) for method, rank in zip(methods, ranks, strict=True)}
