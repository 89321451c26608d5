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
from setloss.cli.commands import InputError, check_writable, panel_option, say, with_option_groups
from setloss.cli.data_file import DataOptions
from setloss.cli.model_file import note_source
from setloss.cli.progress import Waiting
from setloss.cli.set_functions import LossOptions
from setloss.cli.training_report import print_report
from setloss.io.models import save

FEW_ROWS = 20
"""Tables with fewer rows are tried out, and may have labels that occur once."""

METHODS = ("logistic", "trees")

_model = partial(panel_option, "The model")


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, as given."""

    method: Annotated[
        str | None,
        _model("What gives scores: logistic or trees.", show_default="the likeliest of several of both"),
    ] = None
    rule: Annotated[
        str,
        _model(
            "How scores become sets, learned on held-out folds: counts, plug-in, threshold, half or auto, the better "
            "of counts and threshold."
        ),
    ] = "auto"
    cv: Annotated[int, _model("Folds.", min=2)] = 5
    average: Annotated[str, _model("Of label sets: samples, macro or micro.")] = "samples"
    jobs: Annotated[int, _model("Folds at a time.")] = 1

    def check(self) -> None:
        """Refuse an unknown method before any data are read; estimators check the rest."""
        if self.method not in (None, *METHODS):
            raise InputError(
                f"there is no method {self.method!r}; the names are {', '.join(METHODS)}. Linear models that are "
                "trained for a loss are made in Python, by setloss.estimators.SetClassifier"
            )


@with_option_groups
def train(
    data: DataOptions,
    loss: LossOptions,
    training: TrainingOptions,
    promised: PromiseOptions,
    model: Annotated[Path, typer.Option(help="File to write, .skops.")],
) -> None:
    """Train a classifier of label sets or of tracks (bags of frames), and decide for the loss of the whole set.

    Columns of tables may be numbers, categories, dates, free text and empty; a report says what became of each.

    For example: setloss train stories.csv --labels topics --model stories.skops
    """
    from sklearn.pipeline import make_pipeline

    from setloss.io import TableEncoder

    objective = loss.read()
    training.check()
    promised.check(training.average)
    check_writable("--model", model, (".skops",), data.data)
    with Waiting(f"reading {data.data}") as waiting, _faults_in_words():
        examples = data.read()
        _check_labels(examples, data.data)
        examples, kept = promised.split(examples)
        waiting.doing("preparing the columns")
        encoder, X = TableEncoder() if data.is_table else None, examples.X
        if encoder is not None:
            X = encoder.fit_transform(X)
        waiting.doing("training")
        estimator = _estimator(training, objective, examples)
        estimator.fit(X, **_targets(examples)).set_params(verbose=0)
        promise = None
        if kept is not None:
            waiting.doing("learning the promise")
            new = kept.X if encoder is None else encoder.transform(kept.X)
            promise = promised.make(estimator, new, _targets(kept))
        waiting.doing(f"writing {model}")
        fitted = estimator if encoder is None else make_pipeline(encoder, estimator)
        note_source(fitted, examples, data)
        save(fitted, model)
    sets = X.shape[0] if hasattr(examples, "Y") else len(np.unique(examples.groups))
    print_report(estimator, encoder, examples, f"{sets} sets, {X.shape[1]} features", promise)
    named = " --names" if getattr(examples, "notes", ()) else ""
    typer.echo(f"model       written to {model}")
    typer.echo(f"next        setloss evaluate {model} TEST; setloss predict {model} NEW{named}")


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


def _estimator(training: TrainingOptions, objective: Any, examples: Any) -> Any:
    """The estimator that the options ask for."""
    from scipy.sparse import issparse
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from setloss.estimators import SetDecisionCV
    from setloss.estimators.candidates import LEAF, TREES
    from setloss.estimators.label_scores import LabelwiseClassifier

    of_label_sets, scorer = hasattr(examples, "Y"), None
    if training.method == "trees":
        scorer = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=0, n_jobs=training.jobs)
    elif training.method == "logistic":
        scorer = LogisticRegression(max_iter=1000)
        scorer = LabelwiseClassifier(scorer) if of_label_sets else scorer
        if not hasattr(examples.X, "columns"):  # an encoded table has no empty cells, and columns of one scale
            scaler = StandardScaler(with_mean=not issparse(examples.X))
            scorer = make_pipeline(SimpleImputer(strategy="median"), scaler, scorer)
    options: dict[str, Any] = {"average": training.average} if of_label_sets else {}
    options |= {"cv": training.cv, "n_jobs": training.jobs, "verbose": 1}
    return SetDecisionCV(scorer, objective, rule=training.rule, **options)
