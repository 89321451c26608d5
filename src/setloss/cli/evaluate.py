"""``setloss evaluate``: what a model loses on a data file, and its classifier without the decision."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.answered import Curve, no_curve_in_words
from setloss.cli.commands import InputError, JsonOption, check_plot, print_document, say, with_option_groups, writing
from setloss.cli.data import DataOptions, has_labels
from setloss.cli.models import Source, decides, in_use, last_step, prepared, read_model, scores_of
from setloss.cli.predict import TrustedOption, decide_for
from setloss.cli.progress import Waiting
from setloss.cli.set_functions import LossOptions
from setloss.losses import as_loss, loss_named


@with_option_groups
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
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
        check_plot(plot, model, data.data)
    with Waiting(f"reading {model}") as waiting:
        trained = read_model(model, trusted)
        with in_use(model, model):
            source = Source.of(trained)
            own = last_step(trained).loss
        other = loss != LossOptions()
        measure = loss.read() if other else own
        if other and decides(trained):
            decide_for(trained, loss)
        waiting.doing(f"reading {data.data}")
        examples = data.read_for(source, labels=True)
        labelled = has_labels(examples)
        waiting.doing("predicting")
        with in_use(model, data.data):
            X = prepared(trained, examples.X)
            beside = source.beside(examples)
            expected = _expected(trained, X, beside)
            rows, sets = _rows(trained, X, examples, beside, measure) if labelled else ({}, 0)
            curve = None
            if labelled and (plot is not None or hasattr(last_step(trained), "promise_")):
                with no_curve_in_words():
                    curve = Curve.of(trained, X, examples.Y if hasattr(examples, "Y") else examples.y, beside)
    if not labelled and expected is None:
        remedy = (
            "; it can for the loss that it was trained for: leave --loss out" if other and decides(trained) else ""
        )
        raise InputError(f"{data.data} has no labels, and the model cannot tell what to expect without them{remedy}")
    facts = {"loss": _named(measure), "trained_for": _named(own), "sets": sets, "rows": rows}
    facts |= {"expected_score": expected, "promise": None if curve is None else curve.facts}
    if plot is not None:
        if curve is None:
            raise InputError(f"--plot shows observed scores, and {data.data} has no labels")
        with no_curve_in_words(), writing("--plot", plot):
            curve.draw(plot, _score(measure))
    if as_json:
        print_document(facts)
    else:
        _print_words(facts, model, data.data)
    if plot is not None:
        say(f"figure written to {plot}")


def _expected(trained: Any, X: Any, beside: dict[str, Any]) -> dict[str, float] | None:
    """The score that the model expects for its own loss, with an interval; None where it cannot tell."""
    if not decides(trained):
        return None
    try:
        found = last_step(trained).expected_score(X, **beside)
    except ValueError:
        return None
    return {name: float(value) for name, value in found._asdict().items()}


def _rows(
    trained: Any, X: Any, examples: Any, beside: dict[str, Any], measure: Any
) -> tuple[dict[str, dict[str, float | None]], int]:
    """Mean losses and F1 of the decisions of the model and of plain cuts, and the number of sets."""
    truth, known, sets = _truth(examples)

    def row(predicted: Any) -> dict[str, float | None]:
        chosen = predicted.reshape(known.shape)[known]
        found, other = (judge(truth, chosen, groups=sets) for judge in (as_loss(measure), loss_named("f1")))
        error = float(found.std(ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else None
        return {"loss": float(found.mean()), "error": error, "f1": 1 - float(other.mean())}

    estimator, scores = last_step(trained), scores_of(trained, X)
    if scores.size != known.size:
        raise ValueError(f"has {known.size // len(known)} labels and the model was trained on {scores.shape[1]}")
    positive = getattr(estimator, "classes_", [0, 1])[1]
    found = {"decided": row(np.asarray(estimator.predict(X, **beside) == positive))} if decides(trained) else {}
    found["half"] = row(scores > 0)
    if hasattr(getattr(estimator, "decision_", None), "threshold_"):
        found["threshold"] = row(scores > estimator.decision_.threshold_)
    return found, len(np.unique(sets))


def _truth(examples: Any) -> tuple[Any, Any, Any]:
    """Known labels of all elements, which they are, and the set each belongs to."""
    if not hasattr(examples, "Y"):
        return examples.y == 1, np.ones(examples.y.shape, dtype=bool), examples.groups
    Y = examples.Y.toarray() if hasattr(examples.Y, "toarray") else examples.Y
    known = ~np.isnan(Y)
    if not known.any():
        raise ValueError("there is no known label to compare with")
    return Y[known] == 1, known, np.nonzero(known)[0]


def _named(loss: Any) -> str:
    return loss if isinstance(loss, str) else repr(loss)


def _print_words(facts: dict[str, Any], model: Path, data: Path) -> None:
    typer.echo(f"{model}, trained for {facts['trained_for']}, on {data}")
    words = {"decided": "as decided", "half": "cut at 1/2", "threshold": "at one threshold"}
    width = max(map(len, words.values()))
    if facts["rows"]:
        typer.echo(f"{'':<{width}}  {facts['loss']} loss and F1, means over {facts['sets']} sets")
    for name, row in facts["rows"].items():
        error = "" if row["error"] is None else f" +- {row['error']:.4f}"
        typer.echo(f"{words[name]:<{width}}  {row['loss']:.4f}{error}  {row['f1']:.4f}")
    if facts["expected_score"] is not None:
        value, low, high = (facts["expected_score"][name] for name in ("value", "low", "high"))
        what = _score(facts["trained_for"])
        typer.echo(f"expected {what}, labels not used: {value:.4f}, with 90 % from {low:.4f} to {high:.4f}")
    if facts["promise"] is not None:
        promise, what = facts["promise"], _score(facts["trained_for"])
        typer.echo(f"promised: {promise['words']}")
        error = "" if promise["error"] is None else f" +- {promise['error']:.4f}"
        score = "nothing is answered" if promise["score"] is None else f"{what} {promise['score']:.4f}{error}"
        typer.echo(f"observed: {score}, {100 * promise['share']:.0f} % of {facts['sets']} sets are answered")


def _score(loss: Any) -> str:
    """The score that goes with a loss."""
    return "F1" if loss == "f1" else f"1 - loss of {_named(loss)}"
