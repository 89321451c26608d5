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
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from setloss.estimators.features import checked_features
from setloss.estimators.labels import as_array
from setloss.estimators.set_layout import Elements, SetLayout
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
    """Rows, labels (n, p), sets (rows, or groups of labels (n, 1)) and weights of one partition."""

    X: Any
    y: NDArray[Any]
    sets: SetLayout
    weights: Array

    def __sizeof__(self) -> int:
        """What Dask takes the partition for when it decides where tasks run: moving large ones is slow."""
        return int(sum(sizeof(each) for each in (self.X, self.y, self.sets.numbers, self.weights)))

    def elements(self, positive: Any) -> Elements:
        """The elements of the sets; `positive` is the positive label."""
        known = self.known
        return self.sets.elements(known & (self.y == positive), known, self.weights)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which labels are known, (n, p)."""
        return ~np.asarray(isna(self.y), dtype=bool)

    @property
    def names(self) -> NDArray[Any]:
        """The distinct names of the groups; none where every row is a set."""
        ids = None if self.sets.named is None else self.sets.named.ids
        return np.empty(0) if ids is None else ids


def make_partition(X: Any, y: Any, groups: Any = None, weights: Any = None) -> Partition:
    """The arrays of a partition, refused where they do not fit together or hold bad values."""
    rows = checked_features(BaseEstimator(), X, reset=True, ensure_all_finite=False, ensure_min_samples=0)
    size, labels = rows.shape[0], as_array(y)
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        row, column = np.argwhere(~np.isfinite(rows.toarray() if issparse(rows) else rows))[0]
        raise ValueError(f"row {row}: feature {column} is NaN or infinite. Fill it or leave the row out.")
    weights = np.ones(size) if weights is None else np.asarray(weights, dtype=np.float64)
    for name, values in (("y", labels), ("sample_weight", weights)):
        if values.shape[:1] != (size,):
            raise ValueError(f"{name} has shape {values.shape} for {size} rows of X; give both the same partitions")
    flat = labels.ndim == 1
    sets = SetLayout.of(size, groups if flat else None, flat)
    part = Partition(rows, labels[:, None] if flat else labels, sets, weights)
    for bad, why in (
        (~(np.isfinite(weights) & (weights >= 0)), "sample_weight is no number >= 0"),
        (flat & ~part.known.all(axis=1), "the label is missing"),
    ):
        if bad.any():
            raise ValueError(f"row {int(np.argmax(bad))}: {why}")
    return part


# -------------------------------------------------------------------- reports


@dataclass(frozen=True, eq=False)
class PartitionReport:
    """What the driver learns of a partition; `squares` and `weight` are sums of weight |x|^2 and of weight."""

    features: int
    labels: int
    classes: NDArray[Any]
    names: NDArray[Any]
    bags: int
    squares: float
    weight: float


def inspect_partition(part: Partition) -> PartitionReport:
    """One pass over a partition before any training."""
    try:
        classes = np.unique(part.y[part.known])
    except TypeError:
        raise ValueError("the labels are of different kinds, numbers and strings") from None
    elements = part.elements(classes[-1] if classes.size else None)
    weights = elements.row_weights(part.X.shape[0])
    squares = float(weights @ Design.of(part.X).squared_norms())
    sizes = part.X.shape[1], part.y.shape[1]
    return PartitionReport(*sizes, classes, part.names, len(elements.bags), squares, float(weights.sum()))


def summarize(reports: Sequence[PartitionReport]) -> tuple[list[int], PartitionReport]:
    """The partitions with a bag of positive weight, and all reports as one; or an error that says what fails."""
    used = [index for index, report in enumerate(reports) if report.bags]
    if not used:
        raise ValueError("no bag has a positive weight and a known label; there is nothing to train on")
    first = reports[0]
    for index, report in enumerate(reports):
        if (report.features, report.labels) != (first.features, first.labels):
            raise PartitionError(
                f"partition {index} has {report.features} features and {report.labels} labels, partition 0 has "
                f"{first.features} and {first.labels}; give all partitions the same"
            )
    classes = _two_classes(reports)
    if first.labels > 1 and classes.tolist() not in ([0, 1], [-1, 1]):
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
