"""What partitions report of themselves before training: do they fit together, and what is there to train on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setloss.dask.partition import Partition, PartitionError, missing_values
from setloss.solvers.problem import Design, digest_of


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
    digest: str


def inspect_partition(part: Partition, hashed: bool) -> PartitionReport:
    """One pass over a partition before any training; `hashed` asks for a digest of its contents."""
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
        _digest(part) if hashed else "",
    )


def bag_names(part: Partition) -> NDArray[Any]:
    """The distinct names of the bags; none where every row is one."""
    return np.empty(0) if part.y.ndim == 2 or part.groups is None else np.unique(part.groups)


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels; NaN is a missing one in label sets, and refused elsewhere."""
    flat = y.ravel()
    missing = missing_values(flat)
    if missing.any() and y.ndim == 1:
        raise ValueError(f"row {int(np.argmax(missing))}: the label is missing")
    try:
        classes = np.unique(flat[~missing])
    except TypeError:
        raise ValueError("the labels are of different kinds, numbers and strings") from None
    return classes


def _digest(part: Partition) -> str:
    stored = (part.X.data, part.X.indices, part.X.indptr) if issparse(part.X) else (part.X,)
    named = [array for array in (part.y, part.groups) if array is not None]
    told = [array.astype(str) if array.dtype == object else array for array in named]
    return digest_of(f"{part.X.shape} {sys.byteorder}", *stored, *told, part.weights)


def summarize(reports: Sequence[PartitionReport]) -> tuple[list[int], PartitionReport]:
    """The partitions with a bag of positive weight, and all reports as one; or an error that names what does not fit.

    The digest is that of the partitions used.
    """
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
    digest = "".join(reports[index].digest for index in used)
    return used, replace(first, classes=classes, squares=squares, weight=weight, digest=digest)


def _two_classes(reports: Sequence[PartitionReport]) -> NDArray[Any]:
    seen: list[Any] = []
    for index, report in enumerate(reports):
        seen += [label for label in report.classes.tolist() if label not in seen]
        if len(seen) > 2:
            raise PartitionError(
                f"partition {index} has the label {seen[2]!r}, beside {seen[:2]}; a label is right or wrong, so "
                "there are two"
            )
    if len(seen) < 2:
        only = f", {seen[0]!r}," if seen else ""
        raise ValueError(f"y has only one class{only} in all partitions together; training needs both")
    return np.unique(np.concatenate([report.classes for report in reports if report.classes.size]))


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
