"""Tables with named columns, CSV and Parquet: tracks with a group and a label column, or label sets.

Every other column is a feature. A CSV file is in UTF-8, separated by commas, semicolons or tabs, and its first row
names the columns; where cells are not separated by commas, numbers may be written with them (0,5). A first column
without a name is an index, and left out. CSV is read with pandas, Parquet with pandas and pyarrow (``pip install
setloss[io]``). Bag ids of a CSV file are text, unless all of them are whole numbers: 007 and 7 are two bags.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE, unpacked_limit
from setloss.datasets.arrow import (
    MAX_ID,
    require_room_for_ids,
    require_short_ids,
    require_types,
    require_unpacked,
    texts,
)
from setloss.datasets.checks import as_zero_one, existing_file, is_number, reason, require_finite, shown
from setloss.datasets.columns import CsvPlaces, Places, Roles, csv_records, decimal_of, delimiter_of, roles_of
from setloss.datasets.data import DatasetError, LabelSets, Tracks

MAX_COLUMNS = 2**17
"""Most columns of a CSV file: pandas takes minutes for a million."""

INDEX = "Unnamed: 0"
"""What pandas calls a first column without a name: an index that was written to the file, and is left out."""

MISSING_LABEL = ("", "nan", "NaN", "NA", "?")


def read_csv(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
) -> LabelSets | Tracks:
    """Tracks from a CSV file, or, with `labels`, label sets.

    Parameters
    ----------
    path : path
        The file.
    labels : str or sequence of str, optional
        The label columns of label sets: their common prefix, or their names. Empty cells are missing labels.
    group, label : str, optional
        The columns of tracks with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        Columns that are no features, as ids and dates.
    """
    file = existing_file(path)
    return _convert(*csv_table(file, lambda names: roles_of(file, names, labels, group, label, ignore)))


def read_parquet(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
) -> LabelSets | Tracks:
    """Tracks from a Parquet file, or, with `labels`, label sets; the parameters are those of `read_csv`."""
    file = existing_file(path)
    return _convert(*parquet_table(file, lambda names: roles_of(file, names, labels, group, label, ignore)))


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns of a CSV or Parquet file."""
    file = existing_file(path)
    if file.suffix.lower() != ".parquet":
        return [name for name in _csv_header(file) if name != INDEX]
    parquet, arrow_error = _pyarrow(file)
    try:
        return [name for name in parquet.read_schema(file).names if not name.startswith("__index_level_")]
    except (*DAMAGE, arrow_error) as error:
        raise DatasetError(f"{file} is not a complete Parquet file: {reason(error)}") from None


def csv_table(file: Path, roles_for: Callable[[list[str]], Roles]) -> tuple[Any, Places]:
    """The columns of a CSV file with a role, as a DataFrame, and words for places in the file."""
    pandas = import_pandas(file)
    names = _csv_header(file)
    roles = replace(roles_for([name for name in names if name != INDEX]), names=tuple(names))
    return _csv_frame(pandas, file, roles), CsvPlaces(file, roles)


def parquet_table(file: Path, roles_for: Callable[[list[str]], Roles]) -> tuple[Any, Places]:
    """The same for a Parquet file."""
    import_pandas(file)
    parquet, arrow_error = _pyarrow(file)
    try:
        with file.open("rb") as stream:
            table = parquet.ParquetFile(stream)
            # A named index is a column like the others; pandas numbers those without a name.
            names = [name for name in table.schema_arrow.names if not name.startswith("__index_level_")]
            roles = roles_for(names)
            wanted = [name for name in names if name in roles.used]
            require_types(file, table.schema_arrow, roles)
            require_unpacked(file, table.metadata)
            _require_room(file, table.metadata.num_rows, len(wanted))
            table = parquet.ParquetFile(stream, read_dictionary=texts(table.schema_arrow, roles))
            content = table.read(columns=wanted)
            if roles.group is not None:
                require_short_ids(file, content.column(roles.group), roles.group)
            content.validate(full=True)  # offsets and text that is not UTF-8, which pandas would stumble over
            return content.to_pandas(ignore_metadata=True), Places(file, roles)
    except DatasetError:
        raise
    except (*DAMAGE, arrow_error) as error:
        raise DatasetError(f"{file} is not a complete Parquet file: {reason(error)}") from None


def _require_room(path: Path, rows: int, columns: int) -> None:
    """Refuse a table that is far larger than its file: a column of one value packs to nothing."""
    limit = unpacked_limit(path.stat().st_size) // 8
    if rows * columns > limit:
        raise DatasetError(
            f"{path} promises {rows} rows of {columns} columns and the limit for a file of its size is {limit} "
            "cells; it is damaged, or write it without compression"
        )


def import_pandas(path: Path) -> Any:
    """pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise DatasetError(f"reading {path} needs pandas; install it with pip install 'setloss[io]'") from None
    return pandas


def _pyarrow(path: Path) -> tuple[Any, type[Exception]]:
    """The reader of Parquet, and the parent of all errors of pyarrow."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise DatasetError(f"reading {path} needs pyarrow; install it with pip install 'setloss[io]'") from None
    return pyarrow.parquet, pyarrow.ArrowException


