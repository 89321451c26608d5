"""``setloss train``: a linear model for a set-level loss, to a certified gap, from a data file to a model file."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.commands import with_option_groups
from setloss.cli.data_options import DataOptions
from setloss.cli.errors import InputError
from setloss.cli.json_output import print_document
from setloss.cli.models import check_model_path, note_columns, some_names, write_model
from setloss.cli.progress import INTERRUPTED, NoModelYetError, TrainingProgress, say
from setloss.cli.training_options import LossOptions, TrainingOptions
from setloss.defaults import LOOSER_FOLDS

NOT_CONVERGED = 4
"""Exit code of a training that a limit ended before the gap asked for."""

EPILOG = (
    "Exit codes: 0 fine; 4 a limit came before the gap asked for: the model is written, and a sentence says how far "
    "it got; 2 bad input (one sentence on standard error says what); 130 "
    "interrupted: the first Ctrl-C or SIGTERM stops after the iteration under way and writes the best model so far "
    "(none while --cv still compares)."
)


@with_option_groups
def train(
    data: DataOptions,
    loss: LossOptions,
    training: TrainingOptions,
    model: Annotated[Path, typer.Option(help="File to write, .skops.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Train a linear model for a loss of whole sets of mistakes, to a certified duality gap.

    DATA with label sets trains a SetClassifier, tracks (bags of frames) a BagClassifier. Features are standardised
    first; the model takes them as they are.

    For example: setloss train songs.csv --labels mood_ --model songs.skops
    """
    objective = loss.read()
    training.check()
    check_model_path(model, data.data, training.checkpoint)
    with _watched(training, f"reading {data.data}") as watch:
        examples = data.read()
        fitted = _fit(examples, objective, training, watch)
        values = fitted.losses(examples.X, *_targets(examples))
    document = _summary(fitted, values, training)
    note_columns(fitted, examples, data.group, data.label)
    write_model(fitted, model)
    if as_json:
        print_document(document | {"model": str(model)})
    else:
        _print_words(document, examples.feature_names, training)
        typer.echo(f"model written to {model}")
    _say_what_is_missing(document, training)
    status = document["status"]
    if status != "converged":
        raise typer.Exit(INTERRUPTED if status == "interrupted" else NOT_CONVERGED)


def _fit(examples: Any, objective: Any, training: TrainingOptions, watch: TrainingProgress) -> Any:
    """The fitted estimator of data in memory."""
    watch.starting()
    with _faults_in_words():
        estimator = _estimator(examples, objective, training, watch)
        _fit_to_features(estimator, examples, training.standardize)
    _refuse_without_objective(estimator.solution_)
    return estimator


@contextmanager
def _watched(training: TrainingOptions, doing: str) -> Iterator[TrainingProgress]:
    """Progress from the first word on, before the slow imports; Ctrl-C where there is no model yet ends in 130."""
    try:
        with TrainingProgress(training.tol, training.fits()) as watch:
            watch.between_fits(doing)
            yield watch
    except (NoModelYetError, KeyboardInterrupt):
        say("interrupted before there was a model to write")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _faults_in_words() -> Iterator[None]:
    """Errors and warnings of a fit as sentences."""
    from sklearn.exceptions import ConvergenceWarning

    from setloss.decomposition import DecompositionError
    from setloss.solvers import CheckpointWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in our own words
            warnings.simplefilter("always", CheckpointWarning)
            warnings.showwarning = lambda message, *place: say(str(message))
            yield
    except (ValueError, DecompositionError) as error:
        raise InputError(str(error)) from None


def _refuse_without_objective(solution: Any) -> None:
    """End where no iteration came to its end: there is no model to write."""
    if math.isfinite(solution.primal):
        return
    if str(solution.status) == "interrupted":
        raise NoModelYetError
    raise InputError(
        f"{solution.status} after {solution.iterations} iterations, before there was a model to write; raise "
        "--max-iter or --max-time"
    )


def _fit_to_features(estimator: Any, examples: Any, standardize: bool) -> None:
    if not standardize:
        estimator.fit(examples.X, *_targets(examples))
        return
    from setloss.estimators.elements import Standardizer, check_features

    check_features(examples.X)
    features = Standardizer.of(examples.X)
    estimator.fit(features.apply(examples.X), *_targets(examples))
    features.fold(estimator)


