"""Multi-label svmlight (libsvm) files: ``1,3 4:0.5 7:1 # comment``, one example a line, read by scikit-learn.

The labels of a line are the ids of its label set, separated by commas; a line that starts with a feature has the
empty set. Blank lines, comments and a first line ``examples features labels``, as in the extreme classification
repository, are skipped. Column j of X is feature j of the file, so where features are counted from 1 column 0 is
empty. Labels keep their ids as names, from 0 or 1 to the largest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from setloss.io.data import DatasetError, LabelSets, csr, label_matrix, listed, reason

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
