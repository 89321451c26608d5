"""``setloss predict``: the labels or probabilities that a model gives to the rows of a data file."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from setloss.cli.answered import answered_rows
from setloss.cli.commands import InputError, check_writable, say, with_option_groups, writing
from setloss.cli.data_file import DataOptions
from setloss.cli.model_file import ModelArgument, TrainedModel, TrustedOption, in_use
from setloss.cli.progress import Waiting
from setloss.cli.set_functions import LossOptions
from setloss.files import replacing


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
            columns = _first_columns(trained, rows)
            X, beside = trained.prepared(rows.X), trained.beside(rows)
            values = _values(trained, X, beside, probabilities)
            header = trained.source.labels or _header(trained, values)
            if names:
                columns["labels"] = _named_sets(trained, values, header)
            answered = answered_rows(trained.estimator, X, beside)
            if answered is not None:
                values, header = np.column_stack([values, answered.astype(int)]), [*header, "answered"]
    if out is None:
        _write_csv(columns, values, header, sys.stdout)
        return
    with writing("--out", out), replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        _write_csv(columns, values, header, text)
        text.detach()
    say(f"predictions written to {out}")


def _first_columns(trained: TrainedModel, rows: Any) -> dict[str, list[Any]]:
    """The columns that come first: the id and the bag of a row, as far as there are any."""
    found: dict[str, list[Any]] = {}
    identity, groups = getattr(trained.encoder, "id_", None), getattr(rows, "groups", None)
    if identity is not None and identity in rows.X:
        found[identity] = rows.X[identity].tolist()
    if groups is not None:
        found[trained.source.group] = groups.tolist()
    return found


def _values(trained: TrainedModel, X: Any, beside: dict[str, Any], probabilities: bool) -> Any:
    """The labels (n, p) or their probabilities; one column for tracks."""
    if probabilities and not trained.decides:
        raise InputError("the model goes by the signs of its scores, which are no probabilities")
    if not probabilities:
        found = trained.estimator.predict(X, **beside)
    else:
        found = trained.estimator.predict_proba(X, **beside)
        found = found if trained.of_label_sets else found[:, 1]
    return found.reshape(len(found), -1)


def _header(trained: TrainedModel, values: Any) -> list[str]:
    return [str(j) for j in range(values.shape[1])] if trained.of_label_sets else ["prediction"]


def _named_sets(trained: TrainedModel, values: Any, header: list[str]) -> list[str]:
    """The names of the labels of each row in one cell, with the sign between them that the model was trained on."""
    if not trained.of_label_sets:
        raise InputError("--names is for label sets; the model decides for tracks, whose frames have one label")
    separator = (trained.source.cell or ["", ""])[1] or ";"
    return [separator.join(name for name, chosen in zip(header, row, strict=True) if chosen > 0) for row in values]


def _write_csv(columns: dict[str, list[Any]], values: Any, header: list[str], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*columns, *header])
    for *names, row in zip(*columns.values(), values.tolist(), strict=True):
        writer.writerow([*names, *row])
