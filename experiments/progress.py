"""Progress of a long command on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

SECONDS_BETWEEN_LINES = 20.0
ENOUGH_TO_FORESEE = 0.1
"""Share of the work after which the time that is left is shown."""


class ShownProgress:
    """Call `update` with the share of the work that is done, in [0, 1], and what is under way."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False)
        quiet = not self._console.is_terminal
        columns = (BarColumn(20), TextColumn("{task.description}", markup=False))
        self._bar = Progress(*columns, console=self._console, transient=True, disable=quiet)
        self._task = self._bar.add_task("starting", total=1.0)
        self._began = self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, share: float, doing: str) -> None:
        """Show the share that is done, the time gone and about that left, and what is under way."""
        now = time.monotonic()
        gone = now - self._began
        left = f", about {_minutes(gone * (1 - share) / share)} left" if share >= ENOUGH_TO_FORESEE else ""
        line = f"{share:.0%}, {_minutes(gone)} gone{left}, {doing}"
        self._bar.update(self._task, completed=share, description=line)
        if self._bar.disable and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self.announce(line)

    def announce(self, line: str) -> None:
        """A line that stays."""
        self._console.print(line, style="dim", soft_wrap=True)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
