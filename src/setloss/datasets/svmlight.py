"""Multi-label svmlight (libsvm) files: ``1,3 4:0.5 7:1 # comment``, one example a line.

The labels of a line are the ids of its label set, separated by commas; a line that starts with a feature has the
empty set. Blank lines and comments are skipped. Label ids and feature indices may start with 0 or with 1, each
for itself (files of the LIBSVM site have labels from 0 and features from 1):

- a file with a first line ``examples features labels``, as in the extreme classification repository, starts both
  with 0;
- otherwise they start with 0 if a 0 occurs in the file;
- otherwise they start with 1, unless their number is given and does not occur either: then the file does not tell,
  and neither do we guess. `first_label` and `first_feature` say it.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.datasets.checks import (
    MAX_INDEX,
    existing_file,
    is_number,
    numbered_lines,
    reason,
    require_finite,
    require_room,
    require_width,
    shown,
    whole,
)
from setloss.datasets.data import DatasetError, LabelSets


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    labels: int | None = None,
    features: int | None = None,
    first_label: int | None = None,
    first_feature: int | None = None,
) -> LabelSets:
    """Label sets from a multi-label svmlight file; X is CSR.

    Parameters
    ----------
    path : path
        The file, not compressed.
    labels, features : int, optional
        Their numbers p and d. Give them where files must agree (training and test data); without them they are
        taken from the header, or from the largest id and index.
    first_label, first_feature : 0 or 1, optional
        Where ids and indices start; see the module's docstring for what is assumed without them.
    """
    for option, number in (("labels", labels), ("features", features)):
        if number is not None and number < 1:
            raise DatasetError(f"{option}={number} must be at least 1")
    file = existing_file(path)
    header = _header(file)
    matrix, sets = _parse(file, skip_first=header is not None)
    rows, counts = (None, (None, None)) if header is None else (header[0], header[1:])
    if len(sets) == 0:
        raise DatasetError(f"{file} has no examples; every line is blank or a comment")
    if rows is not None and rows != len(sets):
        raise DatasetError(
            f"{file} has {len(sets)} examples, its first line promises {rows}; the file may be truncated, or have "
            "blank lines for examples without labels and features, which must be written out"
        )
    lines = _Lines(file, header is not None)
    starts = (first_feature, first_label) if header is None else (first_feature or 0, first_label or 0)
    ids = _whole(sets, lines)
    shift, d = _numbering("feature index", lines, matrix.indices, matrix.indptr, features or counts[0], starts[0])
    offsets = np.cumsum([0, *map(len, sets)])
    base, p = _numbering("label id", lines, ids, offsets, labels or counts[1], starts[1])
    if p == 0:
        raise DatasetError(f"{file} has no labels at all; give their number with labels= if that is meant")
    if d == 0:
        raise DatasetError(f"{file} has no features at all; give their number with features= if that is meant")
    require_room(file, len(sets), p, itemsize=1)
    if features is None:
        require_width(file, d)
    elif d > MAX_INDEX:
        raise DatasetError(f"features={d} is too many; the largest number is {MAX_INDEX}")
    X = _shifted(matrix, shift, d)
    require_finite(X, lambda row, column: f"feature {column + shift} in {lines.place(row)}")
    return LabelSets(X, _indicator(sets, ids, base, p), None, tuple(str(j + base) for j in range(p)))


def _header(path: Path) -> Sequence[int] | None:
    """The three numbers of a first line without labels and features, if there is one."""
    for _, line in numbered_lines(path):
        numbers = [whole(word) for word in line.split()]
        known = [number for number in numbers if number is not None]
        if len(numbers) == len(known) == 3:
            if min(known) < 0:
                raise DatasetError(f"line 1 of {path} promises {min(known)} examples, features or labels; correct it")
            return known
        break
    return None


def _parse(path: Path, skip_first: bool) -> tuple[Any, list[tuple[float, ...]]]:
    """Indices as they stand in the file (from 0: shape is the largest + 1), and the label ids of every line."""
    from sklearn.datasets import load_svmlight_file

    try:
        with path.open("rb") as file:
            if file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            if skip_first:
                file.readline()
            matrix, sets = load_svmlight_file(file, multilabel=True, zero_based=True)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None
    except (ValueError, OverflowError, IndexError) as error:
        _find_fault(path, skip_first)
        raise DatasetError(f"{path} is not a multi-label svmlight file: {reason(error)}") from None
    return matrix, sets


class _Lines:
    """Line numbers of examples, found by reading the file again: only for messages."""

    def __init__(self, path: Path, skip_first: bool) -> None:
        self.path, self.skip_first = path, skip_first

    def place(self, example: int) -> str:
        numbers = (number for number, _ in _examples(self.path, self.skip_first))
        return f"line {next(n for i, n in enumerate(numbers) if i == example)} of {self.path}"


def _examples(path: Path, skip_first: bool) -> Any:
    for number, line in numbered_lines(path):
        text = line.partition("#")[0].strip()
        if text and not (skip_first and number == 1):
            yield number, text


def _find_fault(path: Path, skip_first: bool) -> None:
    """Raise for the first line that breaks the format; the fast parser does not say where it stopped."""
    for number, text in _examples(path, skip_first):
        words, place = text.split(), f"line {number} of {path}"
        if ":" not in words[0]:
            for word in words.pop(0).split(","):
                if not is_number(word):
                    raise DatasetError(
                        f"{place} has the label {shown(word)}; labels are ids separated by commas, without blanks"
                    )
        last = -1
        for word in words:
            text, _, value = word.partition(":")
            index = whole(text)
            if text == "qid":
                continue
            if index is None or index < 0 or not is_number(value):
                raise DatasetError(f"{place} has {shown(word)} where index:value is expected, as in 4:0.5")
            if index <= last:
                what = "twice" if index == last else f"after {last}"
                raise DatasetError(f"{place} has feature {index} {what}; indices must increase along a line")
            if index > MAX_INDEX:
                raise DatasetError(f"{place} has feature {index}; the largest index is {MAX_INDEX}")
            last = index


def _whole(sets: Sequence[tuple[float, ...]], lines: _Lines) -> NDArray[np.int64]:
    """The label ids of all lines, one after the other, checked."""
    ids = np.fromiter((i for labels in sets for i in labels), dtype=np.float64)
    if not np.all((ids >= 0) & (ids <= MAX_INDEX) & (ids == np.floor(ids))):
        example, strange = next(
            (k, i) for k, labels in enumerate(sets) for i in labels if not (0 <= i <= MAX_INDEX and i == int(i))
        )
        raise DatasetError(
            f"{lines.place(example)} has the label {strange:g}; labels are the ids (whole numbers from 0 or 1) of a "
            "label set, not values as in files for one binary label"
        )
    for example, labels in enumerate(sets):
        if len(set(labels)) < len(labels):
            raise DatasetError(f"{lines.place(example)} has a label id twice; a label set has every label once")
    return ids.astype(np.int64)


def _numbering(
    what: str,
    lines: _Lines,
    found: NDArray[Any],
    offsets: NDArray[Any],
    number: int | None,
    first: int | None,
) -> tuple[int, int]:
    """Where the numbering starts, and how many there are; example i has ``found[offsets[i]:offsets[i + 1]]``."""
    option = "labels" if what.startswith("label") else "features"
    start = f"first_{option[:-1]}"
    if first not in (None, 0, 1):
        raise DatasetError(f"{start}={first} must be 0 or 1")
    if not found.size:
        return first or 0, number or 0
    low, high = int(found.min()), int(found.max())

    def place(entry: np.intp) -> str:
        return lines.place(int(np.searchsorted(offsets, entry, side="right")) - 1)

    if first == 1 and low == 0:
        raise DatasetError(
            f"{place(found.argmin())} has the {what} 0, so they do not start with 1; leave out {start}="
        )
    if first is None and low > 0 and number is not None and high < number:
        raise DatasetError(
            f"{lines.path} has no {what} 0 and none above {high}, of {number} in all; "
            f"say with {start}= whether they start with 0 or with 1"
        )
    base = min(low, 1) if first is None else first
    if number is not None and high - base >= number:
        raise DatasetError(
            f"{place(found.argmax())} has the {what} {high}, out of range for {number} {option} from {base}; "
            f"check the line or {option}="
        )
    return base, high - base + 1 if number is None else number


def _shifted(matrix: Any, shift: int, d: int) -> Any:
    from scipy.sparse import csr_array

    small = np.int32 if matrix.nnz <= MAX_INDEX else np.int64
    parts = (matrix.data, (matrix.indices - shift).astype(small), matrix.indptr.astype(small))
    return csr_array(parts, shape=(matrix.shape[0], d))


def _indicator(sets: Sequence[tuple[float, ...]], ids: NDArray[np.int64], base: int, p: int) -> NDArray[np.int8]:
    Y = np.zeros((len(sets), p), dtype=np.int8)
    Y[np.repeat(np.arange(len(sets)), [len(labels) for labels in sets]), ids - base] = 1
    return Y
