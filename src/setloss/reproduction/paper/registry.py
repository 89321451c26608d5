"""The artefacts by name, in the paper's order; a module is imported when its artefact is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from setloss.reproduction.paper.artefact import Artefact

SECONDS = {
    "figure1": (1, 1, 1),
    "figure2": (6, 6, 20),
    "table1": (8, 60, 1300),
    "figure3": (1, 2, 2),
    "table2": (13, 95, 6500),
    "figure5": (7, 15, 450),
    "table3": (4, 12, 60),
}
"""What each takes on two quiet cores, about, in a trial, as usual and in full: it divides the bar of progress."""

ARTEFACTS = tuple(SECONDS)
"""Every table and figure with content of its own; Figure 4 shows photographs of faces."""


def artefact_named(name: str) -> Artefact:
    """The artefact of that name: ``setloss.reproduction.paper.<name>.<NAME>``."""
    artefact: Artefact = getattr(import_module(f"setloss.reproduction.paper.{name}"), name.upper())
    return artefact


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """The names asked for, each once, in the paper's order; "all" stands for every artefact."""
    wanted = set(names)
    unknown = sorted(wanted - {*ARTEFACTS, "all"})
    if unknown:
        raise ValueError(
            f"there is no artefact {', '.join(map(repr, unknown))}; the names are {', '.join(ARTEFACTS)}, and all"
        )
    return tuple(name for name in ARTEFACTS if name in wanted or "all" in wanted)


def shares_of_time(names: Iterable[str], *, quick: bool = False, full: bool = False) -> list[tuple[float, float]]:
    """For each artefact the share of the whole time that is over when it begins, and the share that it takes."""
    seconds = [SECONDS[name][0 if quick else 2 if full else 1] for name in names]
    starts = [sum(seconds[:k]) for k in range(len(seconds))]
    return [(start / sum(seconds), length / sum(seconds)) for start, length in zip(starts, seconds, strict=True)]
