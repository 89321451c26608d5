"""``setloss evaluate``: what a model loses on a data file, and its classifier without the decision."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import (
    PLOTS,
    InputError,
    JsonOption,
    check_writable,
    print_document,
    say,
    with_option_groups,
    writing,
)
from setloss.cli.data_file import DataOptions, has_labels
from setloss.cli.model_file import ModelArgument, TrainedModel, TrustedOption, in_use
from setloss.cli.progress import Waiting
from setloss.cli.set_functions import LossOptions
from setloss.io.data import listed
from setloss.losses import as_loss, loss_named

ROWS = {"decided": "as decided", "half": "cut at 1/2", "threshold": "at one threshold"}
"""The decision of the model, and the rules beside it, in words."""

FEWEST = 20
"""Fewest sets of a curve: the mean score of fewer says little."""


@with_option_groups
def evaluate(
    model: ModelArgument,
    data: DataOptions,
    loss: LossOptions,
    trusted: TrustedOption = None,
    plot: Annotated[
        Path | None, typer.Option(help="File to draw, .png, .pdf or .svg: mean score against the share answered.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The mean loss of a model over examples or bags, with its standard error, and F1 beside it.

    Below the model's own decisions: the same classifier cut at 1/2, and at the one threshold that lost least on
    held-out folds of the training. For data without labels, the score that the model expects for the loss that it
    was trained for. With --loss, --knots the model decides for that loss, as `setloss predict` does. For models that
    were trained with --promise, the score of what is answered beside the promise.

    For example: setloss evaluate songs.skops test.csv --loss jaccard
    """
    if plot is not None:
        check_writable("--plot", plot, PLOTS, model, data.data)
    with Waiting(f"reading {model}") as waiting:
        trained = TrainedModel.read(model, trusted, loss)
        waiting.doing(f"reading {data.data}")
        examples = data.read_for(trained, labels=True)
        labelled = has_labels(examples)
        if plot is not None and not trained.decides:
            raise InputError(f"--plot is for models that decide for the set; {model} goes by the signs of its scores")
        if plot is not None and not labelled:
            raise InputError(f"--plot shows observed scores, and {data.data} has no labels")
        waiting.doing("predicting")
        with in_use(model, data.data):
            X, beside, estimator = trained.prepared(examples.X), trained.beside(examples), trained.estimator
            promise = getattr(estimator, "promise_", None)
            name = estimator.loss if isinstance(estimator.loss, str) else repr(estimator.loss)
            facts: dict[str, Any] = {"loss": name, "sets": 0, "rows": {}, "promise": None}
            facts["expected_score"] = _expected(estimator, X, beside) if trained.decides else None
            if labelled:
                facts |= _judged(trained, X, examples, beside)
            if labelled and (plot is not None or promise is not None):
                scores, answered = _curve(estimator, promise, X, examples, beside)
            if labelled and promise is not None:
                facts["promise"] = _kept(promise, scores, answered)
    what = "F1" if name == "f1" else f"1 - loss of {name}"
    if not labelled and facts["expected_score"] is None:
        remedy = "" if loss == LossOptions() else "; it can for the loss that it was trained for: leave --loss out"
        raise InputError(f"{data.data} has no labels, and the model cannot tell what to expect without them{remedy}")
    if plot is not None:
        with writing("--plot", plot):
            _draw(plot, what, promise, scores, answered)
    if as_json:
        print_document(facts)
    else:
        if not labelled:
            say(f"{data.data} has none of the labels {_labels_in_words(trained)}, so nothing is compared")
        _print_words(facts, f"{model} on {data.data}", what)
    if plot is not None:
        say(f"figure written to {plot}")


def _labels_in_words(trained: TrainedModel) -> str:
    """The columns of labels that the model was trained on."""
    source = trained.source
    if not trained.of_label_sets:
        return f"of column {source.label!r}"
    return f"of column {source.cell[0]!r}" if source.cell else listed(source.labels or ["of the training"])


def _expected(estimator: Any, X: Any, beside: dict[str, Any]) -> dict[str, float] | None:
    """The score that the model expects for its loss, with an interval; None where it cannot tell."""
    try:
        found = estimator.expected_score(X, **beside)
    except ValueError:
        return None
    return {name: float(value) for name, value in found._asdict().items()}


