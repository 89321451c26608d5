"""Files of numbers: NumPy archives (.npz), and multi-label svmlight (libsvm), read by scikit-learn.

An archive has label sets with X and Y, or tracks with X, y and groups:

| key | what |
|---|---|
| ``X`` | features (n, d) |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

An archive to predict on may lack Y, or y. Arrays of Python objects are refused, so nothing in the file can run.

Sparse features go into svmlight files, ``1,3 4:0.5 7:1 # comment``, one example a line. The labels of a line are the
ids of its label set, separated by commas; a line that starts with a feature has the empty set. Blank lines, comments
and a first line ``examples features labels``, as in the extreme classification repository, are skipped. Column j of X
is feature j of the file, so where features are counted from 1 column 0 is empty. Labels keep their ids as names, from
0 or 1 to the largest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, Tracks, as_zero_one, csr, label_matrix, listed, reason

AXES = {"X": "nd", "Y": "np", "y": "n", "groups": "n", "feature_names": "d", "label_names": "p"}
"""The keys that are read, with the axes of their arrays; axes of one letter are of one length."""

TEXT = ("groups", "feature_names", "label_names")


def read_npz(file: Path) -> LabelSets | Tracks:
    """Label sets or tracks from an archive written by `numpy.savez`; the module's docstring lists the keys."""
    arrays = _arrays(file)
    X = arrays["X"] if arrays["X"].dtype in (np.float32, np.float64) else arrays["X"].astype(np.float64)
    features = tuple(arrays["feature_names"].astype(str).tolist()) if "feature_names" in arrays else None
    if "groups" in arrays and "Y" not in arrays:
        y = as_zero_one(file, arrays["y"][:, None], ["y"], missing=False)[:, 0] if "y" in arrays else None
        return Tracks(X, y, arrays["groups"], features)
    if "groups" in arrays or "y" in arrays:
        raise DatasetError(
            f"{file} has the arrays {listed(sorted(arrays))}; label sets have Y (n, p), tracks y (n,) and groups (n,)"
        )
    Y = arrays.get("Y", np.empty((len(X), 0)))
    names = tuple(arrays.get("label_names", np.arange(Y.shape[1])).astype(str).tolist())
    return LabelSets(X, as_zero_one(file, Y, names, missing=True), features, names)


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The known arrays of an archive, of the kind and shape that they must have."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in AXES if name in archive}
            found = list(archive)
    except Exception as error:  # NumPy and zipfile raise almost anything for bytes that they did not write
        raise DatasetError(
            f"{file} is no complete archive of plain arrays: {reason(error)}; write it with numpy.savez"
        ) from None
    if "X" not in arrays:
        raise DatasetError(f"{file} has no X; its arrays are {listed(found)}")
    lengths: dict[str, int] = {}
    for name, array in arrays.items():
        axes, kinds = AXES[name], "biufU" if name in TEXT else "biuf"
        agree = len(axes) == array.ndim and all(
            length == lengths.setdefault(axis, length) for axis, length in zip(axes, array.shape, strict=True)
        )
        if not agree or array.dtype.kind not in kinds or 0 in array.shape:
            raise DatasetError(
                f"{name} in {file} has shape {array.shape}, dtype {array.dtype}; it needs axes ({', '.join(axes)}) "
                f"of the lengths {lengths}, none empty, and {'text or ' * (name in TEXT)}real numbers"
            )
    return arrays


# -------------------------------------------------------------------- svmlight


MAX_ID = 10_000_000
"""Largest id of a label or a feature; with more columns, a model does not fit into memory."""


def read_svmlight(file: Path, *, labels: Sequence[str] | None = None, features: int | None = None) -> LabelSets:
    """Label sets from a multi-label svmlight file that is not compressed; X is CSR, and `io.read` says the rest."""
    if isinstance(labels, int | str):
        raise DatasetError(f"labels={labels!r} does not list label ids; leave it out, or list the ids of {file}")
    matrix, sets, header = _parse(file)
    n, d, p = header or (len(sets), int(matrix.indices.max(initial=-1)) + 1, 0)
    if len(sets) != n or n == 0:
        promised = f", and its first line promises {n}" if header else ""
        raise DatasetError(f"{file} has {len(sets)} examples{promised}; it may be truncated")
    if d > MAX_ID:
        raise DatasetError(
            f"{file} has features up to {d - 1}, and {MAX_ID} is the largest possible; number them anew"
        )
    if d > (features or d):
        raise DatasetError(f"{file} has features up to {d - 1}, out of range for features={features}")
    ids = np.array([label for members in sets for label in members], dtype=np.float64)
    if not np.all((ids >= 0) & (ids < 2**31) & (ids == np.floor(ids))):
        raise DatasetError(
            f"{file} has a label that is no id; labels are the ids (whole numbers from 0 or 1) of a label set, not "
            "values as in files for one binary label"
        )
    numbers = ids.astype(np.int64)
    first, last = (0, p - 1) if header else (int(numbers.min(initial=1)), int(numbers.max(initial=0)))
    if last > MAX_ID:
        raise DatasetError(f"{file} has labels up to {last}, and {MAX_ID} is the largest possible; number them anew")
    names = tuple(map(str, range(first, last + 1) if labels is None else labels))
    place = {name: j for j, name in enumerate(names)}
    columns = [place.get(str(number), -1) for number in numbers.tolist()]
    if -1 in columns:
        raise DatasetError(f"{file} has the label {numbers[columns.index(-1)]}, and its labels are {listed(names)}")
    X = csr(matrix.data, matrix.indices, matrix.indptr, (n, features or d))
    Y = label_matrix(columns, [*map(len, sets)], len(names))
    return LabelSets(X, Y, None, names)


def _parse(file: Path) -> tuple[Any, list[tuple[float, ...]], tuple[int, ...] | None]:
    """Features as they are numbered in the file, the label ids of every line, and the header if there is one."""
    from sklearn.datasets import load_svmlight_file

    try:
        with file.open("rb") as lines:
            first = re.fullmatch(rb"\s*(\d{1,12})\s+(\d{1,12})\s+(\d{1,12})\s*", lines.readline())
            if first is None:
                lines.seek(0)
            matrix, sets = load_svmlight_file(lines, multilabel=True, zero_based=True)
    except (ValueError, OverflowError, IndexError, OSError) as error:
        raise DatasetError(
            f"{file} is not a multi-label svmlight file: {reason(error)}; lines are written as 1,3 4:0.5 7:1"
        ) from None
    return matrix, sets, None if first is None else tuple(int(number) for number in first.groups())
