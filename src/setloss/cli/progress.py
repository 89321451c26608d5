"""Progress of long commands on standard error: one bar on a terminal, elsewhere a sentence now and then."""

import logging
import threading
import time
from datetime import timedelta
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from setloss.cli.commands import say

SECONDS_BETWEEN_LINES = 20.0
"""How often a line is written where there is no terminal."""


class Waiting(logging.Handler):
    """What is under way, for how long and how much of it is done, by the lines of the library's log."""

    def __init__(self, doing: str) -> None:
        super().__init__(logging.INFO)
        console = Console(stderr=True, highlight=False, markup=False)
        silent = not console.is_terminal or console.is_dumb_terminal
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        words = TextColumn("{task.description}", markup=False, table_column=rest)
        columns = (SpinnerColumn(), BarColumn(20), TextColumn("{task.fields[left]}"), TimeElapsedColumn(), words)
        self._bar = Progress(*columns, console=console, transient=True, disable=silent, expand=True)
        self._bar.add_task(doing, total=None, left="")
        self._began_fits = time.monotonic()
        self._finished = threading.Event()

    def __enter__(self) -> Self:
        log = logging.getLogger("setloss")
        self._level = log.level
        log.setLevel(logging.INFO)
        log.addHandler(self)
        self._bar.start()
        if self._bar.disable:
            threading.Thread(target=self._write_lines, args=(SECONDS_BETWEEN_LINES,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._bar.stop()
        log = logging.getLogger("setloss")
        log.removeHandler(self)
        log.setLevel(self._level)

    def doing(self, words: str, share: float | None = None) -> None:
        """Something else is under way now, and that share of the whole is done."""
        left = ""
        if share == 0:
            self._began_fits = time.monotonic()
        elif share is not None:
            seconds = (time.monotonic() - self._began_fits) * (1 - share) / share
            left = f"{share:.0%} done, about {timedelta(seconds=int(seconds))} left"
        task, total = self._bar.task_ids[0], None if share is None else 1
        self._bar.update(task, description=words, total=total, completed=share or 0, left=left)

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the library's log."""
        self.doing(" ".join(record.getMessage().split()), getattr(record, "share", None))

    def _write_lines(self, seconds: float) -> None:
        while not self._finished.wait(seconds):
            task = self._bar.tasks[0]
            gone = f"{timedelta(seconds=int(task.elapsed or 0))} gone"
            say(", ".join(filter(None, (gone, task.fields["left"], task.description))))
