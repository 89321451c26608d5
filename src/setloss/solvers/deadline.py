"""The time limit of a run: looked at before every pass over X, so that no iteration runs far past it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter as clock

_END: ContextVar[float] = ContextVar("end", default=inf)


class OutOfTimeError(Exception):
    """The time is over, in the middle of an iteration; the state is as after Ctrl-C."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """End what is called inside with `OutOfTimeError` once the seconds are over; None is no limit."""
    token = _END.set(inf if seconds is None else clock() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def check_time() -> None:
    """Look at the clock; called before whatever may take as long as a pass over X."""
    if clock() >= _END.get():
        raise OutOfTimeError


def seconds_left() -> float:
    """Until the end of the limit; infinite without one."""
    return max(_END.get() - clock(), 0.0)
