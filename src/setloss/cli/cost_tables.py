"""Tables from files: numbers separated by commas (.csv), or a NumPy array (.npy)."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.cli.errors import InputError
from setloss.files import not_a_file
from setloss.io.data import is_number, reason, shown
from setloss.setfunctions.counts import MAX_CELLS
from setloss.typing import Array


def read_table(path: Path) -> Array:
    """The numbers of a file, all finite; a CSV file of one row or one column has one axis."""
    readers = {".csv": _read_csv, ".npy": _read_npy}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a table is a .csv or .npy file, not {path.suffix or 'a file without suffix'}")
    wrong = not_a_file(path)
    if wrong is not None:
        raise InputError(f"{path} is {wrong}; a table is a file")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        return reader(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _read_csv(path: Path) -> Array:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if any(map(str.strip, row))]
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path} is not a table of numbers separated by commas: {error}") from None
    if not rows:
        raise InputError(f"{path} is empty")
    _refuse_header(path, rows[0][1])
    width = len(rows[0][1])
    for number, row in rows:
        if len(row) != width:
            raise InputError(f"{path} is ragged: row {rows[0][0]} has {width} cells, row {number} has {len(row)}")
    values = np.array([[_cell(path, n, c, text) for c, text in enumerate(row, 1)] for n, row in rows])
    return values.ravel() if 1 in values.shape else values


def _refuse_header(path: Path, row: list[str]) -> None:
    if not any(is_number(text) for text in row):
        names = ", ".join(row[:4]) + (", ..." if len(row) > 4 else "")
        raise InputError(
            f"row 1 of {path} is not numbers but {shown(names)}; cells are numbers separated by commas, "
            "and there is no header"
        )


def _cell(path: Path, row: int, column: int, text: str) -> float:
    if not is_number(text):
        what = f"{shown(text)}, not a number" if text.strip() else "empty"
        raise InputError(f"row {row}, column {column} of {path} is {what}")
    value = float(text)
    if not math.isfinite(value):
        raise InputError(f"row {row}, column {column} of {path} is {value}; every value must be finite")
    return value


def _read_npy(path: Path) -> Array:
    # A memory map compares the promised size with the file's and refuses Python objects before it reads any.
    try:
        array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        raise InputError(f"{path} is not a complete .npy file of numbers: {reason(error)}") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path} holds {array.dtype} values; a table holds real numbers")
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"{path} has shape {array.shape}; a table needs at least one axis and one value")
    if array.size > MAX_CELLS:
        raise InputError(f"{path} has {array.size} values; the limit is {MAX_CELLS}")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InputError(f"entry {where} of {path} is {array[where]}; every value must be finite")
    return np.array(array, dtype=np.float64)
