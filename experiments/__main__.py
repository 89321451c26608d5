"""``python -m experiments COMMAND``: the paper (`reproduce`) and the benchmarks on real and generated data.

Commands refuse bad input with one sentence and exit code 2 before any work. What is done is on disk whatever happens
to the rest; Ctrl-C ends at once, with exit code 130.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.document import Document
from experiments.progress import ShownProgress
from experiments.running import data_folder, part_of, usual_jobs

app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True, add_completion=False)

Out = Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")]
Names = Annotated[str | None, typer.Option(metavar="NAME,...", help="Which ones, separated by commas.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")]
RESULTS = Path("results")


@app.callback()
def _experiments() -> None:
    """The paper's tables and figures made again, and benchmarks on label sets, tracks and images."""


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _show(document: Document, out: Path) -> None:
    for table in document.tables:
        typer.echo(table.markdown())
    typer.echo(f"written to {out / document.name}.md and .json")


# ---------------------------------------------------------------- the paper


@app.command()
def reproduce(
    only: Names = None,
    out: Out = RESULTS,
    full: Annotated[bool, typer.Option("--full", help="All folds and repeats, the paper's sizes: hours.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="So few that it takes a minute: a trial.")] = False,
    seed: Seed = 0,
    data: Annotated[Path | None, typer.Option(help="Folder of real tracks; else what SETLOSS_DATA names.")] = None,
) -> None:
    """Make the paper's tables and figures again, and say which of its claims hold."""
    from experiments.paper import artefact
    from experiments.paper.files import read, write
    from experiments.paper.report import claims_table, write_report

    if full and quick:
        raise ValueError("give --full or --quick, not both")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: there is no folder {data}")
    wanted = artefact.in_order(_names(only) or ["all"])
    settings = artefact.Settings(seed, full, data, quick)
    out.mkdir(parents=True, exist_ok=True)
    read(out)
    parts = artefact.shares_of_time(wanted, quick=quick, full=full)
    with ShownProgress() as progress:
        for name, (start, length) in zip(wanted, parts, strict=True):
            follow = part_of(progress.update, start, length, name)
            follow(0.0, "starting")
            began = time.perf_counter()
            document = artefact.artefact_named(name).make(replace(settings, progress=follow))
            seconds = time.perf_counter() - began
            write(document, settings, seconds, out)
            report, claims = write_report(out)
            progress.announce(f"{name}: {seconds:.1f} s")
            for table in document.tables:
                typer.echo(table.markdown())
    typer.echo(claims_table(claims).markdown())
    typer.echo(f"report written to {report}")


# ---------------------------------------------------------------- label sets


@app.command()
def multilabel(
    data: Annotated[Path, typer.Option(help="Folder of data sets: NAME-train.arff, NAME-test.arff, NAME.xml.")],
    out: Out = RESULTS,
    folds: Annotated[int | None, typer.Option(min=2, help="Cross-validation instead of the standard split.")] = None,
    datasets: Names = None,
    methods: Names = None,
    criterion: Annotated[str, typer.Option(help="What choices are made by: f1 or jaccard.")] = "f1",
    quick: Annotated[bool, typer.Option("--quick", help="Few values of C, folds, trees and rounds.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    seed: Seed = 0,
) -> None:
    """Compare models and decisions on label sets. Runs that are in multilabel-runs.jsonl are not repeated."""
    from experiments.label_sets.chosen import SelectionSettings
    from experiments.label_sets.data import find_data_sets, read_data_set
    from experiments.label_sets.methods import METHODS
    from experiments.label_sets.protocol import BenchmarkPlan, run_data_set
    from experiments.label_sets.report import report

    small: dict[str, Any] = {"Cs": (1.0, 10.0), "folds": 3, "tol": 1e-2, "trees": 100, "rounds": 20}
    choice = SelectionSettings(criterion=criterion, seed=seed, **(small if quick else {}))
    plan = BenchmarkPlan(tuple(_names(methods) or METHODS), folds, choice, jobs)
    found = find_data_sets(data, _names(datasets))
    out.mkdir(parents=True, exist_ok=True)
    outcomes: list[Any] = []
    with ShownProgress() as progress:
        for number, (name, files) in enumerate(found.items()):
            follow = part_of(progress.update, number / len(found), 1 / len(found), name)
            follow(0.0, "reading")
            outcomes.append(run_data_set(read_data_set(name, files), plan, follow, out / "multilabel-runs.jsonl"))
            report(outcomes, plan).write(out)
    _show(report(outcomes, plan), out)


# ---------------------------------------------------------------- tracks


@app.command()
def tracks(
    data: Annotated[Path | None, typer.Option(help="Folder of data sets; else what SETLOSS_DATA names.")] = None,
    out: Out = RESULTS,
    full: Annotated[bool, typer.Option("--full", help="All speakers, digits and utterances, 10 folds.")] = False,
    datasets: Names = None,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; else the cores, at most 4.")] = None,
) -> None:
    """Compare operators with LinearSVC and logistic regression on bags of frames, with and without a vote."""
    from experiments.tracks import benchmark
    from experiments.tracks.data import SOURCES, names_in

    folder = data_folder(data)
    if folder is None:
        raise ValueError("no data: give --data, a folder with japanese_vowels/ or spoken_arabic_digits/")
    names = names_in(folder, _names(datasets))
    protocol = replace(benchmark.FULL if full else benchmark.QUICK, seed=seed, n_jobs=jobs or usual_jobs())
    out.mkdir(parents=True, exist_ok=True)
    documents: dict[str, Document] = {}
    with ShownProgress() as progress:
        loaders = [partial(SOURCES[name], folder, full) for name in names]
        for problem, followed in benchmark.follow_each(loaders, protocol, progress.update):
            documents[problem.name] = benchmark.benchmark(problem, followed)
            documents[problem.name].write(out)
    everything = benchmark.summary(documents)
    everything.write(out)
    _show(everything, out)


# ---------------------------------------------------------------- images


@app.command()
def segmentation(
    data: Annotated[Path | None, typer.Option(help="Folder of data sets; else images are generated.")] = None,
    out: Out = RESULTS,
    datasets: Names = None,
    methods: Names = None,
    size: Annotated[int | None, typer.Option(min=8, help="Side of images or crops; else 48, 64 or 80.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of 8 images.")] = 150,
    rates: Annotated[
        str, typer.Option(metavar="RATE,...", help="Learning rates to choose from.")
    ] = "0.003,0.01,0.03",
    seeds: Annotated[int, typer.Option(min=1, help="Networks per loss; the first chooses the rate.")] = 3,
    split: Annotated[int | None, typer.Option(min=0, help="Leave test images out, split the others anew.")] = None,
) -> None:
    """Train the same small U-Net with every loss; compare losses, then decisions.

    Trained networks are kept in OUT/networks and not trained again.
    """
    from experiments.images.generated import problems_named
    from experiments.images.methods import methods_named
    from experiments.images.protocol import compare
    from experiments.images.report import report
    from experiments.images.training import TrainingSettings

    settings = TrainingSettings(
        steps=steps, rates=tuple(float(rate) for rate in rates.split(",")), seeds=tuple(range(seeds))
    )
    problems = problems_named(data, _names(datasets), size, split)
    chosen = _names(methods)
    methods_named(chosen, 1)
    out.mkdir(parents=True, exist_ok=True)
    outcomes: list[Any] = []
    with ShownProgress() as progress:
        for number, make in enumerate(problems):
            progress.update(number / len(problems), "reading images")
            problem = make()
            losses = methods_named(chosen, problem.classes)
            runs = len(losses) * (len(settings.rates) + len(settings.seeds) - 1)
            follow = _counted(partial(_share_of, progress, number, len(problems)), runs)
            outcomes.append(compare(problem, losses, settings, out / "networks", follow))
            report(outcomes).write(out)
    _show(report(outcomes), out)


def _share_of(progress: ShownProgress, before: int, parts: int, share: float, doing: str) -> None:
    progress.update((before + share) / parts, doing)


def _counted(follow: Any, runs: int) -> Any:
    """A function of words that counts its calls."""
    done = count(1)
    return lambda what: follow(min(next(done) / runs, 1.0), what)


def main() -> None:
    """Entry point: bad input is one sentence on standard error; Ctrl-C is not caught by solvers."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    try:
        app(prog_name="python -m experiments")
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"experiments: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
