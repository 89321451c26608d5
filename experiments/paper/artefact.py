"""An artefact is one table or figure of the paper: settings in, a document out.

Artefacts are known by name, in the paper's order; a module is imported when its artefact is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from experiments.document import Document
from experiments.running import Progress, no_progress


@dataclass(frozen=True)
class Settings:
    """How an artefact is made; `progress` is told the share of it that is done, in [0, 1], and what is under way.

    `full` asks for all folds and repeats of the paper, and for its sizes; without it every artefact fits in minutes
    on two cores. `quick` asks for so few folds and repeats that everything takes a minute: to see that it works, not
    for its numbers. `data` is the folder of real data; None is what SETLOSS_DATA names.
    """

    seed: int = 0
    full: bool = False
    data: Path | None = None
    quick: bool = False
    progress: Progress = no_progress

    @property
    def size(self) -> str:
        """The size of the run in words."""
        if self.full:
            return "the paper's sizes, all folds and repeats"
        return "a trial run: its numbers mean little" if self.quick else "fewer folds and repeats than the paper's"


@dataclass(frozen=True)
class Artefact:
    """A table or figure of the paper by its name, and the function that makes it."""

    name: str
    title: str
    make: Callable[[Settings], Document]


SECONDS = {
    "figure1": (1, 1, 1),
    "figure2": (6, 6, 20),
    "table1": (8, 60, 1300),
    "figure3": (1, 2, 2),
    "table2": (13, 95, 6500),
    "figure5": (7, 15, 450),
    "table3": (4, 12, 60),
}
"""About how long each takes on two quiet cores in a trial run, by default and in full; for the bar of progress."""

ARTEFACTS = tuple(SECONDS)
"""Every table and figure with content of its own; Figure 4 shows photographs of faces."""


def artefact_named(name: str) -> Artefact:
    """The artefact of that name: ``experiments.paper.<name>.<NAME>``."""
    artefact: Artefact = getattr(import_module(f"experiments.paper.{name}"), name.upper())
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