def _csv_header(path: Path) -> list[str]:
    _, names = next(csv_records(path), (1, []))
    if not names:
        raise DatasetError(f"{path} has no rows; it may be an unfinished download")
    if len(names) > MAX_COLUMNS:
        raise DatasetError(
            f"{path} has {len(names)} columns, more than {MAX_COLUMNS}; write so many features to an .npz file"
        )
    if any(is_number(name) for name in names):
        number = next(name for name in names if is_number(name))
        raise DatasetError(f"the first row of {path} has the number {shown(number)} in it; it must name the columns")
    if not names[0].strip():
        names[0] = INDEX
    if "" in (name.strip() for name in names):
        place = [name.strip() for name in names].index("") + 1
        raise DatasetError(f"column {place} of {path} has no name; name it, or leave it out when writing the file")
    if len(names) == 1:
        raise DatasetError(
            f"{path} has one column, {shown(names[0])}; cells are separated by commas, semicolons or tabs"
        )
    return names


def _csv_frame(pandas: Any, path: Path, roles: Roles) -> Any:
    places = CsvPlaces(path, roles)
    first = next(islice(csv_records(path), 1, 2), None)
    if first is not None and len(first[1]) != len(roles.names):
        places.explain()  # pandas would take what is too much for an index, of as many levels
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            frame = pandas.read_csv(
                lines,
                sep=delimiter_of(path),
                decimal=decimal_of(path),
                dtype=None if roles.group is None else {roles.group: str},
                keep_default_na=False,
                na_values={name: list(MISSING_LABEL) for name in roles.labels},
                low_memory=False,
            )
    except (ValueError, OverflowError, MemoryError, pandas.errors.ParserError) as error:
        places.explain()
        raise DatasetError(f"{path} cannot be read as CSV: {reason(error)}") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None
    if not isinstance(frame.index, pandas.RangeIndex) or tuple(frame.columns) != roles.names:
        places.explain()  # rows longer than the names, which pandas takes for an index
        raise DatasetError(f"{path} has rows that do not fit the names in its first row; write it anew")
    return frame


def _convert(frame: Any, places: Places) -> LabelSets | Tracks:
    roles = places.roles
    if len(frame) == 0:
        raise DatasetError(f"{places.path} names columns and has no rows; it may be an unfinished download")
    labels = np.column_stack([_numbers(frame[name], name, places, missing=True) for name in roles.labels])
    place = places.of(roles.labels)
    if np.isnan(labels).any():
        places.explain()
    if roles.group is None:
        Y = as_zero_one(labels, place, missing=True)
        return LabelSets(feature_matrix(frame, places), Y, roles.features, roles.labels)
    groups = bag_ids(frame[roles.group], roles.group, places)
    y = as_zero_one(labels[:, 0], place, missing=False)
    return Tracks(feature_matrix(frame, places), y, groups, roles.features)


def feature_matrix(frame: Any, places: Places) -> NDArray[Any]:
    """The features of a table in the order of their roles, all finite."""
    roles = places.roles
    columns = [_numbers(frame[name], name, places, missing=False) for name in roles.features]
    dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    X = np.empty((len(frame), len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        X[:, j] = column
    require_finite(X, places.of(roles.features))
    return X


def _numbers(column: Any, name: str, places: Places, *, missing: bool) -> NDArray[Any]:
    """A column as float32 or float64; pandas makes a column of text of one with a cell that is no number."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    if missing and column.dtype == object and all(isinstance(label, bool) for label in column.dropna()):
        column = column.astype("boolean")
    if not (is_bool_dtype(column) or is_numeric_dtype(column)) or is_complex_dtype(column):
        _refuse_text(column, name, places, missing)
    values: NDArray[Any] = column.to_numpy(
        dtype=np.float32 if column.dtype == np.float32 else np.float64, na_value=np.nan
    )
    return values


def _refuse_text(column: Any, name: str, places: Places, missing: bool) -> None:
    places.explain()
    for row, text in enumerate(places.texts(name)):
        if missing and text in MISSING_LABEL:
            continue
        if not (is_number(text) and math.isfinite(float(text))):
            what = f"{shown(text)}, not a finite number" if text.strip() else "empty"
            todo = "encode the column, leave it out with ignore=, or impute the cell"
            if missing:
                what, todo = shown(text), "labels are in {0, 1} or {-1, +1}, write 1 for the class that is looked for"
            raise DatasetError(f"{places.of([name])(row)} is {what}; {todo}")
    raise DatasetError(
        f"column {shown(name)} of {places.path} has type {column.dtype}; it must hold numbers, convert it"
    )


def bag_ids(column: Any, name: str, places: Places) -> NDArray[Any]:
    """The bag of every frame, as integers where all ids are plain whole numbers."""
    missing = column.isna().to_numpy()
    if not missing.any() and column.dtype.kind not in "biuf":
        missing = (column.astype(str).str.strip() == "").to_numpy()
    if missing.any():
        places.explain()
        row = int(np.argmax(missing))
        raise DatasetError(f"{places.of([name])(row)} is missing; every frame needs a bag id, remove the others")
    if column.dtype.kind in "biu":
        return np.asarray(column)
    written = column.astype(str)
    lengths = written.str.len().to_numpy(dtype=np.intp)
    place = places.of([name])(int(np.argmax(lengths))) if lengths.max() > MAX_ID else ""
    require_room_for_ids(place, places.path, len(lengths), int(lengths.max()))
    ids, inverse = np.unique(np.asarray(written, dtype=str), return_inverse=True)
    if all(_is_plain_integer(text) for text in ids):
        ids = ids.astype(np.int64)
    groups: NDArray[Any] = ids[inverse]
    return groups


def _is_plain_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 19 and (digits[0] != "0" or text == "0")
