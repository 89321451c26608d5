"""``setloss predict``: the labels, or the scores, that a model gives to the rows of a data file."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from setloss.cli.commands import with_option_groups
from setloss.cli.data_options import DataOptions
from setloss.cli.decided import chances, chosen_sets, decides_for_sets
from setloss.cli.errors import InputError
from setloss.cli.models import ModelColumns, label_count, read_model, scores_of
from setloss.cli.output_files import check_writable, why
from setloss.cli.progress import Waiting
from setloss.cli.training_options import LossOptions
from setloss.files import replacing
from setloss.io.data import is_number

SUFFIXES = (".csv", ".npy")
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@with_option_groups
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
    data: DataOptions,
    loss: LossOptions,
    out: Annotated[
        Path | None, typer.Option(help="File to write, .csv or .npy.", show_default="CSV on standard output")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of labels.")] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="The probability of each label instead, of models that decide for the set."
        ),
    ] = False,
) -> None:
    """Predict: one row per example or frame, in the order of DATA, which needs no labels.

    Columns are found by the names that the model was trained with; others are ignored. Models that decide for the set
    (--method counts, --decision) do so for any loss that is named here.

    For example: setloss predict songs.skops new.csv --out moods.csv
    """
    if out is not None:
        if out.suffix.lower() not in SUFFIXES:
            raise InputError(f"--out writes {' and '.join(SUFFIXES)} files; got {out}")
        check_writable("--out", out, data.data, model)
    if probabilities and scores:
        raise InputError("give --probabilities or --scores, not both")
    with Waiting(f"reading {model}") as waiting:
        trained = read_model(model)
        objective = _objective(trained, loss)
        waiting.doing(f"reading {data.data}")
        rows = data.read_features(trained, model)
        waiting.doing("predicting")
        values = _values(trained, rows, objective, scores=scores, probabilities=probabilities)
    if not (scores or probabilities):
        values = trained.classes_[(values > 0).astype(int)]
    _write(rows.groups, values, _header(trained), out)


def _objective(trained: Any, loss: LossOptions) -> Any:
    """The loss to decide for, if one is named."""
    objective = loss.read_if_given()
    if objective is not None and not decides_for_sets(trained):
        raise InputError(
            "--loss is for models that decide for the set (train with --method counts or --decision); others are "
            "trained for one loss"
        )
    return objective


def _values(trained: Any, rows: Any, objective: Any, *, scores: bool, probabilities: bool) -> Any:
    """Scores or probabilities, or numbers above 0 for labels that are predicted."""
    if scores or not decides_for_sets(trained):
        if probabilities:
            raise InputError(
                "the model goes by the signs of its scores, which are no probabilities; train with --method counts "
                "or --decision counts"
            )
        return scores_of(trained, rows.X)
    columns = ModelColumns.of(trained)
    if rows.groups is None and not columns.of_label_sets:
        raise InputError(
            f"the model decides for whole bags, and the data has no column {columns.group or 'group'!r} that names "
            "them; name it with --group (--scores needs no bags)"
        )
    if probabilities:
        return chances(trained, rows.X, rows.groups)
    try:
        return chosen_sets(trained, rows.X, rows.groups, objective)
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from None


def _write(groups: Any, values: Any, header: list[str], out: Path | None) -> None:
    if out is None:
        _write_csv(groups, values, header, sys.stdout)
        return
    try:
        _write_file(groups, values, header, out)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {why(error)}") from None


def _write_file(groups: Any, values: Any, header: list[str], out: Path) -> None:
    with replacing(out) as file:
        if out.suffix.lower() == ".npy":
            import numpy as np

            np.save(file, values, allow_pickle=False)
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        _write_csv(groups, values, header, text)
        text.detach()


def _write_csv(groups: Any, values: Any, header: list[str], file: TextIO) -> None:
    """The bags, where there are any, come first."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(no_formula, header if groups is None else ["group", *header]))
    rows = values.tolist()
    if groups is not None:
        rows = [[name, *row] for name, row in zip(map(no_formula, groups.tolist()), rows, strict=True)]
    writer.writerows(rows)


def no_formula(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay as they are."""
    if isinstance(cell, str) and cell.startswith(FORMULA) and not is_number(cell):
        return f"'{cell}"
    return cell


def _header(trained: Any) -> list[str]:
    """The names of the labels, or their numbers; a model of tracks has one label."""
    columns = ModelColumns.of(trained)
    if not columns.of_label_sets:
        return ["prediction"]
    return list(columns.labels or map(str, range(label_count(trained))))
