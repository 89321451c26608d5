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

    `full` asks for all folds and repeats of the paper, and for its sizes; without it every artefact fits in
    minutes on two cores. `data` is the folder of real data, as `setloss.datasets` finds it where None.
    """

    seed: int = 0
    full: bool = False
    data: Path | None = None
    progress: Progress = no_progress


@dataclass(frozen=True)
class Artefact:
    """A table or figure of the paper by its name, and the function that makes it."""

    name: str
    title: str
    make: Callable[[Settings], Document]
