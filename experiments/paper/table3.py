"""Table 3: how long one loss-augmented inference of loss 1 takes, for B_D and for S, on p = 10, 50 and 100 elements.

One inference is one cut: the worst set, the value and a subgradient of the surrogate of one bag at given margins. The
decomposition is made before, once for every p.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.document import Cell, Document, ResultTable
from experiments.estimate import Estimate
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.numbers import Printed, paper_table
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, SlackRescaling
from setloss.plans.batch import batch_surrogate
from setloss.typing import Array

SIZES = (10, 50, 100)
LOSS = PAPER_CURVES["curve1"]
PYTHON, NUMBA = "one bag, Python", "all bags at once, numba"
LABELS = {"bd": "B_D", "slack": "S exact", "slack-greedy": "S greedy"}


@dataclass(frozen=True)
class Effort:
    """Draws of margins, the runs each is timed for (the fastest counts), and the bags of a batch."""

    draws: int = 30
    runs: int = 7
    bags: int = 500


def make(settings: Settings) -> Document:
    """Twice as many draws in full."""
    return measure(settings, Effort(draws=60 if settings.full else 10 if settings.quick else 30))


def measure(settings: Settings, effort: Effort, sizes: Sequence[int] = SIZES) -> Document:
    """Time every operator at every size, in both ways."""
    seconds: dict[str, dict[str, dict[str, float]]] = {PYTHON: {}, NUMBA: {}}
    estimates: dict[tuple[str, str, int], Estimate] = {}
    for k, p in enumerate(sizes):
        settings.progress(k / len(sizes), f"p = {p}")
        generator = np.random.default_rng((settings.seed, p))
        for way, times in ((PYTHON, _one_bag(p, effort, generator)), (NUMBA, _all_bags(p, effort, generator))):
            seconds[way][str(p)] = {method: float(np.median(values)) for method, values in times.items()}
            estimates.update({(way, method, p): Estimate.of(values) for method, values in times.items()})
    tables = (_seconds(estimates, sizes, effort), _ratios(seconds, sizes))
    return Document("table3", TABLE3.title, tables, numbers={"seconds": seconds})


def _one_bag(p: int, effort: Effort, generator: np.random.Generator) -> dict[str, Array]:
    """Seconds per cut of the reference operators, a plain Python call each."""
    function = LOSS.on_counts(p, 0)
    operators = {
        "bd": B_D(function),
        "slack": SlackRescaling(function),
        "slack-greedy": SlackRescaling(function, search="greedy"),
    }
    draws = generator.normal(0.3, 1.0, (effort.draws, p))
    calls = {name: [partial(operator.cut, margins) for margins in draws] for name, operator in operators.items()}
    return _interleaved(calls, effort.runs)


def _all_bags(p: int, effort: Effort, generator: np.random.Generator) -> dict[str, Array]:
    """Seconds per bag of a batch, one thread."""
    labels = np.ones(effort.bags * p, dtype=bool)
    offsets = np.arange(0, labels.size + 1, p)
    batches = {name: batch_surrogate(LOSS, labels, offsets, name) for name in ("bd", "slack")}
    draws = generator.normal(0.3, 1.0, (effort.draws, labels.size))
    calls = {name: [partial(batch.cuts, margins) for margins in draws] for name, batch in batches.items()}
    return {name: times / effort.bags for name, times in _interleaved(calls, effort.runs).items()}


def _interleaved(calls: Mapping[str, Sequence[Callable[[], object]]], runs: int) -> dict[str, Array]:
    """The fastest of several runs of every call; methods take turns, so that a slow moment hits all of them."""
    names, draws = list(calls), range(len(next(iter(calls.values()))))
    for name in names:
        calls[name][0]()
    times = {name: np.full(len(draws), np.inf) for name in names}
    for draw in draws:
        for _ in range(runs):
            for name in names:
                began = time.perf_counter()
                calls[name][draw]()
                times[name][draw] = min(times[name][draw], time.perf_counter() - began)
    return times


def _seconds(estimates: dict[tuple[str, str, int], Estimate], sizes: Sequence[int], effort: Effort) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for method, label in (("bd", "B_D"), ("slack-greedy", "S")):
        rows.append((f"{label}, paper", *(_micro(cell.mean, cell.error) for cell in _paper(method, sizes))))
    for way in (PYTHON, NUMBA):
        for method, label in LABELS.items():
            if (way, method, sizes[0]) in estimates:
                found = [estimates[way, method, p] for p in sizes]
                rows.append((f"{label}, {way}", *(_micro(one.mean, one.error or 0.0) for one in found)))
    note = (
        f"Mean and standard error over {effort.draws} draws of margins, each the fastest of {effort.runs} runs, one "
        f"thread, batches of {effort.bags} bags. The paper's hardware is not known, and its times are those of a "
        "search for a general set function."
    )
    return ResultTable("Microseconds of one inference, loss 1", ("", *(f"p = {p}" for p in sizes)), tuple(rows), note)


def _paper(method: str, sizes: Sequence[int]) -> list[Printed]:
    return [paper_table("table3")[method][f"p{p}"] for p in sizes]


def _micro(mean: float, error: float) -> str:
    """Microseconds; a digit more where they are few."""
    digits = 2 if mean < 1e-5 else 1 if mean < 1e-3 else 0
    return f"{mean * 1e6:,.{digits}f} ± {error * 1e6:,.{digits}f}"


def _ratios(seconds: dict[str, dict[str, dict[str, float]]], sizes: Sequence[int]) -> ResultTable:
    pairs = zip(_paper("bd", sizes), _paper("slack-greedy", sizes), strict=True)
    rows: list[tuple[Cell, ...]] = [("paper", *(f"{ours.mean / theirs.mean:.2f}" for ours, theirs in pairs))]
    for way, times in seconds.items():
        rows.append((way, *(f"{times[str(p)]['bd'] / times[str(p)]['slack']:.2f}" for p in sizes)))
    note = "Medians over the draws; our S is the exact one."
    return ResultTable("B_D as a multiple of S", ("", *(f"p = {p}" for p in sizes)), tuple(rows), note)


TABLE3 = Artefact("table3", "Table 3. Time of one loss-augmented inference, in microseconds", make)
