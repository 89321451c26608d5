"""``python -m experiments COMMAND``: the paper (`reproduce`) and the benchmarks on real and generated data.

Commands refuse bad input with one sentence and exit code 2 before any work. What is done is on disk whatever happens
to the rest; Ctrl-C ends at once, with exit code 130.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from experiments.document import Document, ResultTable
from experiments.protocol import data_folder, named

app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True, add_completion=False, help=__doc__)

Out = Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")]
Data = Annotated[Path | None, typer.Option(help="Folder of data sets; else what SETLOSS_DATA names.")]
Names = Annotated[str | None, typer.Option(metavar="NAME,...", help="Which ones, separated by commas.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")]
Pages = Annotated[Path | None, typer.Option(help="Put the tables of pages here: docs/results.")]
RESULTS = Path("results")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _show(document: Document, out: Path) -> None:
    for table in document.tables:
        typer.echo(table.markdown())
    typer.echo(f"written to {out / document.name}.md and .json")


def _keep(table: ResultTable, file: str) -> None:
    """Write a table where pages find it."""
    Path(file).write_text(json.dumps(table.as_dict(), indent=1), "utf-8")


@app.command()
def reproduce(
    only: Names = None,
    out: Out = RESULTS,
    full: Annotated[bool, typer.Option("--full", help="All folds and repeats, the paper's sizes: hours.")] = False,
    seed: Seed = 0,
    data: Data = None,
) -> None:
    """Make the paper's tables and figures again, and say which of its claims hold."""
    from experiments.paper import artefact
    from experiments.paper.report import claims_table, write_report

    if data is not None and not data.is_dir():
        raise ValueError(f"--data: there is no folder {data}")
    wanted = artefact.in_order(_names(only))
    settings = artefact.Settings(seed, full, data)
    out.mkdir(parents=True, exist_ok=True)
    artefact.read(out)
    for name in wanted:
        began = time.perf_counter()
        document = artefact.maker(name)(settings)
        seconds = time.perf_counter() - began
        artefact.write(document, settings, seconds, out)
        report, claims = write_report(out)
        _show(document, out)
        typer.echo(f"{name}: {seconds:.1f} s\n")
    typer.echo(claims_table(claims).markdown())
    typer.echo(f"report written to {report}")


@app.command()
def multilabel(
    data: Annotated[Path, typer.Option(help="Folder of data sets: NAME-train.arff, NAME-test.arff, NAME.xml.")],
    out: Out = RESULTS,
    halves: Annotated[int | None, typer.Option(min=1, help="So many random halves, not the standard split.")] = None,
    datasets: Names = None,
    methods: Names = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few values of C, folds and trees.")] = False,
    pages: Pages = None,
) -> None:
    """Compare models, decisions and rivals on label sets. Runs are kept in OUT/runs and not made again."""
    from experiments.label_sets.methods import METHODS
    from experiments.label_sets.protocol import BenchmarkPlan, run_data_set
    from experiments.label_sets.report import report, tables_of_pages, write
    from experiments.label_sets.tuning import Choices
    from experiments.loaders import find_data_sets, read_data_set

    choices = Choices(Cs=(1.0, 10.0), folds=3, trees=50) if quick else Choices()
    plan = BenchmarkPlan(tuple(_names(methods) or METHODS), halves, choices)
    found = find_data_sets(data, _names(datasets))
    out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for name, files in found.items():
        outcomes.append(run_data_set(read_data_set(name, files), plan, out / "runs"))
        write(report(outcomes, plan), out)
    _show(report(outcomes, plan), out)
    if pages is not None and halves is None:
        for name, table in tables_of_pages(outcomes, plan).items():
            _keep(table, f"{pages}/{name}.json")


@app.command()
def scoreboard(
    results: Annotated[Path, typer.Option(help="Folder where `multilabel` wrote its results.")] = RESULTS,
    pages: Pages = None,
) -> None:
    """Our scores beside published ones, from results that are kept."""
    from experiments.label_sets.scoreboard import scoreboards

    for name, table in scoreboards(results).items():
        typer.echo(table.markdown())
        if pages is not None:
            _keep(table, f"{pages}/scoreboard_{name}.json")


@app.command()
def tracks(
    data: Data = None,
    out: Out = RESULTS,
    full: Annotated[bool, typer.Option("--full", help="All speakers and utterances, 10 folds.")] = False,
    datasets: Names = None,
) -> None:
    """Compare operators and frame classifiers, decided in several ways, on bags of frames."""
    from experiments.tracks import report
    from experiments.tracks.data import read_source, sources_in

    folder = data_folder(data)
    if folder is None:
        raise ValueError("no data: give --data, a folder with japanese_vowels/ or spoken_arabic_digits/")
    names = sources_in(folder, _names(datasets))
    protocol = report.FULL if full else report.USUAL
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        document = report.benchmark(read_source(name, folder, full), protocol)
        document.write(out)
        _show(document, out)


@app.command()
def segmentation(
    data: Annotated[Path | None, typer.Option(help="Folder of data sets; else images are generated.")] = None,
    out: Out = RESULTS,
    datasets: Names = None,
    methods: Names = None,
    size: Annotated[int, typer.Option(min=8, help="Side of images or crops.")] = 64,
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 150,
    batch: Annotated[int, typer.Option(min=1, help="Images of a step.")] = 8,
    rate: Annotated[float, typer.Option(help="Learning rate of all losses.")] = 0.01,
    seeds: Annotated[int, typer.Option(min=1, help="Networks per loss.")] = 3,
    seed: Seed = 0,
    pages: Annotated[Path | None, typer.Option(help="Put the tables here, as PAGES_losses.json and so on.")] = None,
) -> None:
    """Train the same small U-Net with every loss; compare losses, then decisions. Networks are kept in OUT/runs."""
    from experiments.images.data import problems_named
    from experiments.images.networks import METHODS, TrainingSettings
    from experiments.images.report import compare, report

    settings = TrainingSettings(steps=steps, batch=batch, rate=rate, seeds=tuple(range(seeds)))
    chosen = named("method", _names(methods), METHODS)
    problems = problems_named(data, _names(datasets), size, seed)
    out.mkdir(parents=True, exist_ok=True)
    outcomes = compare([make() for make in problems], chosen, settings, out / "runs")
    found = report(outcomes)
    found.write(out)
    _show(found, out)
    for table in found.tables if pages is not None else ():
        _keep(table, f"{pages}_{table.title.lower().replace(' ', '_').replace('-', '_')}.json")


def main() -> None:
    """Entry point: bad input is one sentence on standard error; Ctrl-C is not caught by solvers."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("experiments").setLevel(logging.INFO)
    try:
        app(prog_name="python -m experiments")
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"experiments: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
