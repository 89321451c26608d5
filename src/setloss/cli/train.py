"""``setloss train``: from a data file to a model file."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.answered import PromiseOptions
from setloss.cli.commands import (
    InputError,
    JsonOption,
    check_writable,
    panel_option,
    print_document,
    say,
    with_option_groups,
)
from setloss.cli.data import DataOptions
from setloss.cli.models import Source, prepared
from setloss.cli.progress import INTERRUPTED, Waiting, finishing
from setloss.cli.set_functions import LossOptions
from setloss.cli.training_report import columns_of, print_report, summary_of
from setloss.defaults import LINEAR_MODELS
from setloss.io.models import save

NOT_CONVERGED = 4
"""Exit code of a training that a limit ended before the gap asked for."""

FEW_ROWS = 20
"""Tables with fewer rows are tried out, and may have labels that occur once."""

EPILOG = (
    "Exit codes: 0 fine; 4 a limit came before the gap asked for: the model is written, and a sentence says how far "
    "it got; 2 bad input (one sentence on standard error says what); 130 interrupted: a linear model with --rule "
    "sign is written as far as it got, of others there is none."
)
OPERATORS = ("slack", "margin", "bd", "bd-monotone", "lovasz", "hinge")
METHODS = (*OPERATORS, "logistic", "trees")
_model = partial(panel_option, "The model")
_stop = partial(panel_option, "Linear models: when to stop")


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, as given."""

    method: Annotated[
        str | None,
        _model(
            f"What gives scores: {', '.join(OPERATORS)} (linear models trained for the loss by this surrogate), "
            "logistic, or trees.",
            show_default="the likeliest of logistic regressions and trees",
        ),
    ] = None
    rule: Annotated[
        str,
        _model(
            "How scores become sets, learned on held-out folds: counts, plug-in, threshold, half or auto, the better "
            "of counts and threshold. sign: a linear model as in the paper."
        ),
    ] = "auto"
    C: Annotated[
        str | None,
        _model(
            "What losses weigh against small coefficients; of several, as 0.1,1,10, cross-validation keeps one.",
            "--C",
            show_default="1, or a path where no method is named",
        ),
    ] = None
    cv: Annotated[int, _model("Folds.")] = 5
    average: Annotated[str, _model("Of label sets: samples, macro or micro.")] = "samples"
    scale: Annotated[float, _model("Scale of the rescaled part of a surrogate.")] = LINEAR_MODELS.scale
    jobs: Annotated[int, _model("Folds at a time.")] = 1
    tol: Annotated[float, _stop("Relative duality gap.")] = 1e-3
    max_iter: Annotated[int, _stop("Most iterations.")] = 1000
    max_time: Annotated[float | None, _stop("Most seconds.")] = None

    def check(self) -> None:
        """Refuse what contradicts itself before any data are read; estimators check the rest."""
        if self.method is not None and self.method not in METHODS:
            raise InputError(f"there is no method {self.method!r}; the names are {', '.join(METHODS)}")
        if self.rule == "sign" and self.method not in (None, *OPERATORS):
            raise InputError(f"--rule sign is for linear models ({', '.join(OPERATORS)}); take --rule half")
        if self.C is not None and not self.is_linear:
            raise InputError("--C is for --method logistic and the names of surrogates; leave it out")

    @property
    def operator(self) -> str | None:
        """The surrogate of a linear model of ours, if one is trained."""
        named = self.method in OPERATORS
        return self.method if named else LINEAR_MODELS.operator if self.rule == "sign" else None

    @property
    def is_linear(self) -> bool:
        """Whether a linear model is asked for by name, which wants scaled features."""
        return self.operator is not None or self.method == "logistic"

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
    promised: PromiseOptions,
    model: Annotated[Path, typer.Option(help="File to write, .skops.")],
    as_json: JsonOption = False,
) -> None:
    """Train a classifier of label sets or of tracks (bags of frames), and decide for the loss of the whole set.

    Columns of tables may be numbers, categories, dates, free text and empty; a report says what became of each.

    For example: setloss train stories.csv --labels topics --model stories.skops
    """
    from sklearn.pipeline import make_pipeline

    objective = loss.read()
    training.check()
    promised.check(training)
    if model.suffix != ".skops":
        raise InputError(f"--model writes a .skops file; got {model}")
    check_writable("--model", model, data.data)
    try:
        with Waiting(f"reading {data.data}") as waiting, _faults_in_words():
            examples = data.read()
            _check_labels(examples, data.data)
            examples, kept = promised.split(examples)
            waiting.doing("preparing the columns")
            try:
                steps, features = _prepared(examples.X, training)
            except ValueError as error:
                raise InputError(f"{data.data}: {error}") from None
            waiting.doing("training")
            estimator = _estimator(training, objective, hasattr(examples, "Y"))
            targets = {"y": examples.Y} if hasattr(examples, "Y") else {"y": examples.y, "groups": examples.groups}
            estimator.fit(features, **targets).set_params(verbose=0)
            promise = None
            if kept is not None:
                waiting.doing("learning the promise")
                promise = promised.make(estimator, prepared(make_pipeline(*steps, estimator), kept.X), kept)
            waiting.doing(f"writing {model}")
            encoder = steps[0] if steps else None
            fitted = make_pipeline(*steps, estimator) if steps else estimator
            with finishing():
                Source.from_data(examples, data, getattr(encoder, "id_", None)).note_on(fitted)
                save(fitted, model)
    except KeyboardInterrupt:
        say("interrupted before there was a model to write")
        raise typer.Exit(INTERRUPTED) from None
    sets = len(set(targets["groups"].tolist())) if "groups" in targets else features.shape[0]
    document = summary_of(estimator, objective) | {"sets": sets, "features": int(features.shape[1])}
    document |= {"columns": columns_of(encoder, examples), "model": str(model), "promise": promise}
    if as_json:
        print_document(document)
    else:
        print_report(document)
    if document["status"] not in (None, "converged"):
        gap = "no certified gap" if document["gap"] is None else f"a relative gap of {document['gap']:.1e}"
        if document["status"] == "interrupted":
            say(f"interrupted; the best model so far has {gap}")
            raise typer.Exit(INTERRUPTED)
        say(f"{document['status']} with {gap}, not {training.tol:.1e}; raise --max-iter or --max-time, or lower C")
        raise typer.Exit(NOT_CONVERGED)


