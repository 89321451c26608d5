"""Arguments of other libraries that have no counterpart here."""

from __future__ import annotations

from typing import Any


def refuse_others(name: str, given: dict[str, Any], usual: dict[str, Any]) -> None:
    """Arguments that would change nothing may keep their usual value only."""
    for argument, value in given.items():
        if value != usual[argument]:
            raise ValueError(
                f"{name}: {argument}={value!r} has no counterpart in setloss; leave it at {usual[argument]!r}"
            )
