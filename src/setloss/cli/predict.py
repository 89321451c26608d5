"""``setloss predict``: the labels, or the scores, that a model gives to the rows of a data file."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from setloss.cli.cluster_options import ClusterOptions
from setloss.cli.data_options import DataOptions, check_features
from setloss.cli.errors import InputError
from setloss.cli.model_files import check_kind, read_model, scores_of
from setloss.cli.option_groups import with_option_groups
from setloss.cli.output_files import check_writable
from setloss.cli.partitions import answers, open_partitions, scores_of_partition

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
    """Predict: one row per example or frame, in the order of DATA, whose own labels are ignored.

    For example: setloss predict scene.skops new.arff --out labels.csv
    """
    if out is not None:
        if out.suffix.lower() not in SUFFIXES:
            raise InputError(f"--out writes {' and '.join(SUFFIXES)} files; got {out}")
        check_writable("--out", out)
    engine.check()
    trained = read_model(model)
    examples = open_partitions(data, engine) if engine.asked else data.read_for(trained, truth=False)
    check_kind(examples, data.data, trained, model)
    check_features(examples, data.data, trained, model)
    with engine.client() as client:
        if engine.asked:
            found = answers(examples, client, scores_of_partition, trained)
        else:
            found = iter([(getattr(examples, "groups", None), scores_of(trained, examples.X))])
        pieces = (
            (groups, values if scores else trained.classes_[(values > 0).astype(int)]) for groups, values in found
        )
        _write(pieces, examples, len(trained.coef_), out)


def _write(pieces: Iterator[tuple[Any, Any]], examples: Any, labels: int, out: Path | None) -> None:
    if out is None:
        _write_csv(pieces, examples, labels, sys.stdout)
        return
    try:
        _write_file(pieces, examples, labels, out)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror or error}") from None


def _write_file(pieces: Iterator[tuple[Any, Any]], examples: Any, labels: int, out: Path) -> None:
    """Piece by piece as CSV; an .npy file needs all of them at once."""
    if out.suffix.lower() == ".npy":
        import numpy as np

        np.save(out, np.concatenate([values for _, values in pieces]))
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        _write_csv(pieces, examples, labels, file)


def _write_csv(pieces: Iterator[tuple[Any, Any]], examples: Any, labels: int, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    for number, (groups, values) in enumerate(pieces):
        if number == 0:
            writer.writerow(["group", "prediction"] if groups is not None else _label_names(examples, labels))
        rows = values.tolist()
        writer.writerows(
            rows if groups is None else ([g, *row] for g, row in zip(groups.tolist(), rows, strict=True))
        )


def _label_names(examples: Any, labels: int) -> list[str]:
    names = examples.label_names or ()
    return list(names) if len(names) == labels else [str(label) for label in range(labels)]
