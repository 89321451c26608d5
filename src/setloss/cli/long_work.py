"""What commands of many fits share: Ctrl-C that loses nothing, the folder for results, the bar."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from setloss.cli.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress

INTERRUPTED = 130


class Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which solvers take as a wish for the best model so far."""


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise `Interrupted` at once, wherever the work is."""
    listening = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    if not listening or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise Interrupted


def make_folder(out: Path) -> None:
    """Make the folder for results, or say why it cannot be had, before any work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made: {error.strerror or error}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise InputError(f"--out: {out} cannot be written to")


def progress_bar(*, counted: bool) -> "Progress":
    """A bar on standard error, where that is a terminal; `counted` shows how many of how many."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, markup=False)
    return Progress(
        BarColumn(bar_width=20),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal or console.is_dumb_terminal,
    )
