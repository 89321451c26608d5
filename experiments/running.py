"""What long computations have in common: how they report progress, on how many cores they run, where data are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, in [0, 1], and with what is under way."""


def no_progress(share: float, doing: str) -> None:
    """Report nothing."""


def part_of(progress: Progress, begun: float, size: float, name: str = "") -> Progress:
    """Progress of a part of the work: it begins when the share `begun` of the whole is done, and adds `size` to it.

    Words are told after the name of the part, if it has one.
    """
    return lambda share, doing: progress(begun + size * share, f"{name}: {doing}" if name else doing)


def usual_jobs() -> int:
    """All cores up to four; results do not depend on their number."""
    from joblib import cpu_count

    return min(4, int(cpu_count()))


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data: the one given, or what SETLOSS_DATA names; None where none is named."""
    named = os.environ.get("SETLOSS_DATA")
    return given if given is not None else Path(named) if named else None
