"""Tables with named columns, CSV and Parquet, read with pyarrow into pandas; and which column has which role.

A CSV file is in UTF-8, separated by commas, semicolons or tabs, and its first row names the columns; where cells are
not separated by commas, numbers may be written with them (0,5). A first column without a name is an index, and left
out. Tracks have a column for the bag and one for the label, label sets have several columns of labels; every other
column is a feature. Bag ids of a CSV file are text, unless all are plain whole numbers: 007 and 7 are two bags.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import (
    DatasetError,
    LabelSets,
    Tracks,
    as_zero_one,
    existing_file,
    is_number,
    listed,
    no_infinity,
    reason,
    refuse_repeats,
    shown,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SUFFIXES = (".csv", ".tsv", ".parquet")


def read_table(path: str | os.PathLike[str], *, text: Sequence[str] = ()) -> DataFrame:
    """All columns of a .csv, .tsv or .parquet file as they are; empty cells are missing, ISO dates are dates.

    Columns of a CSV file in `text` are text even if they look like numbers (ids: 007 is not 7).
    """
    file = existing_file(path)
    try:
        import pandas  # noqa: F401 (pyarrow needs it to give a DataFrame)
        import pyarrow
    except ImportError:
        raise DatasetError(f"reading {file} needs pandas and pyarrow; install setloss[io]") from None
    is_text = file.suffix.lower() != ".parquet"
    try:
        table = _csv(file, text) if is_text else _parquet(file)
        table.validate(full=True)
        names = [str(name) for name in table.column_names]
        if is_text and any(pyarrow.types.is_binary(kind) for kind in table.schema.types):
            raise ValueError("it has bytes that are not text in UTF-8")
        frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as a table: {reason(error)}; correct or write it anew") from None
    refuse_repeats(file, names, "columns")
    if names and not names[0].strip():
        frame, names = frame.iloc[:, 1:], names[1:]
    if len(names) < 2:
        raise DatasetError(
            f"{file} has the columns {listed(names)}; it needs features and labels, separated by commas, semicolons "
            "or tabs"
        )
    numbers = [name for name in names if is_number(name) and any(map(str.isdigit, name))]
    if is_text and numbers:
        raise DatasetError(f"the first row of {file} has the number {numbers[0]} in it; it must name the columns")
    if len(frame) == 0:
        raise DatasetError(f"{file} names columns and has no rows; it may be an unfinished download")
    return frame


def _parquet(file: Path) -> Any:
    from pyarrow import parquet

    content = parquet.ParquetFile(file)
    return content.read([name for name in content.schema_arrow.names if not name.startswith("__index_level_")])


def _csv(file: Path, text: Sequence[str]) -> Any:
    """One block of the size of the file, from which pyarrow takes types; one thread, so that it counts rows."""
    import pyarrow
    from pyarrow import csv

    with file.open("rb") as lines:
        first = lines.readline(2**20)
    delimiter = "\t" if file.suffix.lower() == ".tsv" else max(",;\t", key=lambda sign: first.count(sign.encode()))
    reading = csv.ReadOptions(use_threads=False, block_size=min(file.stat().st_size + 1, 2**31 - 1))
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    converting = {"column_types": dict.fromkeys(text, pyarrow.string()), "strings_can_be_null": True}
    tables = [
        csv.read_csv(file, reading, parsing, csv.ConvertOptions(decimal_point=point, **converting))
        for point in ("." if delimiter == "," else ".,")
    ]  # the way of writing numbers that gives more columns of numbers
    return max(tables, key=lambda table: sum(pyarrow.types.is_floating(kind) for kind in table.schema.types))


def read_columns(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
) -> LabelSets | Tracks:
    """Label sets (with `labels`) or tracks whose X is a DataFrame of all other columns, as they are.

    Parameters
    ----------
    path : path
        A .csv, .tsv or .parquet file.
    labels : str or sequence of str, optional
        The label columns of label sets: their common prefix, or their names. Empty cells are missing labels.
    group, label : str, optional
        The columns of tracks with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        Columns that are left out.
    """
    file = existing_file(path)
    if labels is not None and (group is not None or label is not None):
        raise DatasetError("labels= is for label sets, group= and label= are for tracks; give one or the other")
    group, label = group or "group", label or "label"
    frame = read_table(file, text=() if labels is not None else (group,))
    frame = frame.drop(columns=existing_columns(file, frame, ignore, "ignore="))
    if labels is None:
        if group == label:
            raise DatasetError(f"group and label are both {shown(group)}; they are two columns of {file}")
        existing_columns(file, frame, [group, label], "group= (the bag), label=, or labels= for label sets")
    chosen = (label,) if labels is None else _label_columns(file, frame, labels)
    X = frame.drop(columns=[*chosen, *([group] if labels is None else [])])
    if X.shape[1] == 0:
        raise DatasetError(f"{file} has no columns of features; its columns are {listed(list(frame.columns))}")
    Y = np.column_stack([_numbers(frame[name], file, "write labels as 0 and 1") for name in chosen])
    Y = as_zero_one(Y, lambda row, j: _place(file, row, chosen[j]), missing=labels is not None)
    if labels is not None:
        return LabelSets(X, Y, tuple(X.columns), chosen)
    return Tracks(X, Y[:, 0], bag_ids(frame[group], file), tuple(X.columns))


def existing_columns(file: Path, frame: DataFrame, names: Sequence[str], role: str) -> list[str]:
    """The names, all of which must be columns; `role` says in a message what they were to be."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise DatasetError(
            f"{file} lacks the column{'s' * (len(absent) > 1)} {listed(absent)} of {role}; "
            f"its columns are {listed(list(frame.columns), like=absent[0])}"
        )
    return list(names)