@contextmanager
def _faults_in_words() -> Iterator[None]:
    """Errors and warnings of a fit as sentences."""
    from sklearn.exceptions import ConvergenceWarning

    from setloss.decomposition import DecompositionError
    from setloss.io.encoding import LeftOutWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in our own words
            warnings.simplefilter("ignore", LeftOutWarning)  # the report of the columns says it
            warnings.showwarning = say
            yield
    except (ValueError, TypeError, DecompositionError) as error:
        raise InputError(str(error)) from None


def _check_labels(examples: Any, file: Path) -> None:
    """Refuse labels that nothing can be learned from: all the same, or missing."""
    import numpy as np

    labels = examples.Y if hasattr(examples, "Y") else examples.y
    known = labels[~np.isnan(labels)] if isinstance(labels, np.ndarray) else labels.data
    if isinstance(labels, np.ndarray) and known.size and known.min() == known.max():
        raise InputError(f"{file}: every label is {known[0]:g}; training needs some that are 0 and some that are 1")
    if getattr(examples, "cell", None) is not None:
        own = np.ravel((examples.Y @ (np.ravel(examples.Y.sum(axis=0)) == 1)) > 0)
        if len(own) >= FEW_ROWS and own.mean() > 0.5:
            raise InputError(
                f"{file}: {own.sum()} of {len(own)} rows have a label that no other row has, as if column "
                f"{examples.cell[0]!r} were free text; give another column, or the sign between labels by --separator"
            )
    missing = np.isnan(examples.Y) if hasattr(examples, "Y") and examples.Y.dtype.kind == "f" else np.zeros((1, 1))
    if missing.all(axis=0).any():
        name = examples.label_names[int(np.argmax(missing.all(axis=0)))]
        raise InputError(f"the label {name!r} is missing everywhere; fill it, or leave it out with --ignore {name}")


def _prepared(X: Any, training: TrainingOptions) -> tuple[list[Any], Any]:
    """What is done to features before the training: fitted transformers, and the features after them."""
    import numpy as np
    from scipy.sparse import issparse
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    from setloss.io import TableEncoder

    steps: list[Any] = []
    if hasattr(X, "columns"):
        steps.append(TableEncoder())
    elif np.isnan(X.data if issparse(X) else X).any():
        steps.append(SimpleImputer(strategy="median"))
    if training.is_linear and not hasattr(X, "columns"):
        steps.append(MaxAbsScaler() if issparse(X) else StandardScaler())
    for step in steps:
        X = step.fit_transform(X)
    return steps, X


def _estimator(training: TrainingOptions, objective: Any, of_label_sets: bool) -> Any:
    """The estimator that the options ask for."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    from setloss import estimators
    from setloss.estimators.label_scores import LabelwiseClassifier

    path, scorers = training.path(), None
    if training.operator is not None:
        names = ("operator", "scale", "tol", "max_iter", "max_time")
        linear = {name: getattr(training, name) for name in names}
        linear |= {"loss": objective, "random_state": 0}
        if training.rule == "sign" and len(path) > 1:
            return estimators.SetClassifierCV(Cs=path, cv=training.cv, verbose=1, **linear)
        simple = estimators.SetClassifier
        if training.rule == "sign":
            return simple(C=path[0], verbose=1, **linear)
        scorers = [simple(C=C, **linear) for C in path]
    elif training.method == "trees":
        scorers = [ExtraTreesClassifier(300, random_state=0, n_jobs=training.jobs)]
    elif training.method == "logistic":
        scorers = [LogisticRegression(C=C, max_iter=1000) for C in path]
        scorers = [LabelwiseClassifier(one) for one in scorers] if of_label_sets else scorers
    average = {"average": training.average} if of_label_sets else {}
    decide = estimators.SetDecisionCV
    return decide(scorers, objective, rule=training.rule, cv=training.cv, n_jobs=training.jobs, verbose=1, **average)
