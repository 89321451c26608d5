"""Progress of a fit: one line per iteration, with the gap, in the log or on standard output."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from setloss.solvers import Record, Solution
from setloss.typing import Array

LINE = "iteration %d: %.1f s, %.0f passes over X, primal %.6g, dual %.6g, gap %.2e"

logger = logging.getLogger("setloss")


def report(record: Record) -> None:
    """The state of an iteration."""
    say(LINE, record.iteration, record.seconds, record.passes, record.primal, record.dual, record.gap)


def report_end(solution: Solution) -> None:
    """How the fit ended."""
    say("%s after %d iterations: gap %.2e", solution.status, solution.iterations, solution.gap)


def report_fold(operator: object, fold: int, folds: int, path: Array, gaps: Sequence[float]) -> None:
    """How the fits of one fold ended, for every C."""
    reached = ", ".join(f"{C:g}: {gap:.1e}" for C, gap in zip(path.tolist(), gaps, strict=True))
    say("%s, fold %d of %d: gaps at C = %s", operator, fold, folds, reached)


def report_held_out(fold: int, folds: int, seconds: float) -> None:
    """The scores of one fold are there."""
    say("fold %d of %d: held-out scores after %.1f s", fold, folds, seconds)


def report_rule(name: str, losses: Mapping[str, tuple[float, float]]) -> None:
    """Which rule was learned, and, where it was chosen, what the others lose on held-out scores."""
    compared = ", ".join(f"{rule} {loss:.4f} +- {error:.4f}" for rule, (loss, error) in losses.items())
    say("decided by %s%s", name, f"; held-out losses: {compared}" if compared else "")


def say(line: str, *numbers: Any) -> None:
    """To the log at level INFO where somebody listens; else to standard output, where scikit-learn's lines go."""
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(line, *numbers)
        return
    record = logger.makeRecord(logger.name, logging.INFO, __file__, 0, line, numbers, None)
    logging.StreamHandler(sys.stdout).handle(record)
