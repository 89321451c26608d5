"""One partition: whole bags, checked where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from setloss.dask.errors import PartitionError
from setloss.estimators.elements import Elements, check_features, elements_of_frames, elements_of_labels
from setloss.typing import Array

Kind = Literal["bags", "sets"]
"""Bags of frames that share their weights, or label sets."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows, labels, names of the bags (None: every row is one) and weights of one partition."""

    X: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None
    weights: Array

    def elements(self, kind: Kind, positive: Any) -> Elements:
        """The elements of the bags; `positive` is the positive label."""
        if kind == "bags":
            return elements_of_frames(self.y.ravel() == positive, self.groups, self.weights)
        labels = self.y.reshape(len(self.y), -1)
        known = ~np.isnan(labels) if labels.dtype.kind == "f" else np.ones(labels.shape, dtype=bool)
        return elements_of_labels(known & (labels == positive), known, self.weights)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        rows = (
            self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes if issparse(self.X) else self.X.nbytes
        )
        return int(rows + self.y.nbytes + self.weights.nbytes + (0 if self.groups is None else self.groups.nbytes))


@sizeof.register(Partition)  # type: ignore[untyped-decorator]
def _size_of_partition(part: Partition) -> int:
    return part.nbytes


def make_partition(index: int, X: Any, y: Any = None, groups: Any = None, weights: Any = None) -> Partition:
    """The arrays of a partition, refused with its number where they do not fit together or hold bad values.

    Without `y` they are to predict on.
    """
    rows = _features(index, X)
    try:
        check_features(rows)
    except ValueError as error:
        raise PartitionError(f"partition {index}: {error}") from None
    size = rows.shape[0]
    labels = np.zeros(size, dtype=np.int8) if y is None else _column(index, "y", y, size, columns=True)
    names = None if groups is None else _names(index, _column(index, "groups", groups, size))
    given = np.ones(size) if weights is None else _column(index, "sample_weight", weights, size)
    try:
        weight = given.astype(np.float64)
    except (TypeError, ValueError):
        raise PartitionError(f"partition {index}: sample_weight is not numeric") from None
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise PartitionError(f"partition {index}, row {row}: sample_weight is {weight[row]}; give numbers >= 0")
    return Partition(rows, labels, names, weight)


def _features(index: int, X: Any) -> Any:
    if issparse(X):
        rows = csr_array(X)
        rows = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape=rows.shape)
        values = rows.data
    else:
        rows = values = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise PartitionError(
            f"partition {index}: the features are not a numeric matrix; they have shape {rows.shape} and dtype "
            f"{rows.dtype}. Drop or encode columns that are not numbers."
        )
    if values.dtype not in (np.float32, np.float64):
        return rows.astype(np.float64)
    if not np.isfinite(values.sum(dtype=np.float64)) and not np.all(np.isfinite(values)):
        place = np.argmin(np.isfinite(rows.toarray() if issparse(X) else rows))
        row, column = np.unravel_index(int(place), rows.shape)
        raise PartitionError(
            f"partition {index}, row {row}: feature {column} is {'NaN' if np.isnan(values).any() else 'infinite'}. "
            "Fill it or leave the row out."
        )
    return rows if issparse(X) else np.ascontiguousarray(rows)


def _column(index: int, name: str, values: Any, size: int, columns: bool = False) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and (array.shape[1] == 1 and not columns):
        array = array[:, 0]
    if array.ndim not in ((1, 2) if columns else (1,)) or len(array) != size:
        raise PartitionError(
            f"partition {index}: {name} has shape {array.shape} for {size} rows of X; give both the same partitions"
        )
    return array


def _names(index: int, groups: NDArray[Any]) -> NDArray[Any]:
    nameless = missing_values(groups)
    if nameless.any():
        row = int(np.argmax(nameless))
        raise PartitionError(f"partition {index}, row {row}: the bag has no name; groups must name one for every row")
    return groups


def missing_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None or NaN."""
    from pandas import isna

    return np.asarray(isna(values), dtype=bool)
