"""Which loss to train a segmentation network with? Cross-entropy, soft Dice and set losses at equal budgets.

    python examples/segment_nuclei.py --data DIR --out results/nuclei

trains the same small U-Net on ``DIR/images/*.png`` and ``DIR/masks/*.png`` (or on generated blobs) with each loss,
every one with the learning rate that does best on the validation images, and writes a table (markdown, JSON) of
Dice and Jaccard per test image and a figure. ``--quick`` is a smoke test. Needs setloss[torch,plot].
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nuclei_data import InputError, Masks, Split, generate, read_folder, split
from nuclei_figure import draw
from nuclei_training import COMPARED, METHODS, Run, Settings, Trained, train
from numpy.typing import NDArray

from setloss.reproduction.document import Cell, Table
from setloss.reproduction.estimate import Estimate

Scores = NDArray[np.floating]
Results = dict[Run, Trained]


def dice(predicted: Masks, truth: Masks) -> Scores:
    """2 |P n T| / (|P| + |T|) of every image; 1 where both are empty."""
    both, total = (predicted & truth).sum((1, 2)), predicted.sum((1, 2)) + truth.sum((1, 2))
    return np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)


def jaccard(predicted: Masks, truth: Masks) -> Scores:
    """|P n T| / |P u T| of every image; 1 where both are empty."""
    both, either = (predicted & truth).sum((1, 2)), (predicted | truth).sum((1, 2))
    return np.where(either > 0, both / np.maximum(either, 1), 1.0)


def best_threshold(scores: Scores, truth: Masks) -> float:
    """The threshold of mean Dice on the validation images, from a grid of probabilities 0.05, 0.1, ..., 0.95."""
    grid = [math.log(p / (1 - p)) for p in np.linspace(0.05, 0.95, 19)]
    return max(grid, key=lambda threshold: float(dice(scores > threshold, truth).mean()))


def validation_dice(trained: Trained, data: Split) -> float:
    """What learning rates are chosen by: the mean over the validation images of the signs' Dice."""
    return float(dice(trained.validation > 0, data.validation.masks).mean())


@dataclass(frozen=True)
class Row:
    """One line of the table: the test scores of every seed (rows) and image (columns)."""

    label: str
    rate: float
    dice: Scores
    jaccard: Scores
    milliseconds: float


def train_all(runs: Sequence[Run], data: Split, settings: Settings, workers: int) -> Results:
    """Train every network, `workers` at a time with one thread each."""
    results: Results = {}

    def finished(run: Run, trained: Trained) -> None:
        results[run] = trained
        score = validation_dice(trained, data)
        report(f"[{len(results)}/{len(runs)}] {run}: validation Dice {score:.3f} ({trained.seconds:.1f} s)")

    if workers == 1:
        for run in runs:
            finished(run, train(run, data, settings))
        return results
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        waiting = {pool.submit(train, run, data, settings): run for run in runs}
        for future in as_completed(waiting):
            finished(waiting[future], future.result())
    return results


def choose_rates(results: Results, data: Split, methods: Sequence[str]) -> dict[str, float]:
    """The learning rate of best validation Dice of each method."""
    scores = {run: validation_dice(trained, data) for run, trained in results.items()}
    return {name: max((run for run in scores if run.method == name), key=scores.__getitem__).rate for name in methods}


def rows_of(results: Results, data: Split, rates: dict[str, float], settings: Settings) -> list[Row]:
    """Every method at its rate; cross-entropy once more with a threshold chosen on the validation images."""
    rows = []
    for name, rate in rates.items():
        trained = [results[Run(name, rate, seed)] for seed in settings.seeds]
        rows.append(_row(METHODS[name].label, rate, trained, [0.0] * len(trained), data, settings))
        if name == "bce":
            thresholds = [best_threshold(one.validation, data.validation.masks) for one in trained]
            rows.append(_row("cross-entropy, chosen threshold", rate, trained, thresholds, data, settings))
    return rows


def _row(
    label: str, rate: float, trained: list[Trained], thresholds: list[float], data: Split, settings: Settings
) -> Row:
    predicted = [one.test > threshold for one, threshold in zip(trained, thresholds, strict=True)]
    milliseconds = 1000 * float(np.mean([one.seconds for one in trained])) / settings.steps
    scores = [np.stack([score(one, data.test.masks) for one in predicted]) for score in (dice, jaccard)]
    return Row(label, rate, *scores, milliseconds)


def table_of(rows: Sequence[Row], data: Split, settings: Settings, source: str) -> Table:
    """Means over seeds and test images; differences are taken image by image."""
    columns = ("method", "rate", "Dice", "Jaccard", "Dice less the first row's", "Dice of each seed", "ms a step")
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        each = " ".join(f"{score:.3f}" for score in row.dice.mean(1))
        gain = Estimate.of(row.dice.mean(0) - rows[0].dice.mean(0)) if row is not rows[0] else None
        scores = Estimate.of(row.dice.mean(0)), Estimate.of(row.jaccard.mean(0))
        lines.append((row.label, row.rate, *scores, gain, each, round(row.milliseconds)))
    means = {2: [row.dice.mean() for row in rows], 3: [row.jaccard.mean() for row in rows]}
    best = frozenset((int(np.argmax(values)), column) for column, values in means.items())
    grid, seeds, side = ", ".join(f"{rate:g}" for rate in settings.rates), len(settings.seeds), settings.size
    note = (
        f"{source}; {len(data.train)} images to train on, {len(data.validation)} to choose the learning rate with "
        f"(from {grid}; seed {settings.seeds[0]}), {len(data.test)} to test; {side} x {side} = p pixels; "
        f"{settings.steps} steps of {settings.batch} images, Adam, cosine schedule, gradients clipped to norm "
        f"{settings.clip:g}. Scores per image, averaged over {seeds} seed{'s' * (seeds > 1)}; ± is the standard "
        "error over the test images. Milliseconds are CPU time on one thread, network included."
    )
    return Table("Segmentation of nuclei", columns, tuple(lines), note, best)


