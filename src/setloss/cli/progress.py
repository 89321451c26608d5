"""Progress of long commands on standard error: one line on a terminal, elsewhere a sentence now and then."""

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from setloss.cli.commands import say

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

SECONDS_BETWEEN_LINES = 20.0
"""How often a line is written where there is no terminal."""


@contextmanager
def finishing() -> Iterator[None]:
    """Ctrl-C is not heard for the short time in which a result is written, which it would lose."""
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


class Waiting(logging.Handler):
    """What is under way and for how long; lines of the library's log are shown as what is under way."""

    def __init__(self, doing: str) -> None:
        super().__init__(logging.INFO)
        console = Console(stderr=True, highlight=False, markup=False)
        silent = not console.is_terminal or console.is_dumb_terminal
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=silent)
        self._task = self._bar.add_task(doing, total=None)
        self._words, self._began = doing, time.monotonic()
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

    def doing(self, words: str) -> None:
        """Something else is under way now."""
        self._words = words
        self._bar.update(self._task, description=words)

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the library's log."""
        self.doing(" ".join(record.getMessage().split()))

    def _write_lines(self, seconds: float) -> None:
        while not self._finished.wait(seconds):
            gone = int(time.monotonic() - self._began)
            say(f"{gone // 60}:{gone % 60:02d} gone, {self._words}")
