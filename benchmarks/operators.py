"""Cuts for a whole data set, against one sort of the same margins and the paper's Table 3; and the sort itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from benchmarks import cold_start
from benchmarks.measure import Row, best_time, side_by_side, tracks
from setloss.compilation import kernel
from setloss.losses import PAPER_CURVES
from setloss.plans.batch import SortSpace, batch_surrogate, space_for_sorting
from setloss.plans.kernels import sort_elements

PAPER_SECONDS = 0.060
"""Table 3 of the paper: one loss-augmented inference of B_D with loss 1 at p = 100."""


@njit
def sort_bags(margins: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(offsets) - 1):
        out[offsets[i] : offsets[i + 1]] = np.sort(margins[offsets[i] : offsets[i + 1]])


@kernel()
def order_bags(margins: np.ndarray, order: np.ndarray, space: SortSpace) -> None:
    spare, tallies, keys, words = space
    for i in range(len(margins)):
        for j in range(margins.shape[1]):
            order[i, j] = j
        sort_elements(margins[i], order[i], spare, tallies, keys, words)


@kernel()
def argsort_bags(margins: np.ndarray, order: np.ndarray) -> None:
    for i in range(len(margins)):
        order[i] = np.argsort(margins[i])


def processor_seconds(run: Callable[[], object]) -> float:
    """The least of several runs, after one that is not counted; on a busy machine, too."""
    run()
    seconds = []
    for _ in range(7):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def sort_rows() -> Iterator[Row]:
    """`sort_elements` against the argsort that kernels can call, numba's, and NumPy's, which they cannot."""
    for bags, p in ((50_000, 10), (10_000, 50), (4000, 159), (500, 1000), (100, 5000), (1, 1_000_000)):
        margins, order = np.random.default_rng(2).normal(size=(bags, p)), np.empty((bags, p), dtype=np.int64)
        space = space_for_sorting(p, np.float64)
        ours = processor_seconds(lambda m=margins, o=order, s=space: order_bags(m, o, s))
        numba = processor_seconds(lambda m=margins, o=order: argsort_bags(m, o))
        numpy = processor_seconds(lambda m=margins: np.argsort(m, axis=1, kind="stable"))
        yield Row(f"order of {p} margins, us / numba argsort", 1e6 * ours / bags, 1e6 * numba / bags, 1)
        yield Row(f"order of {p} margins, us / NumPy's stable argsort", 1e6 * ours / bags, 1e6 * numpy / bags)
    yield Row(
        "compiling the sort / numba argsort", compiling_seconds("order_bags"), compiling_seconds("argsort_bags")
    )


COMPILE = """
import numpy as np
from benchmarks import operators
space = [operators.space_for_sorting(200, np.float64)] * ("{name}" == "order_bags")
operators.{name}(np.ones((1, 200)), np.empty((1, 200), dtype=np.int64), *space)
"""


def compiling_seconds(name: str) -> float:
    """Processor seconds of the first call of a kernel in a new process, above those of the second."""
    return cold_start.compiling_seconds(COMPILE.format(name=name))


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
    yield from sort_rows()
