"""What all experiments share: progress, cores and data folders, the choice of C."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

log = logging.getLogger("experiments")


def in_parallel(call: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Any:
    """Iterate over the results of all calls in their order, as they come, on all cores up to four.

    Each runs with one thread of BLAS; results do not depend on the number of cores.
    """
    from joblib import Parallel, cpu_count, delayed

    running = Parallel(min(4, cpu_count()), return_as="generator")
    return running(delayed(_one_thread)(call, *job) for job in jobs)


def _one_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    """Threads of BLAS round differently, and that is enough to choose another C."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return call(*arguments)


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data: the one given, or what SETLOSS_DATA names; None where none is named."""
    named = os.environ.get("SETLOSS_DATA")
    return given if given is not None else Path(named) if named else None


def named(
    kind: str, asked: Sequence[str] | None, known: Iterable[str], usual: Iterable[str] | None = None
) -> list[str]:
    """The names asked for, by default the usual ones; a `ValueError` says which is not known, and all that are."""
    names = list(known)
    for name in asked or ():
        if name not in names:
            raise ValueError(f"there is no {kind} {name!r}; the names are {', '.join(names)}")
    return list(asked or usual or names)


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


def past_the_best(losses: Mapping[float, Array]) -> bool:
    """Whether the last C of an ascending path is worse than the best by more than a standard error."""
    *_, last = losses.values()
    worse = last - min(losses.values(), key=np.mean)
    return float(worse.mean()) > float(worse.std(ddof=1)) / np.sqrt(len(worse))
