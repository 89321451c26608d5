"""How long work is heard of, and on how many cores it runs."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Hears the share of the work that is done, in [0, 1], and what is under way."""


def unheard(share: float, doing: str) -> None:
    """Nobody listens."""


def usual_jobs() -> int:
    """All cores up to four; results do not depend on their number."""
    from joblib import cpu_count

    return min(4, int(cpu_count()))
