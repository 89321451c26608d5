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
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, reason, require_no_infinity, with_small_indices

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
    for option, number in (("labels", labels), ("features", features)):
        if number is not None and number < 1:
            raise DatasetError(f"{option}={number!r} is not possible for {file}; give their number, at least 1")
    matrix, sets, header = _parse(file)
    if header is not None:
        if header[0] != len(sets):
            raise DatasetError(
                f"{file} has {len(sets)} examples, its first line promises {header[0]}; the file may be truncated"
            )
        features, labels = features or header[1], labels or header[2]
        first_label, first_feature = first_label or 0, first_feature or 0
    ids = np.array([i for members in sets for i in members], dtype=np.float64)
    if not np.all((ids >= 0) & (ids < 2**31) & (ids == np.floor(ids))):
        raise DatasetError(
            f"{file} has a label that is no id; labels are the ids (whole numbers from 0 or 1) of a label set, not "
            "values as in files for one binary label"
        )
    shift, d = _numbering(file, "feature", matrix.indices, features, first_feature)
    base, p = _numbering(file, "label", ids.astype(np.int64), labels, first_label)
    X = _shifted(matrix, shift, d)
    require_no_infinity(X, lambda row, column: f"feature {column + shift} of example {row + 1} in {file}")
    return LabelSets(X, _label_matrix(sets, ids, base, p), None, tuple(str(j + base) for j in range(p)))


def _parse(file: Path) -> tuple[Any, list[tuple[float, ...]], tuple[int, ...] | None]:
    """Features as they are numbered in the file, the label ids of every line, and the header if there is one."""
    from sklearn.datasets import load_svmlight_file

    try:
        with file.open("rb") as lines:
            first = lines.readline().removeprefix(BOM_UTF8)
            is_header = re.fullmatch(rb"\s*\d{1,12}\s+\d{1,12}\s+\d{1,12}\s*", first) is not None
            if not is_header:
                lines.seek(len(BOM_UTF8) if lines.seek(0) == 0 and lines.read(3) == BOM_UTF8 else 0)
            matrix, sets = load_svmlight_file(lines, multilabel=True, zero_based=True)
    except (ValueError, OverflowError, IndexError, OSError) as error:
        raise DatasetError(
            f"{file} is not a multi-label svmlight file: {reason(error)}; lines are written as 1,3 4:0.5 7:1"
        ) from None
    if len(sets) == 0:
        raise DatasetError(f"{file} has no examples; every line is blank or a comment")
    return matrix, sets, tuple(int(number) for number in first.split()) if is_header else None


def _numbering(file: Path, what: str, found: NDArray[Any], number: int | None, first: int | None) -> tuple[int, int]:
    """Where the numbering of features or labels starts, and how many there are."""
    if first not in (None, 0, 1):
        raise DatasetError(f"first_{what}={first} is not possible for {file}; it must be 0 or 1")
    if not found.size:
        if number is None:
            raise DatasetError(f"{file} has no {what}s at all; give their number with {what}s= if that is meant")
        return first or 0, number
    low, high = int(found.min()), int(found.max())
    if first == 1 and low == 0:
        raise DatasetError(f"{file} has the {what} 0, so they do not start with 1; leave out first_{what}=")
    if first is None and low > 0 and number is not None and high < number:
        raise DatasetError(
            f"{file} has no {what} 0 and none above {high}, of {number} in all; say with first_{what}= whether they "
            "start with 0 or with 1"
        )
    base = min(low, 1) if first is None else first
    if number is not None and high - base >= number:
        raise DatasetError(
            f"{file} has the {what} {high}, out of range for {number} {what}s from {base}; check it or {what}s="
        )
    return base, high - base + 1 if number is None else number


def _shifted(matrix: Any, shift: int, d: int) -> Any:
    from scipy.sparse import csr_array

    return with_small_indices(csr_array((matrix.data, matrix.indices - shift, matrix.indptr), (matrix.shape[0], d)))


def _label_matrix(sets: list[tuple[float, ...]], ids: NDArray[np.float64], base: int, p: int) -> Any:
    from scipy.sparse import csr_array

    offsets = np.cumsum([0, *map(len, sets)])
    columns = ids.astype(np.int64) - base
    Y = csr_array((np.ones(len(columns), dtype=np.int64), columns, offsets), shape=(len(sets), p))
    Y.sum_duplicates()
    Y.data[:] = 1
    return with_small_indices(Y) if 8 * len(sets) * p > MAX_DENSE else Y.toarray()
