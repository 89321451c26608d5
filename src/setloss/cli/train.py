"""``setloss train``: from a data file to a model file."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.commands import InputError, check_writable, print_document, say, with_option_groups
from setloss.cli.data import DataOptions
from setloss.cli.models import Source, last_step, write_model
from setloss.cli.progress import INTERRUPTED, Waiting, terminated_as_interrupted
from setloss.cli.set_functions import LossOptions
from setloss.defaults import LINEAR_MODELS

NOT_CONVERGED = 4
"""Exit code of a training that a limit ended before the gap asked for."""

EPILOG = (
    "Exit codes: 0 fine; 4 a limit came before the gap asked for: the model is written, and a sentence says how far "
    "it got; 2 bad input (one sentence on standard error says what); 130 interrupted: a linear model with --decision "
    "sign is written as far as it got, of others there is none."
)
OPERATORS = ("slack", "margin", "bd", "bd-monotone", "lovasz", "hinge")
METHODS = (*OPERATORS, "logistic", "trees")
MODEL, STOP = "The model", "Linear models: when to stop, and how to resume"


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, as given."""

    method: Annotated[
        str | None,
        typer.Option(
            help=f"What gives scores: {', '.join(OPERATORS)} (linear models trained for the loss by this surrogate), "
            "logistic, or trees.",
            show_default="the likeliest of logistic regressions and trees",
            rich_help_panel=MODEL,
        ),
    ] = None
    decision: Annotated[
        str,
        typer.Option(
            help="How scores become sets, learned on held-out folds: counts, threshold, half or auto, the best; for "
            "label sets also plug-in and top-k, for tracks vote. sign: a linear model as in the paper.",
            rich_help_panel=MODEL,
        ),
    ] = "auto"
    C: Annotated[
        str | None,
        typer.Option(
            "--C",
            help="What losses weigh against small coefficients; of several, as 0.1,1,10, cross-validation keeps one.",
            show_default="1, or a path where no method is named",
            rich_help_panel=MODEL,
        ),
    ] = None
    cv: Annotated[int, typer.Option(help="Folds.", rich_help_panel=MODEL)] = 5
    average: Annotated[str, typer.Option(help="Of label sets: samples, macro or micro.", rich_help_panel=MODEL)] = (
        "samples"
    )
    scale: Annotated[
        float, typer.Option(help="Scale of the rescaled part of a surrogate.", rich_help_panel=MODEL)
    ] = LINEAR_MODELS.scale
    seed: Annotated[int, typer.Option(help="Seed of everything random.", rich_help_panel=MODEL)] = 0
    jobs: Annotated[int, typer.Option(help="Folds at a time.", rich_help_panel=MODEL)] = 1
    tol: Annotated[float, typer.Option(help="Relative duality gap.", rich_help_panel=STOP)] = 1e-3
    max_iter: Annotated[int, typer.Option(help="Most iterations.", rich_help_panel=STOP)] = 1000
    max_time: Annotated[float | None, typer.Option(help="Most seconds.", rich_help_panel=STOP)] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="With --decision sign: file to write the state to, and to resume from.", rich_help_panel=STOP
        ),
    ] = None

    def check(self) -> None:
        """Refuse what contradicts itself before any data are read; estimators check the rest."""
        if self.method is not None and self.method not in METHODS:
            raise InputError(f"there is no method {self.method!r}; the names are {', '.join(METHODS)}")
        if self.decision == "sign" and self.method not in (None, *OPERATORS):
            raise InputError(f"--decision sign is for linear models ({', '.join(OPERATORS)}); take --decision half")
        if self.checkpoint is not None and (self.decision != "sign" or len(self.path()) > 1):
            raise InputError("--checkpoint goes with --decision sign and one --C only")
        if self.C is not None and self.operator is None and self.method != "logistic":
            raise InputError("--C is for --method logistic and the names of surrogates; leave it out")
        if self.cv < 2:
            raise InputError(f"--cv is a number of folds, at least 2; got {self.cv}")

    @property
    def operator(self) -> str | None:
        """The surrogate of a linear model, if one is trained."""
        named = self.method in OPERATORS
        return self.method if named else LINEAR_MODELS.operator if self.decision == "sign" else None

    def path(self) -> list[float]:
        """The values of C."""
        try:
            values = [float(text) for text in (self.C or "1").split(",")]
        except ValueError:
            values = [-1.0]
        if min(values) <= 0:
            raise InputError(f"--C is a positive number, or several with commas between, as 0.1,1,10; got {self.C!r}")
        return values


