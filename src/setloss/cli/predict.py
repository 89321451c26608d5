"""A model at work: ``setloss predict`` gives labels to the rows of a data file, ``setloss evaluate`` judges them."""

import math
import sys
from contextlib import suppress
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import (
    PLOTS,
    InputError,
    JsonOption,
    LossOptions,
    check_writable,
    print_document,
    say,
    with_option_groups,
    writing,
)
from setloss.cli.model_and_data import DataOptions, ModelArgument, TrainedModel, TrustedOption, has_labels, in_use
from setloss.cli.progress import Waiting
from setloss.files import replacing
from setloss.io.data import listed
from setloss.losses import Dice, as_loss

ROWS = {"decided": "as decided", "half": "threshold 1/2", "threshold": "at the best threshold"}
"""The decision of the model, and the rules beside it, in words."""


@with_option_groups
def predict(
    model: ModelArgument,
    data: DataOptions,
    loss: LossOptions,
    out: Annotated[Path | None, typer.Option(help="File to write, .csv.", show_default="standard output")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probability of each label instead.")
    ] = False,
    names: Annotated[bool, typer.Option("--names", help="A column with the names of the labels, too.")] = False,
    trusted: TrustedOption = None,
) -> None:
    """Predict: one row per example or frame, in the order of DATA, which needs no labels.

    Columns are found by the names that the model was trained with; others are ignored, and the id comes first. With
    --loss, --knots the model decides for another loss than it was trained for. A model that was trained with
    --promise adds the column "answered", 1 where the promise holds and 0 where a person should look.

    For example: setloss predict songs.skops new.csv --out moods.csv
    """
    if out is not None:
        check_writable("--out", out, (".csv",), data.data, model)
    if probabilities and names:
        raise InputError("give --probabilities or --names, not two of them")
    with Waiting(f"reading {model}") as waiting:
        trained = TrainedModel.read(model, trusted, loss)
        waiting.doing(f"reading {data.data}")
        rows = data.read_for(trained, labels=False)
        waiting.doing("predicting")
        with in_use(model, data.data):
            table = _table(trained, rows, probabilities, names)
    if out is None:
        table.to_csv(sys.stdout, index=False)
        return
    with writing("--out", out), replacing(out) as file:
        table.to_csv(file, index=False, mode="wb")
    say(f"predictions written to {out}")


def _table(trained: TrainedModel, rows: Any, probabilities: bool, names: bool) -> Any:
    """A column each: id, bag, names of the labels, labels or probabilities, and whether a set is answered."""
    from pandas import DataFrame, Series, concat

    estimator, sets = trained.estimator, trained.of_label_sets
    if names and not sets:
        raise InputError("--names is for label sets; the model decides for tracks, whose frames have one label")
    if probabilities and not trained.decides:
        raise InputError("the model goes by the signs of its scores, which are no probabilities")
    X, beside = trained.prepared(rows)
    said = (estimator.predict_proba if probabilities else estimator.predict)(X, **beside)
    values = said[:, 1:] if probabilities and not sets else said.reshape(len(said), -1)
    columns = []
    identity = getattr(trained.encoder, "id_", None)
    if identity is not None and identity in rows.X:
        columns.append(rows.X[identity])
    if getattr(rows, "groups", None) is not None:
        columns.append(Series(rows.groups, name=trained.source.group))
    header = trained.source.labels or (list(map(str, range(values.shape[1]))) if sets else ["prediction"])
    if names:
        separator = trained.source.separator or ";"
        columns.append(Series([separator.join(compress(header, row > 0)) for row in values], name="labels"))
    columns.append(DataFrame(values, columns=header))
    if hasattr(estimator, "promise_"):
        answered = estimator.promise_.answers(X, **beside).astype(int)
        places = np.unique(beside["groups"], return_inverse=True)[1] if beside else slice(None)
        columns.append(Series(answered[places], name="answered"))
    return concat(columns, axis=1)


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

    Below the model's own decisions: the same classifier at threshold 1/2, and at the best one, which lost least on
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
        if plot is not None and not (trained.decides and labelled):
            lacking = f"{data.data} has no labels" if trained.decides else f"{model} goes by the signs of its scores"
            raise InputError(f"--plot shows observed scores of a model that decides for the set, and {lacking}")
        waiting.doing("predicting")
        with in_use(model, data.data):
            (X, beside), estimator = trained.prepared(examples), trained.estimator
            promise = getattr(estimator, "promise_", None)
            name = estimator.loss if isinstance(estimator.loss, str) else repr(estimator.loss)
            facts: dict[str, Any] = {"loss": name, "sets": 0, "rows": {}, "promise": None, "expected_score": None}
            if trained.decides:
                with suppress(ValueError):  # it cannot tell
                    facts["expected_score"] = estimator.expected_score(X, **beside)._asdict()
            if labelled:
                facts["rows"], losses, judged = _judged(trained, X, examples, beside)
                facts["sets"] = len(losses)
            if labelled and (plot is not None or promise is not None):
                answered = np.zeros(len(judged), bool) if promise is None else promise.answers(X, **beside)
                surest_first = np.argsort(estimator.expected_loss(X, **beside)[judged], kind="stable")
                scores, answered = 1 - losses[surest_first], answered[judged][surest_first]
            if labelled and promise is not None:
                share, kept = float(answered.mean()), scores[answered]
                facts["promise"] = {"words": str(promise), "at_least": 1 - promise.at_most, "share": share}
                facts["promise"] |= {"score": float(kept.mean()) if len(kept) else None, "error": _error(kept)}
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
            columns = listed(trained.source.columns or ["label"])
            say(f"{data.data} has none of the columns of labels {columns}, so nothing is compared")
        _print_words(facts, f"{model} on {data.data}", what)
    if plot is not None:
        say(f"figure written to {plot}")