def _judged(trained: TrainedModel, X: Any, examples: Any, beside: dict[str, Any]) -> dict[str, Any]:
    """Mean losses and F1 of the decisions of the model and of plain cuts, and the number of sets."""
    truth, known, sets = _truth(examples)

    def row(predicted: Any) -> dict[str, float | None]:
        chosen = predicted.reshape(known.shape)[known]
        found, other = (
            judge(truth, chosen, groups=sets) for judge in (as_loss(trained.estimator.loss), loss_named("f1"))
        )
        return {"loss": float(found.mean()), "error": _error(found), "f1": 1 - float(other.mean())}

    estimator = trained.estimator
    scores = estimator._scores(X)
    if scores.size != known.size:
        raise ValueError(f"has {known.size // len(known)} labels and the model was trained on {scores.shape[1]}")
    rows = {"decided": row(np.asarray(estimator.predict(X, **beside) == estimator.classes_[1]))}
    if trained.decides:
        rows["half"] = row(scores > 0)
    if trained.decides and hasattr(estimator.decision_, "threshold_"):
        rows["threshold"] = row(scores > estimator.decision_.threshold_)
    return {"rows": rows, "sets": len(np.unique(sets))}


def _truth(examples: Any) -> tuple[Any, Any, Any]:
    """Known labels of all elements, which they are, and the set each belongs to."""
    if not hasattr(examples, "Y"):
        return examples.y == 1, np.ones(examples.y.shape, dtype=bool), examples.groups
    Y = examples.Y.toarray() if hasattr(examples.Y, "toarray") else examples.Y
    known = ~np.isnan(Y)
    if not known.any():
        raise ValueError("there is no known label to compare with")
    return Y[known] == 1, known, np.nonzero(known)[0]


def _error(values: Any) -> float | None:
    """The standard error of a mean; None of fewer than two values."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _print_words(facts: dict[str, Any], title: str, what: str) -> None:
    typer.echo(title)
    if facts["rows"]:
        typer.echo(f"{'':<16}  {facts['loss']} loss and F1, means over {facts['sets']} sets")
    for name, row in facts["rows"].items():
        typer.echo(f"{ROWS[name]:<16}  {row['loss']:.4f}{_spread(row)}  {row['f1']:.4f}")
    if facts["expected_score"] is not None:
        value, low, high = facts["expected_score"].values()
        typer.echo(f"{what} that the model expects: {value:.4f}, with 90 % from {low:.4f} to {high:.4f}")
    if facts["promise"] is not None:
        promise = facts["promise"]
        score = "nothing is answered"
        if promise["score"] is not None:
            score = f"{what} {promise['score']:.4f}{_spread(promise)}"
        typer.echo(f"promised: {promise['words']}")
        typer.echo(f"observed: {score}, {100 * promise['share']:.0f} % of {facts['sets']} sets are answered")


def _spread(mean: dict[str, Any]) -> str:
    return "" if mean["error"] is None else f" +- {mean['error']:.4f}"


# -------------------------------------------------------------------- promises


def _curve(estimator: Any, promise: Any, X: Any, examples: Any, beside: dict[str, Any]) -> tuple[Any, Any]:
    """The score of every labelled set, the surest first, and whether the promise answers it."""
    y = examples.y if beside else examples.Y
    expected, losses = estimator.expected_loss(X, **beside), estimator.losses(X, y, **beside)
    answered = np.zeros(len(expected), bool) if promise is None else promise.answers(X, **beside)
    judged = np.isfinite(y).any(axis=1) if y.ndim == 2 and y.dtype.kind == "f" else np.full(len(expected), True)
    order = np.argsort(expected[judged], kind="stable")
    return 1 - losses[order], answered[judged][order]


def _kept(promise: Any, scores: Any, answered: Any) -> dict[str, Any]:
    """A promise, and what was observed of it."""
    of = scores[answered]
    return {
        "words": str(promise),
        "at_least": 1 - promise.at_most,
        "share": len(of) / len(scores),
        "score": float(of.mean()) if len(of) else None,
        "error": _error(of),
    }


def _draw(path: Path, score: str, promise: Any, scores: Any, answered: Any) -> None:
    """The mean score of what is answered against its share, with twice the standard error."""
    from matplotlib.figure import Figure

    number = np.arange(1, len(scores) + 1)
    means = np.cumsum(scores) / number
    errors = np.sqrt(np.maximum(np.cumsum(scores**2) / number - means**2, 0) / number)
    shown = slice(min(FEWEST, len(number)) - 1, None)
    share, means, errors = 100 * number[shown] / number[-1], means[shown], errors[shown]
    axes = (figure := Figure(layout="constrained")).add_subplot(xlim=(0, 100))
    axes.set_xlabel("sets answered, the surest first (%)")
    axes.set_ylabel(f"mean {score} of what is answered, with twice its standard error")
    axes.fill_between(share, means - 2 * errors, means + 2 * errors, alpha=0.2, linewidth=0)
    axes.plot(share, means)
    if promise is not None:
        axes.axhline(1 - promise.at_most, color="C1", linestyle="--", label="promised")
        axes.axvline(100 * answered.mean(), color="C1", linestyle=":", label="answered")
        axes.legend()
    figure.savefig(path, dpi=150)