def _estimator(examples: Any, objective: Any, training: TrainingOptions, watch: Any) -> Any:
    from setloss import estimators
    from setloss.io import LabelSets

    sets = isinstance(examples, LabelSets)
    own = {"loss": objective, "callbacks": (watch,)}
    shared = training.shared() | own
    if training.cv is not None:
        choose = estimators.SetClassifierCV if sets else estimators.BagClassifierCV
        return choose(Cs=training.path(), cv=training.cv, **(shared | {"operator": training.operator_list()}))
    simple = estimators.SetClassifier if sets else estimators.BagClassifier
    return simple(**shared, **training.single())


def _targets(examples: Any) -> tuple[Any, ...]:
    from setloss.io import LabelSets

    return (examples.Y,) if isinstance(examples, LabelSets) else (examples.y, examples.groups)


def _summary(fitted: Any, values: Any, training: TrainingOptions) -> dict[str, Any]:
    """How the training ended; numbers that are not known are None."""
    solution = fitted.solution_
    last = solution.history[-1] if solution.history else None
    document: dict[str, Any] = {
        "status": str(solution.status),
        "gap": _known(solution.gap),
        "tol": training.tol,
        "primal": _known(solution.primal),
        "dual": _known(solution.dual),
        "iterations": int(solution.iterations),
        "passes": None if last is None else float(last.passes),
        "seconds": None if last is None else float(last.seconds),
        "loss": fitted.loss if isinstance(fitted.loss, str) else repr(fitted.loss),
        "operator": str(getattr(fitted, "operator_", fitted.operator)),
        "C": float(getattr(fitted, "C_", None) or fitted.C),
        "training_loss": float(values.mean()),
        "sets": len(values),
        "features": int(fitted.n_features_in_),
        "standardized": training.standardize,
    }
    if training.cv is not None:
        columns = fitted.cv_results_
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        numbers = ("C", "loss", "error", "gap")
        document["cv"] = [row | {name: _known(row[name]) for name in numbers} for row in rows]
    return document


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _say_what_is_missing(document: dict[str, Any], training: TrainingOptions) -> None:
    reached = "no certified gap" if document["gap"] is None else f"a relative gap of {document['gap']:.1e}"
    if document["status"] == "interrupted":
        say(f"interrupted after {document['iterations']} iterations; the best model so far has {reached}")
    elif document["status"] != "converged":
        say(
            f"{document['status']} after {document['iterations']} iterations with {reached} instead of "
            f"{training.tol:.1e}; raise --max-iter or --max-time, {_or_standardize(training)}lower C"
        )
    compared, enough = document.get("cv", ()), LOOSER_FOLDS * training.tol
    rough = [row for row in compared if row["gap"] is None or row["gap"] > enough]
    if rough:
        say(f"{len(rough)} of {len(document['cv'])} candidates were compared at gaps above {enough:.1e}")


def _or_standardize(training: TrainingOptions) -> str:
    return "or " if training.standardize else "leave --no-standardize out, or "


def _print_words(document: dict[str, Any], names: Any, training: TrainingOptions) -> None:
    """The summary, and with --cv a line per candidate."""
    for row in document.get("cv", ()):
        error = "" if row["error"] is None else f" +- {row['error']:.4f}"
        typer.echo(f"C {row['C']:<8g} {row['operator']:<12} loss {row['loss']:.4f}{error}")
    gap = "unknown" if document["gap"] is None else f"{document['gap']:.2e}"
    seconds = "" if document["seconds"] is None else f", {document['seconds']:.2f} s"
    typer.echo(f"{document['status']}: gap {gap} after {document['iterations']} iterations{seconds}")
    typer.echo(f"{document['loss']} with {document['operator']}, C = {document['C']:g}")
    typer.echo(f"training loss {document['training_loss']:.4f}, mean over {document['sets']} sets")
    scaled = ", standardised for the training; the model takes them as they are" if document["standardized"] else ""
    typer.echo(f"{document['features']} features{f' ({some_names(names)})' if names else ''}{scaled}")
