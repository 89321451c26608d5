"""``setloss train``: from a data file to a model file."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
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
from setloss.cli.data_file import DataOptions
from setloss.cli.linear_models import SURROGATES, LinearOptions
from setloss.cli.model_file import note_source
from setloss.cli.progress import Waiting, finishing
from setloss.cli.set_functions import LossOptions
from setloss.cli.training_report import columns_of, print_report, summary_of
from setloss.defaults import LINEAR_MODELS
from setloss.io.models import save

NOT_CONVERGED = 4
"""Exit code of a training that a limit ended before the gap asked for."""

FEW_ROWS = 20
"""Tables with fewer rows are tried out, and may have labels that occur once."""

METHODS = (*SURROGATES, "logistic", "trees")

_model = partial(panel_option, "The model")


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, as given."""

    method: Annotated[
        str | None,
        _model(
            f"What gives scores: logistic, trees, or a linear model trained by a surrogate: {', '.join(SURROGATES)}.",
            show_default="the likeliest of several logistic regressions and trees",
        ),
    ] = None
    rule: Annotated[
        str,
        _model(
            "How scores become sets, learned on held-out folds: counts, plug-in, threshold, half or auto, the better "
            "of counts and threshold. sign: a linear model as in the paper."
        ),
    ] = "auto"
    cv: Annotated[int, _model("Folds.", min=2)] = 5
    average: Annotated[str, _model("Of label sets: samples, macro or micro.")] = "samples"
    jobs: Annotated[int, _model("Folds at a time.")] = 1

    def check(self, linear: LinearOptions) -> None:
        """Refuse what contradicts itself before any data are read; estimators check the rest."""
        if self.method not in (None, *METHODS):
            raise InputError(f"there is no method {self.method!r}; the names are {', '.join(METHODS)}")
        if self.rule == "sign" and self.method not in (None, *SURROGATES):
            raise InputError(f"--rule sign is for linear models ({', '.join(SURROGATES)}); take --rule half")
        if self.surrogate is None and linear != LinearOptions():
            raise InputError(f"--C, --scale, --tol, --max-iter, --max-time are for --method {', '.join(SURROGATES)}")
        linear.path()

    @property
    def surrogate(self) -> str | None:
        """The surrogate that a linear model is trained by, if one is."""
        if self.method is None and self.rule == "sign":
            return LINEAR_MODELS.operator
        return self.method if self.method in SURROGATES else None


@with_option_groups
def train(
    data: DataOptions,
    loss: LossOptions,
    training: TrainingOptions,
    linear: LinearOptions,
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
    training.check(linear)
    promised.check(training)
    check_writable("--model", model, (".skops",), data.data)
    with Waiting(f"reading {data.data}") as waiting, _faults_in_words():
        examples = data.read()
        _check_labels(examples, data.data)
        examples, kept = promised.split(examples)
        waiting.doing("preparing the columns")
        steps, X = _preparation(examples.X, training), examples.X
        for step in steps:
            X = step.fit_transform(X)
        waiting.doing("training")
        estimator = _estimator(training, linear, objective, hasattr(examples, "Y"))
        estimator.fit(X, **_targets(examples)).set_params(verbose=0)
        fitted = make_pipeline(*steps, estimator) if steps else estimator
        promise = None
        if kept is not None:
            waiting.doing("learning the promise")
            promise = promised.make(estimator, fitted[:-1].transform(kept.X) if steps else kept.X, _targets(kept))
        waiting.doing(f"writing {model}")
        note_source(fitted, examples, data)
        with finishing():
            save(fitted, model)
    sets = X.shape[0] if hasattr(examples, "Y") else len(np.unique(examples.groups))
    document = summary_of(estimator, objective) | {"sets": sets, "features": int(X.shape[1])}
    document |= {"columns": columns_of(steps[0] if steps else None, examples), "model": str(model)}
    document["promise"] = None if promise is None else {"sets": promise.sets, "words": str(promise)}
    if as_json:
        print_document(document)
    else:
        print_report(document)
    if document["status"] not in (None, "converged"):
        gap = "no certified gap" if document["gap"] is None else f"a relative gap of {document['gap']:.1e}"
        say(f"{document['status']} with {gap}, not {linear.tol:.1e}; raise --max-iter or --max-time, or lower C")
        raise typer.Exit(NOT_CONVERGED)


def _targets(examples: Any) -> dict[str, Any]:
    """What `fit` takes beside X."""
    return {"y": examples.Y} if hasattr(examples, "Y") else {"y": examples.y, "groups": examples.groups}


@contextmanager
def _faults_in_words() -> Iterator[None]:
    """Errors and warnings of a fit as sentences."""
    from sklearn.exceptions import ConvergenceWarning

    from setloss.io.encoding import LeftOutWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # C is chosen among many, some of them too large
            warnings.simplefilter("ignore", LeftOutWarning)  # the report of the columns says it
            warnings.showwarning = say
            yield
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from None


def _check_labels(examples: Any, file: Path) -> None:
    """Refuse labels that nothing can be learned from: all the same, missing, or free text."""
    labels = examples.Y if hasattr(examples, "Y") else examples.y
    known = labels[~np.isnan(labels)] if isinstance(labels, np.ndarray) else labels.data
    if isinstance(labels, np.ndarray) and known.size and known.min() == known.max():
        raise InputError(f"{file}: every label is {known[0]:g}; training needs some that are 0 and some that are 1")
    if getattr(examples, "cell", None) is not None:
        own = np.ravel((labels @ (np.ravel(labels.sum(axis=0)) == 1)) > 0)
        if len(own) >= FEW_ROWS and own.mean() > 0.5:
            raise InputError(
                f"{file}: {own.sum()} of {len(own)} rows have a label that no other row has, as if column "
                f"{examples.cell[0]!r} were free text; give another column, or the sign between labels by --separator"
            )
    if labels.ndim == 2 and labels.dtype.kind == "f" and (missing := np.isnan(labels).all(axis=0)).any():
        name = examples.label_names[int(np.argmax(missing))]
        raise InputError(f"the label {name!r} is missing everywhere; fill it, or leave it out with --ignore {name}")


def _preparation(X: Any, training: TrainingOptions) -> list[Any]:
    """Steps before the classifier: columns become features; dense arrays get one scale for linear models."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    from setloss.io import TableEncoder

    if hasattr(X, "columns"):
        return [TableEncoder()]
    is_linear = training.surrogate is not None or training.method == "logistic"
    return [SimpleImputer(strategy="median"), StandardScaler()] if is_linear and isinstance(X, np.ndarray) else []


def _estimator(training: TrainingOptions, linear: LinearOptions, objective: Any, of_label_sets: bool) -> Any:
    """The estimator that the options ask for."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    from setloss.estimators import SetDecisionCV
    from setloss.estimators.candidates import LEAF, TREES
    from setloss.estimators.label_scores import LabelwiseClassifier

    scorer: Any = None
    if training.surrogate is not None and training.rule == "sign":
        return linear.as_in_the_paper(training.surrogate, objective, training.cv)
    if training.surrogate is not None:
        scorer = linear.scorers(training.surrogate, objective)
    elif training.method == "trees":
        scorer = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=0, n_jobs=training.jobs)
    elif training.method == "logistic":
        scorer = LogisticRegression(max_iter=1000)
        scorer = LabelwiseClassifier(scorer) if of_label_sets else scorer
    options: dict[str, Any] = {"average": training.average} if of_label_sets else {}
    options |= {"cv": training.cv, "n_jobs": training.jobs, "verbose": 1}
    return SetDecisionCV(scorer, objective, rule=training.rule, **options)
