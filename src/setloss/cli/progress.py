"""A training run on the terminal: how far the gap is, and Ctrl-C, which stops after the iteration under way."""

import math
import signal
import threading
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from setloss.solvers import Record

STOPPING = "stopping after this iteration (Ctrl-C again: at once)"


class NoModelYetError(Exception):
    """Ctrl-C while candidates are compared: none of them is trained on all the data."""


class Watch:
    """A callback for the solver that draws a bar on a terminal and turns Ctrl-C into an orderly end.

    The first Ctrl-C waits for the end of an iteration, where the state of the solver is whole, after which there is
    a model whose objective is known; the second does not wait.
    """

    def __init__(self, tol: float, fits: int = 1) -> None:
        self.tol, self.fits = tol, fits
        self.fit, self.asked = 0, False
        self._last, self._first_gap = math.inf, math.nan
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal or console.is_dumb_terminal,
        )
        self._task = self._bar.add_task("starting", total=1.0 if tol > 0 else None)
        self._previous: Any = None
        self._words = "starting"

    def __enter__(self) -> "Watch":
        listening = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if listening and threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._ask)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._bar.update(self._task, description=STOPPING)

    def __deepcopy__(self, memo: object) -> "Watch":
        return self  # scikit-learn clones estimators with their callbacks, and there is one terminal

    def __call__(self, record: Record) -> None:
        """Follow one iteration of one fit."""
        if record.iteration <= self._last:
            self.fit, self._first_gap = self.fit + 1, math.inf
        if self._first_gap == math.inf:
            self._first_gap = record.gap
        self._last = record.iteration
        if self.asked and self.fit < self.fits:
            raise NoModelYetError
        if self.asked and record.gap > self.tol and math.isfinite(record.primal):
            raise KeyboardInterrupt
        which = f"fit {self.fit} of {self.fits}, " if self.fits > 1 else ""
        gap = f"{record.gap:.1e}" if math.isfinite(record.gap) else "?"
        so_far = f"iteration {record.iteration}, {record.passes:.0f} passes"
        words = f"{which}{so_far}, gap {gap} (asked: {self.tol:.1e})"
        words = self._words = STOPPING if self.asked else words
        self._bar.update(self._task, description=words, completed=self._share(record.gap))

    def on_partition(self, number: int, count: int) -> None:
        """Say which partition is being read, for a pass over them can take minutes."""
        if not self.asked:
            self._bar.update(self._task, description=f"{self._words}; partition {number} of {count}")

    def _share(self, gap: float) -> float:
        """How much of the way from the first gap to the one asked for is behind us, in orders of magnitude."""
        if not (0 < self.tol < self._first_gap < math.inf):
            return float(gap <= self.tol)
        if gap <= self.tol:
            return 1.0
        return math.log(self._first_gap / gap) / math.log(self._first_gap / self.tol)


def say(sentence: str) -> None:
    """One sentence on standard error."""
    typer.echo(f"setloss: {sentence}", err=True)
