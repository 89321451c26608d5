"""What the readers return (label sets or tracks), their one error, and checks they share."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = np.float64(1e100)
"""Largest size of a feature: sums of squares of such numbers are finite."""


class DatasetError(ValueError):
    """A file that cannot be used; the message names the file and the place and says what to do, in one sentence."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Multi-label data: example i has the features ``X[i]`` and the label set ``{j : Y[i, j] = 1}``.

    `X` (n, d) is a dense or CSR array of floats, NaN where a feature is missing; of a table it is a DataFrame. `Y` is
    an int64 array (n, p) in {0, 1}, float64 with NaN where labels are missing, and a CSR array of int64 where a dense
    one would take more than a gigabyte; it has no columns where the file has no labels. `notes` are columns whose
    labels were not written as 0 and 1, and how they were read; `cell` is the column that held all labels of a row,
    and the sign between them.

    Examples
    --------
    >>> data = LabelSets(np.eye(2), np.array([[1, 0], [1, 1]]), ("length", "age"), ("cat", "dog"))
    >>> [data.label_names[j] for j in np.flatnonzero(data.Y[1])]
    ['cat', 'dog']
    """

    X: Any = field(repr=False)
    Y: Any = field(repr=False)
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    notes: tuple[tuple[str, str], ...] = ()
    cell: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Tracks:
    """Bags of frames: frame e has the features ``X[e]`` and the label ``y[e]``, and lies in the bag ``groups[e]``.

    `X` is as in `LabelSets`. `y` (N,) is an int64 array in {0, 1}, or of class numbers where the loader says so, and
    None where the file has no labels. `groups` (N,) holds integers or strings; the frames of a bag need not be
    adjacent.

    Examples
    --------
    >>> data = Tracks(np.eye(3), np.array([1, 1, 0]), np.array(["a", "a", "b"]), None)
    >>> data.y[data.groups == "a"]
    array([1, 1])
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    groups: Any = field(repr=False)
    feature_names: tuple[str, ...] | None


# ------------------------------------------------------------------ checks


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is there."""
    file = Path(path)
    if not file.is_file():
        raise DatasetError(f"there is no file {file}; check the path")
    return file


def as_zero_one(file: Path, values: Any, names: Sequence[str], *, missing: bool) -> NDArray[Any]:
    """Labels (n, p) in {0, 1} or {-1, +1} as int64 in {0, 1}; with NaN, where `missing` allows it, as float64."""
    unknown = np.isnan(values)
    negative = -1 if np.any(values == -1) else 0
    strange = np.argwhere(~((values == 1) | (values == negative) | (unknown & missing)))
    if len(strange):
        row, j = strange[0].tolist()
        found = "missing" if unknown[row, j] else f"{values[row, j]:g}"
        place = place_of(file, row, names[j])
        raise DatasetError(f"{place} is {found}; labels are in {{0, 1}}, or all in {{-1, +1}}; correct it")
    labels: NDArray[Any] = np.where(unknown, np.nan, values == 1) if unknown.any() else (values == 1).astype(np.int64)
    return labels


def require_names(owner: object, present: Sequence[str], wanted: Iterable[str], role: str) -> list[str]:
    """The wanted names, all of which must be present; `role` says in a message what they were to be."""
    wanted = list(wanted)
    absent = sorted(set(wanted).difference(present))
    if absent:
        like = get_close_matches(absent[0], map(str, present), cutoff=0.5)
        there = listed(list(dict.fromkeys([*like, *map(str, present)])))
        raise DatasetError(f"{owner} lacks {listed(absent)} of {role}; it has {there}")
    return wanted


# ------------------------------------------------------------------ words for messages


def place_of(file: Path, row: int, column: str) -> str:
    """A cell, for messages."""
    return f"row {row + 1}, column {shown(column)} of {file}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names for messages, the first ones of many."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def shown(text: str, most: int = 40) -> str:
    """A text in quotes, for messages; only the start of a long one."""
    return repr(text if len(text) <= most else f"{text[:most]}...")


def reason(error: BaseException) -> str:
    """The first line of what another library says, for messages."""
    try:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
    except (ValueError, TypeError):  # errors of liac-arff are formats, and cells with a % break them
        text = f"{type(error).__name__} {getattr(error, 'message', '')}".strip()
    return text[:160].rstrip(".")
