"""``setloss evaluate``: what a model loses on a data file, and its classifier without the decision."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.answered import Curve
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
from setloss.losses import as_loss, loss_named

PLAIN_CUTS = {"half": "cut at 1/2", "threshold": "at one threshold"}
"""The rules beside the decision of the model, in words."""


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
            facts: dict[str, Any] = {"loss": _named(estimator.loss), "sets": 0, "rows": {}, "promise": None}
            facts["expected_score"] = _expected(estimator, X, beside) if trained.decides else None
            if labelled:
                facts |= _judged(trained, X, examples, beside)
            if labelled and (plot is not None or hasattr(estimator, "promise_")):
                curve = Curve.of(estimator, X, getattr(examples, "Y" if trained.of_label_sets else "y"), beside)
                facts["promise"] = curve.facts
    if not labelled and facts["expected_score"] is None:
        remedy = "" if loss == LossOptions() else "; it can for the loss that it was trained for: leave --loss out"
        raise InputError(f"{data.data} has no labels, and the model cannot tell what to expect without them{remedy}")
    if plot is not None:
        with writing("--plot", plot):
            curve.draw(plot, _score(facts["loss"]))
    if as_json:
        print_document(facts)
    else:
        _print_words(facts, f"{model} on {data.data}")
    if plot is not None:
        say(f"figure written to {plot}")


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
        error = float(found.std(ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else None
        return {"loss": float(found.mean()), "error": error, "f1": 1 - float(other.mean())}

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


def _print_words(facts: dict[str, Any], title: str) -> None:
    what = _score(facts["loss"])
    typer.echo(title)
    if facts["rows"]:
        typer.echo(f"{'':<16}  {facts['loss']} loss and F1, means over {facts['sets']} sets")
    for name, row in facts["rows"].items():
        typer.echo(f"{PLAIN_CUTS.get(name, 'as decided'):<16}  {row['loss']:.4f}{_spread(row)}  {row['f1']:.4f}")
    if facts["expected_score"] is not None:
        value, low, high = facts["expected_score"].values()
        typer.echo(f"expected {what}, labels not used: {value:.4f}, with 90 % from {low:.4f} to {high:.4f}")
    if facts["promise"] is not None:
        promise = facts["promise"]
        score = "nothing is answered"
        if promise["score"] is not None:
            score = f"{what} {promise['score']:.4f}{_spread(promise)}"
        typer.echo(f"promised: {promise['words']}")
        typer.echo(f"observed: {score}, {100 * promise['share']:.0f} % of {facts['sets']} sets are answered")


def _spread(mean: dict[str, Any]) -> str:
    """The standard error of a mean, if it is known."""
    return "" if mean["error"] is None else f" +- {mean['error']:.4f}"


def _named(loss: Any) -> str:
    return loss if isinstance(loss, str) else repr(loss)


def _score(loss: str) -> str:
    """The score that goes with a loss."""
    return "F1" if loss == "f1" else f"1 - loss of {loss}"
