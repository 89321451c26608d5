"""``setloss predict``: the labels, probabilities or scores that a model gives to the rows of a data file."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from setloss.cli.answered import answered_rows
from setloss.cli.commands import InputError, check_writable, say, with_option_groups, writing
from setloss.cli.data import DataOptions
from setloss.cli.models import Source, decides, in_use, last_step, prepared, read_model, scores_of
from setloss.cli.progress import Waiting
from setloss.cli.set_functions import LossOptions
from setloss.files import replacing

TrustedOption = Annotated[
    str | None, typer.Option(help="Other packages that the model may be made of, as xgboost,lightgbm.")
]


@with_option_groups
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
    data: DataOptions,
    loss: LossOptions,
    out: Annotated[Path | None, typer.Option(help="File to write, .csv.", show_default="standard output")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of labels.")] = False,
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
        if out.suffix.lower() != ".csv":
            raise InputError(f"--out writes a .csv file; got {out}")
        check_writable("--out", out, data.data, model)
    if probabilities + scores + names > 1:
        raise InputError("give --probabilities, --scores or --names, not two of them")
    with Waiting(f"reading {model}") as waiting:
        trained = read_model(model, trusted)
        with in_use(model, model):
            source = Source.of(trained)
            decide_for(trained, loss)
        waiting.doing(f"reading {data.data}")
        rows = data.read_for(source, labels=False)
        waiting.doing("predicting")
        with in_use(model, data.data):
            values = _values(trained, rows, source, scores=scores, probabilities=probabilities)
            header, beside = source.labels or _header(values, source), _beside(rows, source)
            if names:
                beside["labels"] = _named_sets(values, header, source)
            answered = None
            if decides(trained):
                answered = answered_rows(trained, prepared(trained, rows.X), source.beside(rows))
            if answered is not None:
                values, header = np.column_stack([values, answered.astype(int)]), [*header, "answered"]
    _write(beside, values, header, out)


def decide_for(trained: Any, loss: LossOptions) -> None:
    """Let the model decide for the loss of the options, if they name one."""
    if loss == LossOptions():
        return
    if not decides(trained):
        raise InputError("--loss is for models that decide for the set; this one goes by the signs of its scores")
    last_step(trained).set_params(loss=loss.read())


def _values(trained: Any, rows: Any, source: Source, *, scores: bool, probabilities: bool) -> Any:
    X, estimator = prepared(trained, rows.X), last_step(trained)
    if scores:
        return scores_of(trained, X)
    if not probabilities:
        found = estimator.predict(X, **(source.beside(rows) if decides(trained) else {}))
    elif decides(trained):
        found = estimator.predict_proba(X, **source.beside(rows))
        found = found if estimator.decision_.n_features_in_ > 1 else found[:, 1]
    else:
        raise InputError("the model goes by the signs of its scores, which are no probabilities; give --scores")
    return found.reshape(len(found), -1)


def _header(values: Any, source: Source) -> list[str]:
    return [str(j) for j in range(values.shape[1])] if source.of_label_sets else ["prediction"]


def _named_sets(values: Any, header: list[str], source: Source) -> list[str]:
    """The names of the labels of each row in one cell, with the sign between them that the model was trained on."""
    if not source.of_label_sets:
        raise InputError("--names is for label sets; the model decides for tracks, whose frames have one label")
    separator = (source.cell or ["", ""])[1] or ";"
    return [separator.join(name for name, chosen in zip(header, row, strict=True) if chosen > 0) for row in values]


def _beside(rows: Any, source: Source) -> dict[str, list[Any]]:
    """The columns that come first: the id and the bag of a row, as far as there are any."""
    found: dict[str, list[Any]] = {}
    if source.id is not None and source.id in getattr(rows.X, "columns", ()):
        found[source.id] = rows.X[source.id].tolist()
    groups = getattr(rows, "groups", None)
    if groups is not None:
        found[source.group or "group"] = groups.tolist()
    return found


def _write(beside: dict[str, list[Any]], values: Any, header: list[str], out: Path | None) -> None:
    if out is None:
        _write_csv(beside, values, header, sys.stdout)
        return
    with writing("--out", out), replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        _write_csv(beside, values, header, text)
        text.detach()
    say(f"predictions written to {out}")


def _write_csv(beside: dict[str, list[Any]], values: Any, header: list[str], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*beside, *header])
    for *names, row in zip(*beside.values(), values.tolist(), strict=True):
        writer.writerow([*names, *row])
