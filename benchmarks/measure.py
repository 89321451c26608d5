"""Timing side by side: every row is a ratio of two times measured in the same run, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of the table; `target` bounds the ratio from above, or from below if `at_least`."""

    what: str
    ours: float
    reference: float
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.reference / self.ours if self.at_least else self.ours / self.reference

    @property
    def ok(self) -> bool | None:
        if self.target is None:
            return None
        return bool(self.ratio >= self.target if self.at_least else self.ratio <= self.target)

    def line(self) -> str:
        """The row as a line of the table."""
        target = "" if self.target is None else f"{'>=' if self.at_least else '<='} {self.target:g}"
        ok = {True: "yes", False: "NO", None: ""}[self.ok]
        numbers = f"{self.ours:10.3g} {self.reference:10.3g} {self.ratio:9.3g}"
        return f"{self.what:60} {numbers} {target:>9}  {ok:3} {self.note}"

    def as_dict(self) -> dict[str, Any]:
        fields = ("what", "ours", "reference", "ratio", "target", "at_least", "ok", "note")
        return {name: getattr(self, name) for name in fields}


def best_time(run: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs in seconds, after one run that is not counted."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def side_by_side(
    ours: Callable[[], object], reference: Callable[[], object], repeats: int = 5
) -> tuple[float, float]:
    """Best times of both, their runs interleaved so that a slow moment hits both."""
    ours(), reference()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for record, run in zip(times, (ours, reference), strict=True):
            start = time.perf_counter()
            run()
            record.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def tracks(bags: int = 1437, frames: int = 27504) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Margins, labels and offsets of homogeneous bags shaped like the paper's face tracks."""
    generator = np.random.default_rng(0)
    sizes = 1 + generator.multinomial(frames - bags, generator.dirichlet(np.full(bags, 1.5)))
    labels = np.repeat(generator.random(bags) < 0.3, sizes)
    return generator.normal(0.5, 1.0, frames), labels, np.concatenate(([0], np.cumsum(sizes)))
