"""What a process remembers of the partitions it has worked on: margins, dual variables, surrogates.

Everything here can be computed again from the partition and what the driver sends, so a process that has lost it,
or never had it, gives the same answers later.
"""

from __future__ import annotations

from threading import RLock
from typing import Any


class Notes(dict[str, Any]):
    """The notes on one partition, and a lock for who reads and writes them."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = RLock()


_NOTES: dict[tuple[str, int], Notes] = {}
_GUARD = RLock()


def notes_on(fit: str, index: int) -> Notes:
    """The notes of this process on a partition of a fit, empty at first."""
    with _GUARD:
        return _NOTES.setdefault((fit, index), Notes())


def forget(fit: str) -> None:
    """Drop all notes of a fit."""
    with _GUARD:
        for key in [key for key in _NOTES if key[0] == fit]:
            del _NOTES[key]
