"""``setloss predict``: the labels, or the scores, that a model gives to the rows of a data file."""

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.data import DataOptions, check_features
from setloss.cli.errors import InputError
from setloss.cli.models import check_kind, check_writable, read_model, scores_of
from setloss.cli.spread import spread

SUFFIXES = (".csv", ".npy")


@spread
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
    data: DataOptions,
    out: Annotated[
        Path | None, typer.Option(help="File to write, .csv or .npy.", show_default="CSV on standard output")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of labels.")] = False,
) -> None:
    """Predict: one row per example or frame, in the order of DATA, whose own labels are ignored.

    For example: setloss predict scene.skops new.arff --out labels.csv
    """
    if out is not None:
        if out.suffix.lower() not in SUFFIXES:
            raise InputError(f"--out writes {' and '.join(SUFFIXES)} files; got {out}")
        check_writable("--out", out)
    trained = read_model(model)
    examples = data.read_for(trained, truth=False)
    check_kind(examples, data.data, trained, model)
    check_features(examples, data.data, trained, model)
    values = scores_of(trained, examples.X)
    if not scores:
        values = trained.classes_[(values > 0).astype(int)]
    _write(values, examples, out)


def _write(values: Any, examples: Any, out: Path | None) -> None:
    if out is not None and out.suffix.lower() == ".npy":
        import numpy as np

        try:
            np.save(out, values)
        except OSError as error:
            raise InputError(f"--out: {out} cannot be written: {error.strerror or error}") from None
        return
    groups = getattr(examples, "groups", None)
    if groups is None:
        names = examples.label_names
        header = list(names) if len(names) == values.shape[1] else [str(j) for j in range(values.shape[1])]
        rows: Iterable[Any] = values.tolist()
    else:
        header = ["group", "prediction"]
        rows = ([group, *row] for group, row in zip(groups.tolist(), values.tolist(), strict=True))
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror or error}") from None
