"""Multi-label svmlight (libsvm) files: ``1,3 4:0.5 7:1 # comment``, one example a line, read by scikit-learn.

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

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, csr, no_infinity, reason

MAX_DENSE = 2**30
"""Most bytes of a dense matrix of labels; a larger one is returned as CSR."""


def read_svmlight(
    file: Path,
    *,
    labels: int | None = None,
    features: int | None = None,
    first_label: int | None = None,
    first_feature: int | None = None,
) -> LabelSets:
    """Label sets from a multi-label svmlight file that is not compressed; X is CSR, and `io.read` says the rest."""
    matrix, sets, header = _parse(file)
    if header is not None:
        features, labels = features or header[1], labels or header[2]
        first_label, first_feature = first_label or 0, first_feature or 0
    ids = np.array([i for members in sets for i in members], dtype=np.float64)
    if not np.all((ids >= 0) & (ids < 2**31) & (ids == np.floor(ids))):
        raise DatasetError(
            f"{file} has a label that is no id; labels are the ids (whole numbers from 0 or 1) of a label set, not "
            "values as in files for one binary label"
        )
    columns, n = ids.astype(np.int64), len(sets)
    shift, d = _numbering(file, "feature", matrix.indices, features, first_feature)
    base, p = _numbering(file, "label", columns, labels, first_label)
    X = csr(matrix.data, matrix.indices - shift, matrix.indptr, (n, d))
    no_infinity(X, lambda row, column: f"feature {column + shift} of example {row + 1} in {file}")
    Y = csr(np.ones_like(columns), columns - base, np.cumsum([0, *map(len, sets)]), (n, p))
    Y.sum_duplicates()
    Y.data[:] = 1
    return LabelSets(X, Y if 8 * n * p > MAX_DENSE else Y.toarray(), None, tuple(str(j + base) for j in range(p)))


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
    header = None if first is None else tuple(int(number) for number in first.groups())
    if len(sets) == 0 or (header is not None and header[0] != len(sets)):
        promised = "" if header is None else f", and its first line promises {header[0]}"
        raise DatasetError(f"{file} has {len(sets)} examples{promised}; the file may be truncated")
    return matrix, sets, header


def _numbering(file: Path, what: str, found: NDArray[Any], number: Any, first: int | None) -> tuple[int, int]:
    """Where the numbering of features or labels starts, and how many there are."""
    if first not in (None, 0, 1):
        raise DatasetError(f"first_{what}={first} is not possible for {file}; it must be 0 or 1")
    if isinstance(number, str) or (number is not None and number < 1):
        raise DatasetError(f"{what}s={number!r} is not possible for {file}; give their number, at least 1")
    if not found.size:
        if number is None:
            raise DatasetError(f"{file} has no {what}s at all; give their number with {what}s= if that is meant")
        return first or 0, number
    low, high = int(found.min()), int(found.max())
    base = min(low, 1) if first is None else first
    if first is None and low > 0 and number is not None and high < number:
        raise DatasetError(
            f"{file} has no {what} 0 and none above {high}, of {number} in all; say with first_{what}= whether they "
            "start with 0 or with 1"
        )
    if low < base or (number is not None and high - base >= number):
        raise DatasetError(
            f"{file} has {what}s from {low} to {high}, out of range for {number or 'some'} {what}s from {base}; "
            f"check {what}s= and first_{what}="
        )
    return base, high - base + 1 if number is None else number
