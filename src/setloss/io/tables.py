"""Tables with named columns, CSV and Parquet, read with pyarrow into pandas; and which column has which role.

A CSV file is in UTF-8, separated by commas, semicolons or tabs, and its first row names the columns; where cells are
not separated by commas, numbers may be written with them (0,5). A first column without a name is an index, and left
out. Tracks have a column for the bag and one for the label, label sets have several columns of labels or one with
all labels of a row in a cell; every other column is a feature. Bag ids of a CSV file are text: 007 and 7 are two
bags.

| column of labels | becomes |
|---|---|
| 0 and 1, -1 and 1, true and false, yes and no | a label; an empty cell is a missing one |
| x, or 1, yes or true where no cell says no, and empty cells | a label; an empty cell is a no |
| the only one, ``oil; gas`` or ``['oil', 'gas']`` | a label for each name in it; an empty cell is the set without |
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
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
    listed,
    place_of,
    reason,
    require_names,
    shown,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

TABLES = (".csv", ".tsv", ".parquet")


def read_table(path: str | os.PathLike[str], *, text: Sequence[str] = ()) -> DataFrame:
    """All columns of a .csv, .tsv or .parquet file as they are; empty cells are missing, ISO dates are dates.

    Columns of a CSV file in `text` are text even if they look like numbers (ids: 007 is not 7).

    Examples
    --------
    >>> import tempfile, pandas
    >>> frames = pandas.DataFrame({"track": ["007", "007"], "x": [1.5, 2.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frames.to_csv(f"{folder}/frames.csv", index=False)
    ...     read_table(f"{folder}/frames.csv", text=["track"])["track"].tolist()
    ['007', '007']
    """
    file = existing_file(path)
    try:
        import pandas  # noqa: F401
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(f"reading {file} needs pandas and pyarrow; install setloss[io]") from None
    is_text = file.suffix.lower() != ".parquet"
    try:
        table = _csv(file, text) if is_text else parquet.ParquetFile(file).read()
        table.validate(full=True)
        if is_text and any(pyarrow.types.is_binary(kind) for kind in table.schema.types):
            raise ValueError("it has bytes that are not text in UTF-8, as some spreadsheets write it; save it so")
        frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as a table: {reason(error)}; correct or write it anew") from None
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DatasetError(f"{file} has two columns named {shown(twice)}; rename one of them")
    frame = frame.drop(columns=[name for name in frame if name.startswith("__index_level_")])
    if not frame.columns[:1].str.strip().all():
        frame = frame.iloc[:, 1:]
    names = list(frame.columns)
    if len(names) < 2:
        raise DatasetError(
            f"{file} has the columns {listed(names)}; it needs features and labels, separated by commas, semicolons "
            "or tabs"
        )
    numbers = [name for name in names if re.fullmatch(r"\s*[-+]?[\d.,]*\d(e[-+]?\d+)?\s*", name, re.I | re.A)]
    if is_text and numbers:
        raise DatasetError(f"the first row of {file} has the number {numbers[0]} in it; it must name the columns")
    if len(frame) == 0:
        raise DatasetError(f"{file} names columns and has no rows; it may be an unfinished download")
    return frame


def _csv(file: Path, text: Sequence[str]) -> Any:
    """One block of the size of the file, from which pyarrow takes types; one thread, so that it counts rows."""
    import pyarrow
    from pyarrow import csv

    with file.open("rb") as lines:
        first = lines.readline(2**20)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
        raise ValueError("it looks like UTF-16, as spreadsheets write 'Unicode text'; save it in UTF-8")
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
    file: Path,
    labels: Any,
    *,
    group: str | None,
    label: str | None,
    ignore: Sequence[str] | None,
    separator: str | None,
) -> LabelSets | Tracks:
    """Label sets (with `labels`) or tracks whose X is a DataFrame of all other columns; `io.read` says the rest."""
    if separator is not None and labels is None:
        raise DatasetError("separator= is for labels= that stand in one cell; give both")
    if labels is not None and (group is not None or label is not None):
        raise DatasetError("labels= is for label sets, group= and label= are for tracks; give one or the other")
    group = group or "group"
    frame = read_table(file, text=() if labels is not None else (group,))
    frame = frame.drop(columns=require_names(file, frame.columns, ignore or (), "ignore="))
    if labels is None:
        role = "group= and label= of tracks (for label sets give labels=)"
        chosen = require_names(file, frame.columns, [group, label or "label"], role)
    else:
        chosen = _label_columns(file, frame, labels)
    X = frame.drop(columns=chosen)
    if X.shape[1] == 0:
        raise DatasetError(f"{file} has no columns of features; its columns are {listed(list(frame.columns))}")
    if labels is None:
        Y, _ = read_yes_and_no(frame[chosen[1:]], file, missing=False)
        return Tracks(X, Y[:, 0], bag_ids(frame[group], file), tuple(X.columns))
    data = read_labels(X, frame[chosen], file, separator)
    if isinstance(labels, str) and labels not in chosen:
        data = replace(data, notes=(*data.notes, (f"{labels}...", f"prefix of the labels: {listed(chosen)}")))
    return data


def _label_columns(file: Path, frame: DataFrame, labels: Any) -> list[str]:
    if isinstance(labels, int) or not labels:
        raise DatasetError(f"labels={labels} does not name columns of {file}; give their prefix or their names")
    if isinstance(labels, str):
        labels = [name for name in frame.columns if name.startswith(labels)] or [labels]
    return require_names(file, frame.columns, labels, "labels=")


def bag_ids(column: Series[Any], file: Path) -> NDArray[Any]:
    """The bag of every frame; each must have one."""
    missing = column.isna().to_numpy()
    if missing.any():
        place = place_of(file, int(np.argmax(missing)), str(column.name))
        raise DatasetError(f"{place} is missing; every frame needs a bag id, remove the others")
    ids = np.asarray(column)
    return ids.astype(str) if ids.dtype == object else ids


# -------------------------------------------------------------------- columns of labels


SEPARATORS = ";|,"
"""Signs between the labels of one cell, in the order in which they are looked for: names hold commas now and then."""

LISTS = (list, tuple, set, np.ndarray)
"""Cells with several names; Parquet has them."""

_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^,'"]+)""")
"""Names in a list that is written as text, with or without quotes."""

MAX_DENSE = 2**30
"""Most bytes of a dense matrix of labels; a larger one is returned as CSR."""

SHARE_OF_CELLS = 0.01
"""Smallest share of the cells with a sign for it to be the separator, unless no other sign is there."""

YES = {"1", "1.0", "+1", "x", "y", "yes", "t", "true"}
NO = {"0", "0.0", "-1", "-1.0", "n", "no", "f", "false"}
NUMBERS = {"1", "1.0", "+1", "0", "0.0", "-1", "-1.0"}
"""Cells that mean yes and no, in small letters, and those of them that need no word in a report."""

MEANINGS = dict.fromkeys(YES, 1.0) | dict.fromkeys(NO - NUMBERS, 0.0)
"""Words as numbers. Numbers stay what they are: a column with -1 has no 0."""


def read_labels(X: DataFrame, frame: DataFrame, file: Path, separator: str | None = None) -> LabelSets:
    """Label sets of rows with features X from their columns of labels."""
    column, features = _lists(frame.iloc[:, 0]), tuple(X.columns)
    in_one_cell = separator is not None or not (column.dtype.kind in "biuf" or set(_words(column)) <= YES | NO)
    if frame.shape[1] > 1 or not in_one_cell:
        Y, notes = read_yes_and_no(frame, file)
        for name, known in ((name, values[~np.isnan(values)]) for name, values in zip(frame, Y.T, strict=True)):
            if known.size and known.min() == known.max():
                notes[name] = f"label: always {known[0]:g}, and predicted so"
        return LabelSets(X, Y, features, tuple(frame.columns), tuple(notes.items()))
    of_lists = any(isinstance(cell, LISTS) for cell in column)
    if separator is None:
        separator = ";" if of_lists else separator_of(column)
    Y, names = split_cells(column, file, separator)
    how = f"in one cell, with {separator!r} between them" if separator else "one in each cell"
    empty = int(column.isna().sum())
    words = f"{len(names)} labels, {'lists of names in one cell' if of_lists else how}"
    words += f"; empty cells ({empty}) are sets without labels" * (empty > 0)
    lower = [name.lower() for name in names]
    if alike := [name for name in names if lower.count(name.lower()) > 1]:
        words += f"; differ in case only: {listed(alike)}"
    return LabelSets(X, Y, features, names, ((str(column.name), words),), (str(column.name), separator))


def read_yes_and_no(frame: DataFrame, file: Path, *, missing: bool = True) -> tuple[NDArray[Any], dict[str, str]]:
    """Columns of numbers, words or marks as labels (n, p), and words for those that are not written as 0 and 1."""
    words = {name: set(_words(frame[name])) for name in frame.columns}
    no_is_written = any(seen & NO for seen in words.values())
    marked = {
        name: bool(seen) and frame[name].isna().any() and seen <= YES and (seen == {"x"} or not no_is_written)
        for name, seen in words.items()
    }
    columns, notes = [], {}
    for name, seen in words.items():
        marks = marked[name] or (not seen and any(marked.values()))
        values = _numbers(frame[name], file, empty=0.0 if marks else np.nan)
        columns.append(as_zero_one(file, values[:, None], [name], missing=missing))
        if marks:
            notes[name] = f"label: {int(values.sum())} marked, empty cells are no"
        elif seen & (YES | NO) - NUMBERS or np.isnan(values).any():
            unknown = f"; empty cells ({np.isnan(values).sum()}) are not known" * bool(np.isnan(values).any())
            notes[name] = f"label: {' and '.join(sorted(seen))}{unknown}"
    return np.hstack(columns), notes


def split_cells(column: Series[Any], file: Path, separator: str) -> tuple[Any, tuple[str, ...]]:
    """Labels (n, p) of cells with the names of a set in each, and the sorted names; without a separator, one each."""
    from scipy.sparse import csr_array
    from sklearn.preprocessing import MultiLabelBinarizer

    empty = column.isna()
    cells = [set() if nothing else _names(cell, separator) for cell, nothing in zip(column, empty, strict=True)]
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = csr_array(binarizer.fit_transform(cells), dtype=np.int64)
    Y, names = (Y if 8 * Y.shape[0] * Y.shape[1] > MAX_DENSE else Y.toarray()), tuple(binarizer.classes_)
    if not names:
        raise DatasetError(f"column {shown(str(column.name))} of {file} is empty; it should hold labels")
    if len(names) > 1 and np.max(Y.sum(axis=0)) < 2:
        raise DatasetError(
            f"no label occurs twice in column {shown(str(column.name))} of {file}, as {shown(names[0])}; give "
            "another column, or the sign between labels by separator="
        )
    return Y, names


def separator_of(column: Series[Any]) -> str:
    """The sign between the labels of a cell; "" if there is none."""
    cells = column.dropna().astype(str)
    shares = {sign: float(cells.str.contains(sign, regex=False).mean()) for sign in SEPARATORS}
    usual = [sign for sign, share in shares.items() if share >= SHARE_OF_CELLS]
    return next(iter(usual or [sign for sign, share in shares.items() if share > 0]), "")


def _lists(column: Series[Any]) -> Series[Any]:
    """The lists in a column of text whose cells are all written as one: ['oil', 'gas'], as pandas and JSON do it."""
    cells = column.dropna()
    if not len(cells) or not all(isinstance(cell, str) and re.fullmatch(r"\s*\[.*\]\s*", cell) for cell in cells):
        return column
    lists = [["".join(names) for names in _QUOTED.findall(cell.strip()[1:-1])] for cell in cells]
    return type(column)(lists, index=cells.index, name=column.name, dtype=object).reindex(column.index)


def _names(cell: Any, separator: str) -> set[str]:
    if isinstance(cell, LISTS):
        parts = [str(part) for part in cell]
    else:
        parts = str(cell).split(separator) if separator else [str(cell)]
    return {part.strip() for part in parts} - {""}


def _words(column: Series[Any]) -> Series[Any]:
    """The cells of a column that are not empty, as text in small letters; lists are no words."""
    return column.dropna().astype(str).str.strip().str.lower()


def _numbers(column: Series[Any], file: Path, *, empty: float) -> NDArray[np.float64]:
    """Yes and no as 1 and 0 or -1, other numbers as they are; text that is neither is refused."""
    from pandas import to_numeric

    numbers = to_numeric(_words(column).map(lambda word: MEANINGS.get(word, word)), errors="coerce")
    if numbers.isna().any():
        row = int(np.flatnonzero(column.notna())[int(np.argmax(numbers.isna()))])
        raise DatasetError(
            f"{place_of(file, row, str(column.name))} is {shown(str(column.iloc[row]))}; a label with a column "
            "of its own is 0 or 1, yes or no, or marked by an x"
        )
    values = np.full(len(column), empty)
    values[column.notna()] = numbers.to_numpy(np.float64)
    return values
