"""One partition: whole bags, checked where they lie, and what the driver needs to know of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from setloss.bags import Bags
from setloss.dask.errors import PartitionError
from setloss.estimators.elements import (
    Elements,
    check_features,
    elements_of_frames,
    elements_of_labels,
    squared_norms,
)
from setloss.solvers.problem import digest_of
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


@dataclass(frozen=True, eq=False)
class PartitionReport:
    """What the driver learns of a partition; `squares` and `weight` are sums of weight |x|^2 and of weight."""

    rows: int
    features: int
    labels: int | None
    classes: NDArray[Any]
    bag_ids: NDArray[np.uint64]
    bags: int
    elements: int
    squares: float
    weight: float
    nbytes: int
    digest: str


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


def inspect_partition(source: Any, index: int, kind: Kind, hashed: bool) -> PartitionReport:
    """One pass over a partition before any training; `hashed` asks for a digest of its contents."""
    part: Partition = source.read()
    classes = _classes(index, part.y, kind)
    elements = part.elements(kind, classes[-1] if classes.size else None)
    ids = np.empty(0, dtype=np.uint64)
    if kind == "bags" and part.groups is not None:
        ids = _name_hashes(index, part.groups)
    weights = elements.row_weights(part.X.shape[0])
    return PartitionReport(
        part.X.shape[0],
        part.X.shape[1],
        None if part.y.ndim == 1 else part.y.shape[1],
        classes,
        ids,
        len(elements.bags),
        len(elements.truth),
        float(weights @ squared_norms(part.X)),
        float(weights.sum()),
        part.nbytes,
        _digest(part) if hashed else "",
    )


def name_of_hash(source: Any, index: int, wanted: np.uint64) -> Any:
    """The name of the bag with that hash, or None."""
    part: Partition = source.read()
    if part.groups is None:
        return None
    names = np.unique(part.groups)
    found = np.flatnonzero(_name_hashes(index, names, distinct=True) == wanted)
    return names[found[0]] if len(found) else None


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
    nameless = _missing(groups)
    if nameless.any():
        row = int(np.argmax(nameless))
        raise PartitionError(f"partition {index}, row {row}: the bag has no name; groups must name one for every row")
    return groups


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None or NaN."""
    from pandas import isna

    return np.asarray(isna(values), dtype=bool)


def _classes(index: int, y: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """The distinct labels, NaN left out of label sets."""
    flat = y.ravel()
    missing = _missing(flat)
    if missing.any() and (kind == "bags" or y.ndim == 1):
        raise PartitionError(f"partition {index}, row {int(np.argmax(missing))}: the label is missing")
    flat = flat[~missing]
    try:
        classes = np.unique(flat)
    except TypeError:
        raise PartitionError(f"partition {index}: the labels are of different kinds, numbers and strings") from None
    if len(classes) > 2:
        shown = ", ".join(repr(label) for label in classes[:4].tolist())
        raise PartitionError(f"partition {index}: the labels {shown} are more than two; a label is right or wrong")
    return classes


def _name_hashes(index: int, groups: NDArray[Any], distinct: bool = False) -> NDArray[np.uint64]:
    """64-bit hashes of the distinct names, the same in every process."""
    from pandas.util import hash_array

    try:
        ids = groups if distinct else Bags.from_groups(groups).ids
    except ValueError as error:
        raise PartitionError(f"partition {index}: {error}") from None
    ids = np.asarray(ids)
    plain = ids.astype(object) if ids.dtype.kind in "US" else ids
    return np.asarray(hash_array(plain), dtype=np.uint64)


def _digest(part: Partition) -> str:
    stored = (part.X.data, part.X.indices, part.X.indptr) if issparse(part.X) else (part.X,)
    named = [array for array in (part.y, part.groups) if array is not None]
    plain = [array.astype(str) if array.dtype == object else array for array in named]
    return digest_of(f"{part.X.shape} {sys.byteorder}", *stored, *plain, part.weights)
