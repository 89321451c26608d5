"""Checks the readers share: files that can be opened, finite features, labels in {0, 1} or {-1, +1}."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import unpacked_limit
from setloss.datasets.data import DatasetError
from setloss.files import not_a_file

MAX_BYTES = 2**30
"""Largest dense matrix of labels; ids beyond it are a mistake in the file, or need a sparse design we do not have."""

MAX_LABELS = 2**22
"""Most labels; every one has a name."""

MAX_INDEX = 2**31 - 1
"""Largest feature index."""

MAX_COMPARED = 10_000
"""Most names that are compared with one that is missing."""

Place = Callable[..., str]
"""Turns the indices of an entry into words: ``place(row)`` or ``place(row, column)``."""


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is there and not empty."""
    file = Path(path)
    wrong = not_a_file(file)
    if wrong is not None:
        raise DatasetError(f"{file} is {wrong}; give the path of the data file itself")
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        raise DatasetError(f"there is no file {file}; check the path") from None
    if size == 0:
        raise DatasetError(f"{file} is empty; it may be an unfinished download")
    return file


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1, without the white space around them."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                yield number, line.strip()
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None


def not_utf8(path: Path) -> DatasetError:
    """The error for a file that does not decode, with the line where it stops to."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):  # noqa: B007 (the message names it)
            try:
                line.decode()
            except UnicodeDecodeError:
                break
    return DatasetError(f"line {number} of {path} is not text in UTF-8; convert or unpack the file first")


def require_finite(X: Any, place: Place) -> None:
    """Refuse NaN and infinity in a dense or CSR matrix of features."""
    values = X if isinstance(X, np.ndarray) else X.data
    finite = np.isfinite(values)
    if finite.all():
        return
    if isinstance(X, np.ndarray):
        row, column = (int(i) for i in np.unravel_index(np.argmin(finite), X.shape))
        value = X[row, column]
    else:
        entry = int(np.argmin(finite))
        row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
        value = X.data[entry]
    raise DatasetError(f"{place(row, column)} is {value}; features are finite numbers, impute or remove the others")


def as_zero_one(values: NDArray[Any], place: Place, *, missing: bool) -> NDArray[Any]:
    """Labels in {0, 1} or {-1, +1} as int8 in {0, 1}; with NaN, where `missing` allows it, as float64."""
    positive: NDArray[np.bool_] = np.equal(values, 1)
    unknown: NDArray[np.bool_] = np.not_equal(values, values)  # NaN, without a copy as float64
    if unknown.any() and not missing:
        raise DatasetError(f"{place(*_first(unknown))} is missing; every frame needs a label, remove the others")
    zero, minus = np.equal(values, 0), np.equal(values, -1)
    strange = ~(positive | unknown | zero | minus)
    if strange.any():
        where = _first(strange)
        raise DatasetError(f"{place(*where)} is {values[where]:g}; labels are in {{0, 1}} or {{-1, +1}}")
    if zero.any() and minus.any():
        raise DatasetError(
            f"{place(*_first(minus))} is -1 and {place(*_first(zero))} is 0; "
            "labels are in {0, 1} or in {-1, +1}, not in both"
        )
    if not unknown.any():
        return positive.view(np.int8)
    labels: NDArray[Any] = np.where(unknown, np.nan, positive)
    return labels


def require_room(path: Path, rows: int, labels: int, itemsize: int) -> None:
    """Refuse a matrix of labels beyond `MAX_BYTES`, or more of them than `MAX_LABELS`, before it is allocated."""
    if labels > MAX_LABELS or rows * labels * itemsize > MAX_BYTES:
        raise DatasetError(
            f"{path} has {rows} rows and {labels} labels; the limits are {MAX_LABELS} labels and "
            f"{MAX_BYTES // itemsize} label cells, check the largest label id, or keep fewer labels"
        )


def require_width(path: Path, features: int) -> None:
    """Refuse a number of features whose weights, 8 bytes each, take far more room than the file that names them."""
    limit = unpacked_limit(path.stat().st_size) // 8
    if features > limit:
        raise DatasetError(
            f"{path} has {features} features and the limit for a file of its size is {limit}; check its largest "
            "index, or number the features anew"
        )


def refuse_repeats(path: Path, names: Sequence[str], what: str) -> None:
    """Refuse a name that two columns share."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DatasetError(f"{path} has two {what} named {shown(name)}; rename one of them")
        seen.add(name)


def listed(names: Sequence[str], most: int = 6, *, like: str = "") -> str:
    """Names for messages; of many, those that read most like the one that was looked for, the first and the last."""
    if len(names) <= most:
        return ", ".join(map(shown, names))
    near = get_close_matches(like, names[:MAX_COMPARED], most, cutoff=0.5) if like else []
    others = [name for name in names if name not in near]
    last = others[len(others) - (most - len(near)) // 2 :]
    first = [*near, *others[: most - len(near) - len(last)]]
    return f"{', '.join(map(shown, first))}, ...{''.join(f', {shown(name)}' for name in last)} ({len(names)} in all)"


def shown(text: str, most: int = 40) -> str:
    """A text in quotes, for messages; only the start of a long one."""
    return repr(text if len(text) <= most else f"{text[:most]}...")


def reason(error: BaseException) -> str:
    """The first line of what another library says, for messages."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text[:160].rstrip(".")


def is_number(text: str) -> bool:
    """Whether a cell is a number; Python's 1_000 and digits of other scripts are not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii()


def whole(text: str) -> int | None:
    """The whole number a text is, of at most 18 digits; otherwise None."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(np.argmax(mask), mask.shape))