@with_option_groups
def train(
    data: DataOptions,
    loss: LossOptions,
    training: TrainingOptions,
    model: Annotated[Path, typer.Option(help="File to write, .skops.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Train a classifier of label sets or of tracks (bags of frames), and decide for the loss of the whole set.

    Columns of tables may be numbers, categories, dates and empty; a message says what became of each. How scores
    become sets is learned on held-out folds. Without options this is SetDecisionCV() or BagDecisionCV().

    For example: setloss train songs.csv --labels mood_ --model songs.skops
    """
    objective = loss.read()
    training.check()
    if model.suffix != ".skops":
        raise InputError(f"--model writes a .skops file; got {model}")
    check_writable("--model", model, data.data)
    try:
        with terminated_as_interrupted(), Waiting(f"reading {data.data}") as waiting, _faults_in_words():
            examples = data.read()
            waiting.doing("preparing the columns")
            steps, features = _prepared(
                examples.X, scaled=training.operator is not None or training.method == "logistic"
            )
            waiting.doing("training")
            estimator = _estimator(training, objective, hasattr(examples, "Y"))
            estimator.fit(features, *_targets(examples))
            document = _summary(estimator, training, objective, steps, features, _targets(examples))
    except KeyboardInterrupt:
        say("interrupted before there was a model to write")
        raise typer.Exit(INTERRUPTED) from None
    fitted = _with_steps(steps, estimator)
    _source(examples, data, steps, document).note_on(fitted)
    write_model(fitted, model)
    if as_json:
        print_document(document | {"model": str(model)})
    else:
        _print_words(document)
        typer.echo(f"model written to {model}")
    if document["status"] not in (None, "converged"):
        gap = "no certified gap" if document["gap"] is None else f"a relative gap of {document['gap']:.1e}"
        say(f"{document['status']} with {gap}, not {training.tol:.1e}; raise --max-iter or --max-time, or lower C")
        raise typer.Exit(INTERRUPTED if document["status"] == "interrupted" else NOT_CONVERGED)


@contextmanager
def _faults_in_words() -> Iterator[None]:
    """Errors and warnings of a fit as sentences."""
    from sklearn.exceptions import ConvergenceWarning

    from setloss.decomposition import DecompositionError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in our own words
            warnings.showwarning = say
            yield
    except (ValueError, TypeError, DecompositionError) as error:
        raise InputError(str(error)) from None


def _prepared(X: Any, *, scaled: bool) -> tuple[list[tuple[str, Any]], Any]:
    """What is done to features before the training: fitted steps of a pipeline, and the features after them."""
    import numpy as np
    from scipy.sparse import issparse
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if hasattr(X, "columns"):
        from setloss.io import TableEncoder

        encoder = TableEncoder().fit(X)
        return [("columns", encoder)], encoder.transform(X)
    steps: list[tuple[str, Any]] = []
    if np.isnan(X.data if issparse(X) else X).any():
        steps.append(("imputer", SimpleImputer(strategy="median")))
    if scaled:
        steps.append(("scaler", MaxAbsScaler() if issparse(X) else StandardScaler()))
    for _, step in steps:
        X = step.fit_transform(X)
    return steps, X


def _estimator(training: TrainingOptions, objective: Any, of_label_sets: bool) -> Any:
    """The estimator that the options ask for."""
    from setloss import estimators

    kinds = ("SetClassifier", "SetDecisionCV") if of_label_sets else ("BagClassifier", "BagDecisionCV")
    path = training.path()
    linear: dict[str, Any] = {
        "loss": objective,
        "operator": training.operator,
        "scale": training.scale,
        "tol": training.tol,
        "max_iter": training.max_iter,
        "max_time": training.max_time,
        "random_state": training.seed,
        "verbose": 1,
    }
    scorers: Any = None
    if training.operator is not None:
        simple = getattr(estimators, kinds[0])
        if training.decision == "sign" and len(path) > 1:
            choose = getattr(estimators, f"{kinds[0]}CV")
            return choose(Cs=path, cv=training.cv, **linear)
        if training.decision == "sign":
            checkpoint = None if training.checkpoint is None else str(training.checkpoint)
            return simple(C=path[0], checkpoint=checkpoint, **linear)
        scorers = [simple(C=C, **linear) for C in path]
    elif training.method is not None:
        scorers = _other_scorers(training, path, of_label_sets)
    decision: dict[str, Any] = {"rule": training.decision, "cv": training.cv, "n_jobs": training.jobs, "verbose": 1}
    if of_label_sets:
        decision["average"] = training.average
    return getattr(estimators, kinds[1])(scorers, objective, **decision)


def _other_scorers(training: TrainingOptions, path: list[float], of_label_sets: bool) -> list[Any]:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier

    if training.method == "trees":
        return [ExtraTreesClassifier(300, random_state=training.seed, n_jobs=training.jobs)]
    found = [LogisticRegression(C=C, max_iter=1000) for C in path]
    return [MultiOutputClassifier(one) for one in found] if of_label_sets else found


def _targets(examples: Any) -> tuple[Any, ...]:
    return (examples.Y,) if hasattr(examples, "Y") else (examples.y, examples.groups)


def _with_steps(steps: list[tuple[str, Any]], estimator: Any) -> Any:
    """The fitted estimator behind the fitted steps."""
    from sklearn.pipeline import Pipeline

    return Pipeline([*steps, ("model", estimator)]) if steps else estimator


def _source(examples: Any, data: DataOptions, steps: list[tuple[str, Any]], document: dict[str, Any]) -> Source:
    names = examples.feature_names
    return Source(
        of_label_sets=hasattr(examples, "Y"),
        width=int(examples.X.shape[1]),
        label_count=len(getattr(examples, "label_names", ("",))),
        features=None if names is None or data.is_table else list(names),
        labels=list(examples.label_names) if hasattr(examples, "Y") else None,
        group=None if hasattr(examples, "Y") else data.group or "group",
        label=None if hasattr(examples, "Y") else data.label or "label",
        id=getattr(steps[0][1], "id_", None) if steps else None,
    )


# ------------------------------------------------------------------ what is said


def _summary(
    estimator: Any, training: TrainingOptions, objective: Any, steps: Any, X: Any, targets: Any
) -> dict[str, Any]:
    """What was trained and how it ended; None where something does not apply."""
    import math

    decision = getattr(estimator, "decision_", None)
    scorer = last_step(getattr(estimator, "estimator_", estimator))
    solution = getattr(scorer, "solution_", None)
    columns = getattr(steps[0][1], "columns_", None) if steps else None
    losses = {} if decision is None else decision.rule_losses_
    sets = len(targets[0]) if len(targets) == 1 else len(set(targets[1].tolist()))
    gap = None if solution is None or not math.isfinite(solution.gap) else float(solution.gap)
    return {
        "loss": objective if isinstance(objective, str) else repr(objective),
        "classifier": str(getattr(estimator, "estimator_", estimator)),
        "decision": "sign" if decision is None else decision.rule_name_,
        "held_out_losses": {rule: [float(mean), float(error)] for rule, (mean, error) in losses.items()},
        "C": getattr(estimator, "C_", None),
        "status": None if solution is None else str(solution.status),
        "gap": gap,
        "sets": sets,
        "features": int(X.shape[1]),
        "columns": None if columns is None else [column._asdict() for column in columns],
    }


def _print_words(document: dict[str, Any]) -> None:
    columns = document["columns"] or []
    width = max([len(column["name"]) for column in columns] + [4])
    for column in columns:
        what = column["words"] if column["role"] == "number" else f"{column['role']}: {column['words']}"
        kept = "; names the rows of predictions" if column["role"] == "id" else ""
        typer.echo(f"  {column['name']:<{width}}  {what}{kept}")
    typer.echo(f"{document['sets']} sets, {document['features']} features")
    typer.echo(f"scores by {' '.join(document['classifier'].split())}")
    if document["status"] is not None:
        gap = "unknown" if document["gap"] is None else f"{document['gap']:.1e}"
        typer.echo(f"{document['status']}: gap {gap}")
    typer.echo(f"decided for {document['loss']} by {document['decision']}")
    for rule, (mean, error) in document["held_out_losses"].items():
        mark = "  (used)" if rule == document["decision"] else ""
        typer.echo(f"  {rule:<9}  held-out loss {mean:.4f} +- {error:.4f}{mark}")
