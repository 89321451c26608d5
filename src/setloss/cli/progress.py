"""Progress of long commands on standard error, and what Ctrl-C does to them.

`Waiting` shows what is under way and for how long. `WorkProgress` adds the share that is done, for commands of many
fits, which Ctrl-C ends at once. `TrainingProgress` adds the gap of one training run, which the first Ctrl-C ends
after the iteration under way. On a terminal they draw one line, which is gone in the end; elsewhere they write a
line every `SECONDS_BETWEEN_LINES` seconds.
"""

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

if TYPE_CHECKING:
    from setloss.solvers import Record

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

SECONDS_BETWEEN_LINES = 20.0
"""How often a line is written where there is no terminal."""

ENOUGH_TO_FORESEE = 0.1
"""The time that is left is shown once this share of the work is done; before, it cannot be guessed well."""

STOPPING = "stopping (Ctrl-C again: at once)"

TELLS_OF_WAITS = "setloss.estimators.folds"
"""The log in which a training says what it does while no iterations are reported."""


def say(sentence: str) -> None:
    """One sentence on standard error."""
    typer.echo(f"setloss: {sentence}", err=True)


# ---------------------------------------------------------------- Ctrl-C


class Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, on which solvers stop and return the best model so far."""


class NoModelYetError(Exception):
    """Ctrl-C while candidates are compared, when none of them is trained on all the data yet."""


@contextmanager
def on_ctrl_c(handler: Callable[[int, FrameType | None], Any], *others: signal.Signals) -> Iterator[None]:
    """Let Ctrl-C, and other signals, call a handler, unless the process was told to ignore them."""
    heard = [number for number in (signal.SIGINT, *others) if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def raise_interrupted(number: int, frame: FrameType | None) -> NoReturn:
    """A handler of signals that ends the work at once."""
    raise Interrupted


# ---------------------------------------------------------------- what is under way


class Waiting:
    """What is under way and for how long."""

    def __init__(self, doing: str, *columns: ProgressColumn, seconds_between_lines: float | None = None) -> None:
        self._words, self._began = doing, time.monotonic()
        self._bar = _bar(*(columns or (_Told(self._now), _Told(self._clock))))
        self._task = self._bar.add_task("", total=None)
        self._finished = threading.Event()
        seconds = SECONDS_BETWEEN_LINES if seconds_between_lines is None else seconds_between_lines
        self._writer = threading.Thread(target=self._write_lines, args=(seconds,), daemon=True)

    def __enter__(self) -> Self:
        self._bar.start()
        if self._bar.disable:
            self._writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._bar.stop()

    def doing(self, words: str) -> None:
        """Something else is under way now."""
        self._words = words

    def sentence(self) -> str:
        """The state in words, as "1:10 gone, reading songs.csv"."""
        return f"{self._clock()} gone, {self._now()}"

    def _now(self) -> str:
        return self._words

    def _clock(self) -> str:
        return _minutes(self._seconds())

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _write_lines(self, seconds: float) -> None:
        while not self._finished.wait(seconds):
            say(self.sentence())


class _Told(ProgressColumn):
    """The answer of a function, asked whenever the line is drawn; cut off where the terminal is too narrow."""

    def __init__(self, tell: Callable[[], str]) -> None:
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))
        self._tell = tell

    def render(self, task: Task) -> Text:
        return Text(self._tell())


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _bar(*columns: ProgressColumn) -> Progress:
    """A bar on standard error, drawn where that is a terminal."""
    console = Console(stderr=True, highlight=False, markup=False)
    silent = not console.is_terminal or console.is_dumb_terminal
    return Progress(*columns, console=console, transient=True, disable=silent)


# ---------------------------------------------------------------- commands of many fits


class WorkProgress(Waiting):
    """The share of the work that is done, and about how long the rest will take; Ctrl-C raises `Interrupted`."""

    def __init__(self) -> None:
        super().__init__("starting", BarColumn(bar_width=20), _Told(self.sentence))
        self._share = 0.0
        self._ctrl_c = on_ctrl_c(raise_interrupted)

    def __enter__(self) -> Self:
        self._ctrl_c.__enter__()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._ctrl_c.__exit__(None, None, None)

    def update(self, share: float, doing: str) -> None:
        """Show a share in [0, 1] and what is under way."""
        self._share = min(max(share, 0.0), 1.0)
        self.doing(doing)
        self._bar.update(self._task, total=1.0, completed=self._share)

    def announce(self, line: str) -> None:
        """A line that stays, above the bar."""
        self._bar.console.print(line, style="dim")

    def sentence(self) -> str:
        """The state in words, as "42%, 1:10 gone, about 1:40 left, table1: fold 3"."""
        known = self._share >= ENOUGH_TO_FORESEE
        left = f", about {_minutes(self._seconds() * (1 - self._share) / self._share)} left" if known else ""
        return f"{self._share:.0%}, {self._clock()} gone{left}, {self._now()}"


# ---------------------------------------------------------------- one training run


class _ToWaiting(logging.Handler):
    """Shows the lines of a log as what is under way."""

    def __init__(self, waiting: "TrainingProgress") -> None:
        super().__init__(logging.INFO)
        self.waiting = waiting

    def emit(self, record: logging.LogRecord) -> None:
        self.waiting.between_fits(record.getMessage())


class TrainingProgress(Waiting):
    """A callback for the solver that shows how far it is and turns Ctrl-C into an orderly end.

    The first Ctrl-C, or SIGTERM, waits for the end of an iteration, where the state of the solver is whole, after
    which there is a model whose objective is known; the second does not wait. Neither does the first while data are
    read, when there is nothing to write, nor while a decision is learned, when the model is there already.
    """

    def __init__(self, tol: float, fits: int = 1, **options: Any) -> None:
        super().__init__("starting", _Told(self._now), BarColumn(bar_width=10), _Told(self._clock), **options)
        self.tol, self.fits = tol, fits
        self.fit, self.asked = 0, False
        self._in_a_fit = True
        self._last, self._first_gap = math.inf, math.nan
        self._ctrl_c = on_ctrl_c(self._ask_to_stop, signal.SIGTERM)
        self._from_log = _ToWaiting(self)

    def __enter__(self) -> Self:
        self._ctrl_c.__enter__()
        log = logging.getLogger(TELLS_OF_WAITS)
        self._level_of_log = log.level
        log.setLevel(logging.INFO)
        log.addHandler(self._from_log)
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        log = logging.getLogger(TELLS_OF_WAITS)
        log.removeHandler(self._from_log)
        log.setLevel(self._level_of_log)
        self._ctrl_c.__exit__(None, None, None)

    def between_fits(self, words: str) -> None:
        """Something is under way that reports no iterations, and that Ctrl-C ends at once."""
        self._in_a_fit = False
        self.doing(words)

    def starting(self) -> None:
        """The solver begins, and reports its iterations from now on."""
        self._in_a_fit = True
        self.doing("starting")

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.asked or not self._in_a_fit:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True
        self.doing(STOPPING)
        if self._bar.disable:
            say(STOPPING)

    def __deepcopy__(self, memo: object) -> "TrainingProgress":
        return self  # scikit-learn clones estimators with their callbacks, and there is one terminal

    def __call__(self, record: "Record") -> None:
        """Follow one iteration of one fit."""
        if record.iteration <= self._last:
            self.fit, self._first_gap = self.fit + 1, math.inf
        if self._first_gap == math.inf:
            self._first_gap = record.gap
        self._last, self._in_a_fit = record.iteration, True
        if self.asked and self.fit < self.fits:
            raise NoModelYetError
        if self.asked and record.gap > self.tol and math.isfinite(record.primal):
            raise KeyboardInterrupt
        which = f"fit {self.fit} of {self.fits}, " if self.fits > 1 else ""
        gap = f"{record.gap:.1e}" if math.isfinite(record.gap) else "?"
        self.doing(
            STOPPING if self.asked else f"{which}iteration {record.iteration}, gap {gap} (asked: {self.tol:.1e})"
        )
        if self.tol > 0:
            self._bar.update(self._task, total=1.0, completed=self._share_of_the_way(record.gap))

    def _share_of_the_way(self, gap: float) -> float:
        """How much of the way from the first gap to the one asked for is done, in orders of magnitude."""
        if not (0 < self.tol < self._first_gap < math.inf):
            return float(gap <= self.tol)
        if gap <= self.tol:
            return 1.0
        return math.log(self._first_gap / gap) / math.log(self._first_gap / self.tol)
