"""Ctrl-C during long work that consists of many fits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

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
