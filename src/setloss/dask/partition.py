"""One partition: whole bags, checked where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from pandas import isna
from scipy.sparse import csr_array, issparse

from setloss.estimators.elements import Elements
from setloss.estimators.set_layout import GroupedSets, RowSets, SetLayout, bags_named
from setloss.typing import Array

T = TypeVar("T")


class PartitionError(ValueError):
    """The data of a partition cannot be used; the message names it and says what to do."""


def numbered(index: int, task: Callable[..., T], *arguments: Any) -> T:
    """What a task makes of a partition; a `ValueError` becomes a `PartitionError` that names it."""
    try:
        return task(*arguments)
    except PartitionError:
        raise
    except ValueError as error:
        raise PartitionError(f"partition {index}: {error}") from None


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows, labels, names of the bags (None: every row is one) and weights of one partition."""

    X: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None
    weights: Array

    @property
    def sets(self) -> SetLayout:
        """Rows of labels (n, p), or groups of labels (n,)."""
        rows = len(self.y)
        return GroupedSets(bags_named(self.groups, rows)) if self.y.ndim == 1 else RowSets(rows)

    @property
    def _matrix(self) -> NDArray[Any]:
        return self.y[:, None] if self.y.ndim == 1 else self.y

    def elements(self, positive: Any) -> Elements:
        """The elements of the sets; `positive` is the positive label."""
        labels, known = self._matrix, self.known
        return self.sets.elements(known & (labels == positive), known, self.weights)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which labels are known, (n, p)."""
        return ~missing_values(self._matrix)


@sizeof.register(Partition)  # type: ignore[untyped-decorator]
def _size_of_partition(part: Partition) -> int:
    return sum(sizeof(each) for each in (part.X, part.y, part.groups, part.weights))


def make_partition(X: Any, y: Any, groups: Any = None, weights: Any = None, *, check: bool = True) -> Partition:
    """The arrays of a partition, refused where they do not fit together or hold bad values.

    Features are checked unless they have been before.
    """
    rows = matrix_of(X)
    if check:
        _refuse_nonfinite(rows)
    size = rows.shape[0]
    labels = _column("y", y, size, columns=True)
    names = None if groups is None else _column("groups", groups, size)
    if names is not None and (nameless := missing_values(names)).any():
        raise ValueError(f"row {int(np.argmax(nameless))}: groups must name the bag of every row, and here is none")
    given = np.ones(size) if weights is None else _column("sample_weight", weights, size)
    try:
        weight = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight is not numeric") from None
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: sample_weight is {weight[row]}; give numbers >= 0")
    return Partition(rows, labels, names, weight)


def matrix_of(X: Any) -> Any:
    """Features as a matrix of floats, dense in row order or CSR."""
    rows = csr_array(X) if issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"the features are not a numeric matrix; they have shape {rows.shape} and dtype {rows.dtype}. Drop or "
            "encode columns that are not numbers."
        )
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    return rows if issparse(rows) else np.ascontiguousarray(rows)


def _refuse_nonfinite(rows: Any) -> None:
    values = rows.data if issparse(rows) else rows
    if np.isfinite(values.sum(dtype=np.float64)) or np.all(np.isfinite(values)):
        return
    place = np.argmin(np.isfinite(rows.toarray() if issparse(rows) else rows))
    row, column = np.unravel_index(int(place), rows.shape)
    what = "NaN" if np.isnan(values).any() else "infinite"
    raise ValueError(f"row {row}: feature {column} is {what}. Fill it or leave the row out.")


def _column(name: str, values: Any, size: int, columns: bool = False) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1 and not columns:
        array = array[:, 0]
    if array.ndim not in ((1, 2) if columns else (1,)) or len(array) != size:
        raise ValueError(f"{name} has shape {array.shape} for {size} rows of X; give both the same partitions")
    return array


def missing_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None or NaN."""
    return np.asarray(isna(values), dtype=bool)