def numbers_of(results: Results, data: Split, rows: Sequence[Row], settings: Settings) -> dict[str, Any]:
    """The numbers behind the table, as JSON values."""
    runs = [
        {
            **asdict(run),
            "validation_dice": validation_dice(one, data),
            "test_dice": float(dice(one.test > 0, data.test.masks).mean()),
            "gradient_norm": {"first": one.gradient_norms[0], "median": float(np.median(one.gradient_norms))},
        }
        for run, one in results.items()
    ]
    images = {row.label: {"dice": row.dice.mean(0).tolist(), "jaccard": row.jaccard.mean(0).tolist()} for row in rows}
    return {"settings": asdict(settings), "runs": runs, "test_images": images}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; 0, or 2 with one sentence where the input is bad."""
    options = parse(arguments)
    torch.set_num_threads(1)
    try:
        check(options)
        data, source = load(options)
        compare(data, source, options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def check(options: argparse.Namespace) -> None:
    """Refuse settings that cannot work."""
    if options.size < 16 or options.size % 4:
        raise InputError(f"--size is a multiple of 4 and at least 16; got {options.size}")
    unknown = [name for name in options.methods if name not in METHODS]
    if unknown:
        raise InputError(f"there is no method {unknown[0]!r}; --methods takes some of {', '.join(METHODS)}")
    if min(options.steps, options.workers, options.clip, *options.rates) <= 0:
        raise InputError("--steps, --workers, --clip and --rates are positive numbers")


def load(options: argparse.Namespace) -> tuple[Split, str]:
    """The images in three parts, and where they are from."""
    if options.data is not None:
        data, source = read_folder(options.data, options.size), "Nuclei"
    else:
        report("no --data DIR given: training on generated blobs")
        data, source = generate(60 if options.quick else 334, options.size, seed=0), "Generated blobs"
    if options.quick:
        data = data[np.arange(min(len(data), 60))]
    return split(data, seed=0), source


def report(line: str) -> None:
    """Progress, for people."""
    print(line, file=sys.stderr, flush=True)


def compare(data: Split, source: str, options: argparse.Namespace) -> None:
    """Choose a learning rate per method, train the other seeds with it, write what comes out."""
    settings = Settings(options.size, options.steps, clip=options.clip, rates=options.rates, seeds=options.seeds)
    first, *others = settings.seeds
    trials = [Run(name, rate, first) for name in options.methods for rate in settings.rates]
    report(f"{len(trials)} trials of learning rates, then {len(others) * len(options.methods)} more networks")
    results = train_all(trials, data, settings, options.workers)
    rates = choose_rates(results, data, options.methods)
    repeats = [Run(name, rates[name], seed) for name in options.methods for seed in others]
    results |= train_all(repeats, data, settings, options.workers)
    rows = rows_of(results, data, rates, settings)
    table = table_of(rows, data, settings, source)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "nuclei.md").write_text(table.markdown(), encoding="utf-8")
    numbers = {"table": table.as_dict(), **numbers_of(results, data, rows, settings)}
    (options.out / "nuclei.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    shown = {METHODS[name].label: results[Run(name, rate, first)].test > 0 for name, rate in rates.items()}
    draw(data.test, shown).savefig(options.out / "nuclei.png", dpi=options.dpi)
    print(table.markdown())
    report(f"written: {options.out}/nuclei.md, nuclei.json, nuclei.png")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; --quick changes the defaults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Settings()
    parser.add_argument("--data", type=Path, help="folder with images/*.png and masks/*.png; generated blobs without")
    parser.add_argument("--out", type=Path, default=Path("results/nuclei"), help="where to write (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="small images, few steps, one seed: under a minute")
    parser.add_argument("--methods", nargs="+", default=COMPARED, metavar="NAME", help=", ".join(METHODS))
    parser.add_argument("--size", type=int, default=usual.size, help="side of the images in pixels (%(default)s)")
    parser.add_argument("--steps", type=int, default=usual.steps, help="of 8 images each (%(default)s)")
    parser.add_argument("--clip", type=float, default=usual.clip, help="norm of the gradients at most (%(default)s)")
    parser.add_argument("--rates", type=float, nargs="+", default=usual.rates, help="grid of learning rates")
    parser.add_argument("--seeds", type=int, nargs="+", default=usual.seeds, help="the first one chooses the rate")
    parser.add_argument("--workers", type=int, default=2, help="networks trained at once (%(default)s)")
    parser.add_argument("--dpi", type=int, default=110, help="of the figure (%(default)s)")
    small = replace(usual, size=48, steps=30, rates=(1e-2,), seeds=(0,))
    if parser.parse_args(arguments).quick:
        parser.set_defaults(size=small.size, steps=small.steps, rates=small.rates, seeds=small.seeds, workers=1)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
