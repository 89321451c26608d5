"""``setloss predict``: the labels, or the scores, that a model gives to the rows of a data file."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from setloss.cli.cluster_options import ClusterOptions
from setloss.cli.data_options import DataOptions
from setloss.cli.errors import InputError
from setloss.cli.model_columns import ModelColumns, check_feature_count
from setloss.cli.model_files import read_model, scores_of
from setloss.cli.option_groups import with_option_groups
from setloss.cli.output_files import check_writable
from setloss.cli.partitions import answers, open_partitioned_features, scores_of_partition

SUFFIXES = (".csv", ".npy")


@with_option_groups
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
    data: DataOptions,
    engine: ClusterOptions,
    out: Annotated[
        Path | None, typer.Option(help="File to write, .csv or .npy.", show_default="CSV on standard output")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of labels.")] = False,
) -> None:
    """Predict: one row per example or frame, in the order of DATA, which needs no labels.

    Columns are found by the names that the model was trained with; others are ignored.
    For example: setloss predict scene.skops new.csv --out labels.csv
    """
    if out is not None:
        if out.suffix.lower() not in SUFFIXES:
            raise InputError(f"--out writes {' and '.join(SUFFIXES)} files; got {out}")
        check_writable("--out", out)
    engine.check()
    trained = read_model(model)
    if engine.asked:
        examples = open_partitioned_features(data, engine, trained)
        check_feature_count(examples, data.data, trained, model)
    else:
        rows = data.read_features(trained, model)
    with engine.client() as client:
        if engine.asked:
            found = answers(examples, client, scores_of_partition, trained)
        else:
            found = iter([(rows.groups, scores_of(trained, rows.X))])
        pieces = (
            (groups, values if scores else trained.classes_[(values > 0).astype(int)]) for groups, values in found
        )
        _write(pieces, _header(trained), out)


def _write(pieces: Iterator[tuple[Any, Any]], header: list[str], out: Path | None) -> None:
    if out is None:
        _write_csv(pieces, header, sys.stdout)
        return
    try:
        _write_file(pieces, header, out)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror or error}") from None


def _write_file(pieces: Iterator[tuple[Any, Any]], header: list[str], out: Path) -> None:
    """Piece by piece as CSV; an .npy file needs all of them at once."""
    if out.suffix.lower() == ".npy":
        import numpy as np

        np.save(out, np.concatenate([values for _, values in pieces]))
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        _write_csv(pieces, header, file)


def _write_csv(pieces: Iterator[tuple[Any, Any]], header: list[str], file: TextIO) -> None:
    """The bags, where there are any, come first."""
    writer = csv.writer(file, lineterminator="\n")
    for number, (groups, values) in enumerate(pieces):
        if number == 0:
            writer.writerow(header if groups is None else ["group", *header])
        rows = values.tolist()
        writer.writerows(
            rows if groups is None else ([g, *row] for g, row in zip(groups.tolist(), rows, strict=True))
        )


def _header(trained: Any) -> list[str]:
    """The names of the labels, or their numbers; a model of tracks has one label."""
    columns = ModelColumns.of(trained)
    if not columns.of_label_sets:
        return ["prediction"]
    return list(columns.labels or map(str, range(len(trained.coef_))))
