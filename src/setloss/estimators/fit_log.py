"""Progress of a fit: one line per iteration, with the gap, in the log or on standard output."""

import logging
import re
import sys
from dataclasses import dataclass
from typing import Any

from setloss.solvers import Record

logger = logging.getLogger("setloss")


def report(record: Record) -> None:
    """The state of an iteration."""
    line = "iteration %d: %.1f s, %.0f passes over X, primal %.6g, dual %.6g, gap %.2e"
    say(line, record.iteration, record.seconds, record.passes, record.primal, record.dual, record.gap)


def innermost(estimator: Any) -> Any:
    """The classifier inside pipelines and wrappers."""
    while hasattr(estimator, "steps") or "estimator" in getattr(estimator, "get_params", dict)(deep=False):
        estimator = estimator[-1] if hasattr(estimator, "steps") else estimator.estimator
    return estimator


def in_words(estimator: Any) -> str:
    """A classifier in plain words: ``logistic regression, C = 0.1``, ``extra trees classifier``."""
    steps = [_spaced(step) for _, step in getattr(estimator, "steps", ())[:-1]]
    classifier = innermost(estimator)
    strength = getattr(classifier, "C", None)
    words = _spaced(classifier) + ("" if strength is None else f", C = {strength}")
    return f"{words}, after {', '.join(steps)}" if steps else words


def _spaced(estimator: Any) -> str:
    """The name of the class as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(estimator).__name__).lower()


def say(line: str, *numbers: Any, share: float | None = None) -> None:
    """To the log at level INFO where somebody listens; else to standard output, where scikit-learn's lines go.

    `share` is the part of the work that is done, an attribute of the record.
    """
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(line, *numbers, extra={"share": share})
        return
    record = logger.makeRecord(logger.name, logging.INFO, __file__, 0, line, numbers, None)
    logging.StreamHandler(sys.stdout).handle(record)


@dataclass(eq=False)
class Fits:
    """How many fits of a search are done, and how many it takes in all, as far as is known."""

    expected: int = 1
    done: int = 0

    @property
    def share(self) -> float:
        """The part that is done."""
        return self.done / max(self.expected, 1)

    def to_come(self, fits: int) -> None:
        """At least so many more are certain."""
        self.expected = max(self.expected, self.done + fits)
