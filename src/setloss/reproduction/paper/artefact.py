"""An artefact is one table or figure of the paper: settings in, a document out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from setloss.reproduction.document import Document
from setloss.reproduction.running import Progress, no_progress


@dataclass(frozen=True)
class Settings:
    """How an artefact is made; `progress` hears the share of it that is done, in [0, 1], and what is under way.

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
