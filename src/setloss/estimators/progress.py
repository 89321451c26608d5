"""Progress of a fit in the log: one line per iteration, with the gap."""

from __future__ import annotations

import logging

from setloss.solvers import Record

logger = logging.getLogger("setloss")


def report_to_log(record: Record) -> None:
    """Log the state of an iteration at level INFO."""
    logger.info(
        "iteration %d: %.1f s, %.0f passes over X, primal %.6g, dual %.6g, gap %.2e",
        record.iteration,
        record.seconds,
        record.passes,
        record.primal,
        record.dual,
        record.gap,
    )