def _label_columns(file: Path, frame: DataFrame, labels: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(labels, int) or not labels:
        raise DatasetError(f"labels={labels} does not name columns of {file}; give their prefix or their names")
    if isinstance(labels, str):
        labels = [name for name in frame.columns if name.startswith(labels)] or [labels]
    refuse_repeats(file, labels, "labels in labels=")
    return tuple(existing_columns(file, frame, labels, "labels="))


def number_matrix(frame: DataFrame, file: Path) -> NDArray[Any]:
    """The columns as an array of floats; those that are no numbers are refused together."""
    others = [name for name in frame if not _is_numeric(frame[name])]
    if len(others) > 1:
        raise DatasetError(
            f"{file} has columns that are not numbers: {listed(others)}; encode them (io.read_columns and "
            "io.TableEncoder), or leave them out with ignore="
        )
    small = all(kind == np.float32 for kind in frame.dtypes)
    X = np.empty(frame.shape, dtype=np.float32 if small else np.float64)
    for j, name in enumerate(frame):
        X[:, j] = _numbers(frame[name], file, "encode the column, or leave it out with ignore=")
    no_infinity(X, lambda row, j: _place(file, row, frame.columns[j]))
    return X


def _is_numeric(column: Series[Any]) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool((is_bool_dtype(column) or is_numeric_dtype(column)) and column.dtype.kind != "c")


def _numbers(column: Series[Any], file: Path, remedy: str) -> NDArray[Any]:
    """A column as floats, NaN where a cell is empty; a cell that is no number is named."""
    import pandas

    present = column.dropna()
    if not _is_numeric(column) and all(isinstance(value, bool) for value in present):
        column = column.astype("boolean")
    if not _is_numeric(column):
        strange = pandas.to_numeric(present.astype(str), errors="coerce").isna().to_numpy()
        row = int(np.flatnonzero(column.notna())[int(np.argmax(strange))])
        raise DatasetError(f"{_place(file, row, str(column.name))} is {shown(str(column.iloc[row]))}; {remedy}")
    dtype = np.float32 if column.dtype == np.float32 else np.float64
    values: NDArray[Any] = column.to_numpy(dtype=dtype, na_value=np.nan)
    return values


def bag_ids(column: Series[Any], file: Path) -> NDArray[Any]:
    """The bag of every frame, as integers where all ids are plain whole numbers."""
    missing = column.isna().to_numpy()
    if missing.any():
        place = _place(file, int(np.argmax(missing)), str(column.name))
        raise DatasetError(f"{place} is missing; every frame needs a bag id, remove the others")
    if column.dtype.kind in "biu":
        return np.asarray(column)
    ids, inverse = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)
    if all(text.removeprefix("-").isdecimal() and len(text) < 19 and str(int(text)) == text for text in ids):
        ids = ids.astype(np.int64)
    groups: NDArray[Any] = ids[inverse]
    return groups


def _place(file: Path, row: int, column: str) -> str:
    return f"row {row + 1}, column {shown(column)} of {file}"
