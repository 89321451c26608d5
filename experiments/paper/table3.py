"""Table 3: how long one loss-augmented inference of loss 1 takes, for B_D and for S, on p = 10, 50 and 100 elements.

One inference is one cut: the worst set, the value and a subgradient of the surrogate of one bag at given margins. The
decomposition is made before, once for every p.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from experiments.document import Cell, Document, ResultTable
from experiments.paper.artefact import Settings, paper_table
from experiments.protocol import Array
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, SlackRescaling
from setloss.plans.batch import batch_surrogate

SIZES = (10, 50, 100)
LOSS = PAPER_CURVES["curve1"]
PYTHON, NUMBA = "one bag, Python", "all bags at once, numba"
LABELS = {"bd": "B_D", "slack": "S exact", "slack-greedy": "S greedy"}
RUNS, BAGS = 7, 500
"""Runs that each draw is timed for (the fastest counts), and bags of a batch."""

Times = dict[str, dict[int, dict[str, Array]]]
"""Way -> p -> method -> seconds of every draw."""


def make_table3(settings: Settings) -> Document:
    """Twice as many draws in full."""
    return measure(settings, 60 if settings.full else 30)


def measure(settings: Settings, draws: int, sizes: Sequence[int] = SIZES) -> Document:
    """Time every operator at every size, in both ways."""
    times: Times = {PYTHON: {}, NUMBA: {}}
    for p in sizes:
        generator = np.random.default_rng((settings.seed, p))
        times[PYTHON][p], times[NUMBA][p] = _one_bag(p, draws, generator), _all_bags(p, draws, generator)
    seconds = {
        way: {str(p): {name: float(np.median(one)) for name, one in found.items()} for p, found in by_size.items()}
        for way, by_size in times.items()
    }
    title = "Table 3. Time of one loss-augmented inference, in microseconds"
    return Document("table3", title, (_seconds(times, sizes, draws),), numbers={"seconds": seconds})


def _one_bag(p: int, draws: int, generator: np.random.Generator) -> dict[str, Array]:
    """Seconds per cut of the reference operators, a plain Python call each."""
    function = LOSS.on_counts(p, 0)
    operators = {
        "bd": B_D(function),
        "slack": SlackRescaling(function),
        "slack-greedy": SlackRescaling(function, search="greedy"),
    }
    margins = generator.normal(0.3, 1.0, (draws, p))
    return _interleaved({name: [partial(one.cut, m) for m in margins] for name, one in operators.items()})


def _all_bags(p: int, draws: int, generator: np.random.Generator) -> dict[str, Array]:
    """Seconds per bag of a batch, one thread."""
    labels = np.ones(BAGS * p, dtype=bool)
    offsets = np.arange(0, labels.size + 1, p)
    batches = {name: batch_surrogate(LOSS, labels, offsets, name) for name in ("bd", "slack")}
    margins = generator.normal(0.3, 1.0, (draws, labels.size))
    times = _interleaved({name: [partial(one.cuts, m) for m in margins] for name, one in batches.items()})
    return {name: found / BAGS for name, found in times.items()}


def _interleaved(calls: Mapping[str, Sequence[Callable[[], object]]]) -> dict[str, Array]:
    """The fastest of several runs of every call; methods take turns, so that a slow moment hits all of them."""
    times = {name: np.full(len(draws), np.inf) for name, draws in calls.items()}
    for draws in calls.values():
        draws[0]()
    for draw in range(len(next(iter(calls.values())))):
        for _ in range(RUNS):
            for name, found in times.items():
                began = time.perf_counter()
                calls[name][draw]()
                found[draw] = min(found[draw], time.perf_counter() - began)
    return times


def _seconds(times: Times, sizes: Sequence[int], draws: int) -> ResultTable:
    paper = paper_table("table3")
    rows: list[tuple[Cell, ...]] = [
        (f"{label}, paper", *(_micro(*paper[method][f"p{p}"]) for p in sizes))
        for method, label in (("bd", "B_D"), ("slack-greedy", "S"))
    ]
    for way, by_size in times.items():
        for method in by_size[sizes[0]]:
            found = [by_size[p][method] for p in sizes]
            cells = [_micro(float(one.mean()), float(one.std(ddof=1) / np.sqrt(draws))) for one in found]
            rows.append((f"{LABELS[method]}, {way}", *cells))
    note = (
        f"Mean and standard error over {draws} draws of margins, each the fastest of {RUNS} runs, one thread, "
        f"batches of {BAGS} bags. The paper's hardware is not known, and its times are those of a search for a "
        "general set function."
    )
    return ResultTable("Microseconds of one inference, loss 1", ("", *(f"p = {p}" for p in sizes)), tuple(rows), note)


def _micro(mean: float, error: float) -> str:
    """Microseconds; a digit more where they are few."""
    digits = 2 if mean < 1e-5 else 1 if mean < 1e-3 else 0
    return f"{mean * 1e6:,.{digits}f} ± {error * 1e6:,.{digits}f}"
