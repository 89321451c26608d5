"""One partition: whole bags, checked where they lie; and what it reports of itself before training.

The driver sees from the reports whether partitions fit together, and what there is to train on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from pandas import isna
from scipy.sparse import csr_array, issparse

from setloss.estimators.elements import Elements
from setloss.estimators.set_layout import SetLayout
from setloss.solvers.kernel_arrays import Design
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

    def __sizeof__(self) -> int:
        """What Dask takes the partition for when it decides where tasks run: moving large ones is slow."""
        return int(sum(sizeof(each) for each in (self.X, self.y, self.groups, self.weights)))

    @property
    def sets(self) -> SetLayout:
        """Rows of labels (n, p), or groups of labels (n,)."""
        flat = self.y.ndim == 1
        return SetLayout.of(len(self.y), self.groups if flat else None, flat)

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


def make_partition(X: Any, y: Any, groups: Any = None, weights: Any = None) -> Partition:
    """The arrays of a partition, refused where they do not fit together or hold bad values."""
    rows = _features(X)
    size = rows.shape[0]
    labels = _column("y", y, size, (1, 2))
    names = None if groups is None else _column("groups", groups, size)
    if names is not None:
        _refuse(missing_values(names), "groups must name the bag of every row, and here is none")
    weight = np.ones(size) if weights is None else _column("sample_weight", weights, size).astype(np.float64)
    _refuse(~(np.isfinite(weight) & (weight >= 0)), "sample_weight is no number >= 0")
    return Partition(rows, labels, names, weight)


def _refuse(rows: NDArray[np.bool_], why: str) -> None:
    if rows.any():
        raise ValueError(f"row {int(np.argmax(rows))}: {why}")


def _features(X: Any) -> Any:
    """Features as a matrix of finite floats, dense in row order or CSR."""
    rows: Any = csr_array(X) if issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"the features are not a numeric matrix; they have shape {rows.shape} and dtype {rows.dtype}. Drop or "
            "encode columns that are not numbers."
        )
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    finite = np.isfinite(rows.data if issparse(rows) else rows)
    if not finite.all():
        row, column = np.argwhere(~np.isfinite(rows.toarray() if issparse(rows) else rows))[0]
        raise ValueError(f"row {row}: feature {column} is NaN or infinite. Fill it or leave the row out.")
    return rows if issparse(rows) else np.ascontiguousarray(rows)


def _column(name: str, values: Any, size: int, axes: tuple[int, ...] = (1,)) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim not in axes or len(array) != size:
        raise ValueError(f"{name} has shape {array.shape} for {size} rows of X; give both the same partitions")
    return array


def missing_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None or NaN."""
    return np.asarray(isna(values), dtype=bool)


# -------------------------------------------------------------------- reports


@dataclass(frozen=True, eq=False)
class PartitionReport:
    """What the driver learns of a partition; `squares` and `weight` are sums of weight |x|^2 and of weight."""

    features: int
    labels: int | None
    classes: NDArray[Any]
    names: NDArray[Any]
    bags: int
    squares: float
    weight: float


def inspect_partition(part: Partition) -> PartitionReport:
    """One pass over a partition before any training."""
    classes = _classes(part.y)
    elements = part.elements(classes[-1] if classes.size else None)
    weights = elements.row_weights(part.X.shape[0])
    return PartitionReport(
        part.X.shape[1],
        None if part.y.ndim == 1 else part.y.shape[1],
        classes,
        bag_names(part),
        len(elements.bags),
        float(weights @ Design.of(part.X).squared_norms()),
        float(weights.sum()),
    )


def bag_names(part: Partition) -> NDArray[Any]:
    """The distinct names of the bags; none where every row is one."""
    return np.empty(0) if part.y.ndim == 2 or part.groups is None else np.unique(part.groups)


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels; NaN is a missing one in label sets, and refused elsewhere."""
    missing = missing_values(y)
    if y.ndim == 1:
        _refuse(missing, "the label is missing")
    try:
        return np.asarray(np.unique(y[~missing]))
    except TypeError:
        raise ValueError("the labels are of different kinds, numbers and strings") from None


def summarize(reports: Sequence[PartitionReport]) -> tuple[list[int], PartitionReport]:
    """The partitions with a bag of positive weight, and all reports as one; or an error that says what fails."""
    used = [index for index, report in enumerate(reports) if report.bags]
    if not used:
        raise ValueError("no bag has a positive weight and a known label; there is nothing to train on")
    first = reports[0]
    for index, report in enumerate(reports):
        for what in ("features", "labels"):
            here, there = getattr(report, what) or 1, getattr(first, what) or 1
            if here != there:
                raise PartitionError(
                    f"partition {index} has {here} {what} and partition 0 has {there}; give all partitions the same"
                )
    classes = _two_classes(reports)
    if (first.labels or 1) > 1 and classes.tolist() not in ([0, 1], [-1, 1]):
        raise ValueError(f"label sets hold 0 and 1, or -1 and +1, and NaN for a missing one; got {classes.tolist()}")
    refuse_split_bags([report.names for report in reports])
    squares, weight = sum(report.squares for report in reports), sum(report.weight for report in reports)
    return used, replace(first, classes=classes, squares=squares, weight=weight)


def _two_classes(reports: Sequence[PartitionReport]) -> NDArray[Any]:
    classes: set[Any] = set()
    for index, report in enumerate(reports):
        classes |= set(report.classes.tolist())
        if len(classes) > 2:
            raise PartitionError(
                f"with partition {index} there are more than two labels, {sorted(classes)[:4]}; a label is right or "
                "wrong, so there are two"
            )
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {list(classes)}, in all partitions together; training needs both")
    return np.unique(np.array(list(classes)))


def refuse_split_bags(names: Sequence[NDArray[Any]]) -> None:
    """Refuse a bag with frames in two partitions."""
    homes: dict[Any, int] = {}
    for index, here in enumerate(names):
        for name in here.tolist():
            if homes.setdefault(name, index) != index:
                raise PartitionError(
                    f"the bag {name!r} has frames in partitions {homes[name]} and {index}; a bag must lie in one. "
                    "setloss.dask.repartition_by_group sees to that for arrays, shuffle(on=...) for DataFrames."
                )
