"""How long computations report their progress, and on how many cores they run."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, in [0, 1], and with what is under way."""


def no_progress(share: float, doing: str) -> None:
    """Report nothing."""


def usual_jobs() -> int:
    """All cores up to four; results do not depend on their number."""
    from joblib import cpu_count

    return min(4, int(cpu_count()))