def _judged(trained: TrainedModel, X: Any, examples: Any, beside: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """Mean losses and F1 of the model's decisions and of plain thresholds; its losses, and which sets they are of."""
    from setloss.estimators.set_layout import SetLayout

    labels = examples.y[:, None] if beside else examples.Y
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    truth, known = labels == 1, ~np.isnan(labels)
    if not known.any():
        raise ValueError("there is no known label to compare with")
    estimator, sets = trained.estimator, SetLayout.of(len(labels), beside.get("groups"), bool(beside))
    scores = estimator._scores(X)
    if scores.shape != known.shape:
        raise ValueError(f"has {known.shape[1]} labels and the model was trained on {scores.shape[1]}")
    chosen = {"decided": np.asarray(estimator.predict(X, **beside) == estimator.classes_[1]).reshape(known.shape)}
    if trained.decides:
        chosen["half"] = scores > 0
    if trained.decides and hasattr(estimator.decision_, "threshold_"):
        chosen["threshold"] = scores > estimator.decision_.threshold_
    losses = {name: sets.losses(as_loss(estimator.loss), truth, known, one) for name, one in chosen.items()}
    f1 = {name: 1 - float(sets.losses(Dice(), truth, known, one)[0].mean()) for name, one in chosen.items()}
    rows = {
        name: {"loss": float(values.mean()), "error": _error(values), "f1": f1[name]}
        for name, (values, _) in losses.items()
    }
    return rows, *losses["decided"]


def _error(values: Any) -> float | None:
    """The standard error of a mean; None of fewer than two values."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _print_words(facts: dict[str, Any], title: str, what: str) -> None:
    typer.echo(title)
    if facts["rows"]:
        typer.echo(f"{'':<21}  {facts['loss']} loss and F1, means over {facts['sets']} sets")
    for name, row in facts["rows"].items():
        typer.echo(f"{ROWS[name]:<21}  {row['loss']:.4f}{_spread(row)}  {row['f1']:.4f}")
    if facts["expected_score"] is not None:
        value, low, high = facts["expected_score"].values()
        typer.echo(f"{what} that the model expects: {value:.4f}, with 90 % from {low:.4f} to {high:.4f}")
    if facts["promise"] is not None:
        promise = facts["promise"]
        mean = promise["score"]
        score = "nothing is answered" if mean is None else f"{what} {mean:.4f}{_spread(promise)}"
        typer.echo(f"promised: {promise['words']}")
        typer.echo(f"observed: {score}, {100 * promise['share']:.0f} % of {facts['sets']} sets are answered")


def _spread(mean: dict[str, Any]) -> str:
    return "" if mean["error"] is None else f" +- {mean['error']:.4f}"


def _draw(path: Path, score: str, promise: Any, scores: Any, answered: Any) -> None:
    """The mean score of what is answered against its share, with twice the standard error."""
    from matplotlib.figure import Figure

    number = np.arange(1, len(scores) + 1)
    means = np.cumsum(scores) / number
    errors = np.sqrt(np.maximum(np.cumsum(scores**2) / number - means**2, 0) / number)
    shown = slice(min(20, len(number)) - 1, None)  # the mean score of fewer sets says little
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
