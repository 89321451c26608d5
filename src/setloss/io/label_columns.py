"""Labels in the columns of a table: numbers, words for yes and no, marks, or all labels of a row in one cell.

| column | becomes |
|---|---|
| 0 and 1, -1 and 1, true and false, yes and no | a label; an empty cell is a missing one |
| x, or 1, yes or true where no cell says no, and empty cells | a label; an empty cell is a no |
| the only one, of other text: ``oil; gas`` | a label for each name in it; an empty cell is the set without labels |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, as_zero_one, label_matrix, place_of, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SEPARATORS = ";|,"
"""Signs between the labels of one cell, in the order in which they are looked for: names hold commas now and then."""

SHARE_OF_CELLS = 0.01
"""Smallest share of the cells with a sign for it to be the separator, unless no other sign is there."""

YES = {"1", "1.0", "+1", "x", "y", "yes", "t", "true"}
NO = {"0", "0.0", "-1", "-1.0", "n", "no", "f", "false"}
NUMBERS = {"1", "1.0", "+1", "0", "0.0", "-1", "-1.0"}
"""Cells that mean yes and no, in small letters, and those of them that need no word in a report."""


def read_labels(X: DataFrame, frame: DataFrame, file: Path, separator: str | None = None) -> LabelSets:
    """Label sets of rows with features X from their columns of labels."""
    column, features = frame.iloc[:, 0], tuple(X.columns)
    in_one_cell = separator is not None or not (_is_numeric(column) or _words(column) <= YES | NO)
    if frame.shape[1] == 1 and in_one_cell:
        separator = separator_of(column) if separator is None else separator
        Y, names = split_cells(column, file, separator)
        how = f"in one cell, with {separator!r} between them" if separator else "one a cell"
        empty = int(column.isna().sum())
        words = f"{len(names)} labels, {how}" + f"; empty cells ({empty}) are sets without labels" * (empty > 0)
        return LabelSets(X, Y, features, names, ((str(column.name), words),), (str(column.name), separator))
    Y, notes = read_yes_and_no(frame, file)
    for name, known in ((name, values[~np.isnan(values)]) for name, values in zip(frame.columns, Y.T, strict=True)):
        if known.size and known.min() == known.max():
            notes.append((name, f"label: always {known[0]:g}, and predicted so"))
    return LabelSets(X, Y, features, tuple(frame.columns), tuple(notes))


def read_yes_and_no(
    frame: DataFrame, file: Path, *, missing: bool = True
) -> tuple[NDArray[Any], list[tuple[str, str]]]:
    """Columns of numbers, words or marks as labels (n, p), and words for what is not 0 and 1."""
    words = {name: _words(frame[name]) for name in frame.columns}
    no_is_written = any(found & NO for found in words.values())
    holes = frame.isna().any().to_dict()
    marked = {
        name: bool(found and holes[name]) and found <= YES and (found == {"x"} or not no_is_written)
        for name, found in words.items()
    }
    columns, notes = [], []
    for name, found in words.items():
        marks = marked[name] or (not found and any(marked.values()))
        values = _numbers(frame[name], file, empty=0.0 if marks else np.nan)
        columns.append(as_zero_one(file, values[:, None], [name], missing=missing))
        if marks:
            notes.append((name, f"label: {int(values.sum())} marked, empty cells are no"))
        elif found & (YES | NO) - NUMBERS:
            notes.append((name, f"label: {' and '.join(sorted(found))}"))
    return np.hstack(columns), notes


def split_cells(column: Series[Any], file: Path, separator: str) -> tuple[Any, tuple[str, ...]]:
    """Labels (n, p) of cells with the names of a set in each, and the sorted names; without a separator, one each."""
    empty = column.isna()
    cells = [set() if nothing else _names(cell, separator) for cell, nothing in zip(column, empty, strict=True)]
    names = sorted(set().union(*cells))
    places = {name: j for j, name in enumerate(names)}
    Y = label_matrix([places[name] for members in cells for name in members], [*map(len, cells)], len(names))
    if not names:
        raise DatasetError(f"column {shown(str(column.name))} of {file} is empty; it should hold labels")
    if len(names) > 1 and np.max(Y.sum(axis=0)) < 2:
        raise DatasetError(
            f"no label occurs twice in column {shown(str(column.name))} of {file}, as {shown(names[0])}; give "
            "another column, or the sign between labels by separator="
        )
    return Y, tuple(names)


def separator_of(column: Series[Any]) -> str:
    """The sign between the labels of a cell; "" if there is none."""
    cells = column.dropna().astype(str)
    shares = {sign: float(cells.str.contains(sign, regex=False).mean()) for sign in SEPARATORS}
    usual = [sign for sign, share in shares.items() if share >= SHARE_OF_CELLS]
    return next(iter(usual or [sign for sign, share in shares.items() if share > 0]), "")


def _names(cell: Any, separator: str) -> set[str]:
    if isinstance(cell, list | tuple | set | np.ndarray):  # parquet has lists
        parts = [str(part) for part in cell]
    else:
        parts = str(cell).split(separator) if separator else [str(cell)]
    return {part.strip() for part in parts} - {""}


def _is_numeric(column: Series[Any]) -> bool:
    from pandas.api.types import is_numeric_dtype

    return bool(is_numeric_dtype(column))


def _words(column: Series[Any]) -> set[str]:
    """The different values of a column, in small letters; those of a column of lists are no words."""
    present = column.dropna()
    return set(present.astype(str).str.strip().str.lower().unique())


def _numbers(column: Series[Any], file: Path, *, empty: float) -> NDArray[np.float64]:
    """Yes and no as 1 and 0 or -1, other numbers as they are; text that is neither is refused."""
    texts = column.astype(str).str.strip().str.lower().to_numpy(dtype=object)
    values = np.full(len(column), empty)
    for row in np.flatnonzero(column.notna()).tolist():
        text = texts[row]
        try:
            values[row] = 1.0 if text in YES else 0.0 if text in NO and not text.startswith("-") else float(text)
        except ValueError:
            raise DatasetError(
                f"{place_of(file, row, str(column.name))} is {shown(str(column.iloc[row]))}; labels of several "
                "columns are 0 and 1, yes and no, or marked by an x"
            ) from None
    return values
