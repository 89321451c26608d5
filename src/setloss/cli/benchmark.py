"""``setloss benchmark``: our operators against what people use now, on data in a folder."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setloss.cli.benchmark_segmentation import segmentation
from setloss.cli.benchmark_tracks import tracks
from setloss.cli.commands import OneSentenceGroup, PlainHelpCommand, names_in
from setloss.cli.errors import InputError
from setloss.cli.output_files import make_folder, show_document, write_document
from setloss.cli.progress import INTERRUPTED, Interrupted, WorkProgress, say

if TYPE_CHECKING:
    from setloss.reproduction.document import Document
    from setloss.reproduction.label_sets.protocol import BenchmarkPlan, DataSetOutcome

EPILOG = (
    "Exit codes: 0 fine; 2 bad input (one sentence on standard error says what); 130 interrupted: the results of "
    "the data sets that are done stay."
)
QUICK = {"Cs": (1.0, 10.0), "folds": 3, "tol": 1e-2, "trees": 100, "rounds": 20}
RUNS = "multilabel-runs.jsonl"

benchmark = typer.Typer(cls=OneSentenceGroup, epilog=EPILOG)
benchmark.command(cls=PlainHelpCommand, epilog=EPILOG)(tracks)
benchmark.command(cls=PlainHelpCommand, epilog=EPILOG)(segmentation)


@benchmark.callback(invoke_without_command=True)
def _benchmark(context: typer.Context) -> None:
    """Our operators against what people use now, on data of yours."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@benchmark.command(cls=PlainHelpCommand, epilog=EPILOG)
def multilabel(
    data: Annotated[
        Path, typer.Option(help="Folder of data sets, or one: NAME-train.arff, NAME-test.arff, NAME.xml.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")] = Path("results"),
    folds: Annotated[
        int | None, typer.Option(help="Cross-validation on so many folds.", min=2, show_default="the standard split")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Which ones, as emotions,scene.", metavar="NAME,...", show_default="all")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Which ones: linear, trees or boosting with +counts, +auto, +plug-in, +threshold or +top-k; counts; "
            "LOSS:OPERATOR, with @1 for scale 1, hinge, svm, logistic, chain, which may end in +threshold, +top-k or "
            "(logistic, chain) +plug-in.",
            metavar="NAME,...",
            show_default="all models with all rules, and slack",
        ),
    ] = None,
    criterion: Annotated[str, typer.Option(help="What C and thresholds are chosen by: f1 or jaccard.")] = "f1",
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Two values of C, three inner folds, gap 1e-2, 100 trees, 20 rounds of boosting."
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes at a time.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the folds.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Compare models and decisions on label sets: counts, the plug-in rule, thresholds, top-k, operators, chains.

    Writes multilabel.json, .md and .png after each data set; runs that are in multilabel-runs.jsonl are not repeated.

    For example: setloss benchmark multilabel --data data --folds 10 --methods logistic,dice:slack@1
    """
    from setloss.datasets import DatasetError
    from setloss.reproduction.label_sets.data import find_data_sets

    plan = _plan(methods, folds, criterion, quick, jobs, seed)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError('the figure needs matplotlib: pip install "setloss[plot]"')
    try:
        found = find_data_sets(data, None if datasets is None else names_in(datasets))
    except DatasetError as error:
        raise InputError(f"--data: {error}") from None
    make_folder(out)
    outcomes: list[DataSetOutcome] = []
    try:
        _run(found, plan, out, outcomes)
    except ValueError as error:  # what the readers, the folds and the estimators say of data they cannot use
        raise InputError(str(error)) from None
    except Interrupted:
        done = ", ".join(outcome.name for outcome in outcomes) or "none"
        say(f"interrupted; data sets done and written to {out}: {done}")
        raise typer.Exit(INTERRUPTED) from None
    show_document(_report(outcomes, plan), out, as_json)


# ---------------------------------------------------------------- before any work


def _plan(
    methods: str | None, folds: int | None, criterion: str, quick: bool, jobs: int, seed: int
) -> "BenchmarkPlan":
    from setloss.reproduction.label_sets.chosen import SelectionSettings
    from setloss.reproduction.label_sets.methods import METHODS
    from setloss.reproduction.label_sets.protocol import BenchmarkPlan
    from setloss.reproduction.metrics import CRITERIA

    if criterion not in CRITERIA:
        raise InputError(f"--criterion is one of {', '.join(CRITERIA)}; got {criterion!r}")
    options: dict[str, Any] = {"criterion": criterion, "seed": seed} | (QUICK if quick else {})
    try:
        return BenchmarkPlan(
            METHODS if methods is None else tuple(names_in(methods)), folds, SelectionSettings(**options), jobs
        )
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None


# ---------------------------------------------------------------- the work


def _run(
    found: dict[str, tuple[Path, ...]], plan: "BenchmarkPlan", out: Path, outcomes: "list[DataSetOutcome]"
) -> None:
    """One data set after the other; the files are about all that are done."""
    from setloss.reproduction.label_sets.data import read_data_set
    from setloss.reproduction.label_sets.protocol import run_data_set
    from setloss.reproduction.running import part_of

    with WorkProgress() as progress:
        for number, (name, files) in enumerate(found.items()):
            update = part_of(progress.update, number / len(found), 1 / len(found), name)
            update(0.0, "reading")
            outcomes.append(run_data_set(read_data_set(name, files), plan, update, out / RUNS))
            write_document(_report(outcomes, plan), out)


# ---------------------------------------------------------------- what came out


def _report(outcomes: "list[DataSetOutcome]", plan: "BenchmarkPlan") -> "Document":
    from setloss.reproduction.label_sets.report import report

    return report(outcomes, plan)
