"""Cuts for a whole data set, against one sort of the same margins and the paper's Table 3."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from benchmarks.measure import Row, best_time, side_by_side, tracks
from setloss.losses import PAPER_CURVES
from setloss.plans.batch import batch_surrogate

PAPER_SECONDS = 0.060
"""Table 3 of the paper: one loss-augmented inference of B_D with loss 1 at p = 100."""


@njit
def sort_bags(margins: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(offsets) - 1):
        out[offsets[i] : offsets[i + 1]] = np.sort(margins[offsets[i] : offsets[i + 1]])


def rows(quick: bool) -> Iterator[Row]:
    repeats = 20 if quick else 100
    curve = PAPER_CURVES["curve1"]
    margins, labels, offsets = tracks()
    batch = batch_surrogate(curve, labels, offsets, "bd")
    out = np.empty_like(margins)
    ours, reference = side_by_side(lambda: batch.cuts(margins), lambda: sort_bags(margins, offsets, out), repeats)
    yield Row("B_D cuts, 1437 tracks / numba sort per bag", ours, reference, 3)

    offsets = np.arange(0, 100_001, 100)
    margins = np.random.default_rng(1).normal(0.3, 1.0, 100_000)
    labels = np.repeat(np.arange(1000) % 3 == 0, 100)
    both = [batch_surrogate(curve, labels, offsets, operator) for operator in ("bd", "slack")]
    ours, reference = side_by_side(lambda: both[0].cuts(margins), lambda: both[1].cuts(margins), repeats)
    yield Row("B_D / S, curve 1, p = 100", ours, reference, 1.5)
    per_bag = best_time(lambda: both[0].cuts(margins), repeats) / 1000
    yield Row("B_D inference p = 100: times faster than the paper", per_bag, PAPER_SECONDS, 3000, at_least=True)
