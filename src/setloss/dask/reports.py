"""What partitions report of themselves before training: do they fit together, and what is there to train on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setloss.bags import Bags
from setloss.dask.engines import Engine
from setloss.dask.errors import PartitionError
from setloss.dask.partition import Kind, Partition, missing_values
from setloss.dask.repartition import plain
from setloss.estimators.elements import squared_norms
from setloss.solvers.problem import digest_of

# ---------------------------------------------------------------- of one partition


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


def _classes(index: int, y: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """The distinct labels, NaN left out of label sets."""
    flat = y.ravel()
    missing = missing_values(flat)
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
    named = ids.astype(object) if ids.dtype.kind in "US" else ids
    return np.asarray(hash_array(named), dtype=np.uint64)


def _digest(part: Partition) -> str:
    stored = (part.X.data, part.X.indices, part.X.indptr) if issparse(part.X) else (part.X,)
    named = [array for array in (part.y, part.groups) if array is not None]
    told = [array.astype(str) if array.dtype == object else array for array in named]
    return digest_of(f"{part.X.shape} {sys.byteorder}", *stored, *told, part.weights)


# ---------------------------------------------------------------- of all together


@dataclass(frozen=True, eq=False)
class Summary:
    """All partitions together; `norm` is the root mean squared norm of the rows, weighted by their bags."""

    features: int
    labels: int | None
    classes: NDArray[Any]
    bags: int
    elements: int
    norm: float
    largest: int
    digests: tuple[str, ...]


def summarize(
    engine: Engine, kind: Kind, reports: Sequence[PartitionReport], classes: NDArray[Any] | None = None
) -> Summary:
    """All reports as one; partitions without a bag of positive weight are left out from here on.

    With `classes` of a model the labels must be among them; without, there must be two.
    """
    used = [index for index, report in enumerate(reports) if report.bags]
    if not used:
        raise ValueError("no bag has a positive weight and a known label; there is nothing to train on")
    _same_widths(reports)
    if classes is None:
        classes = _two_classes(reports)
    else:
        _among(classes, reports)
    if reports[used[0]].labels is not None and reports[used[0]].labels != 1 and not set(classes.tolist()) <= {0, 1}:
        raise ValueError(f"label sets hold 0 and 1 (NaN where a label is missing); got {classes.tolist()}")
    if kind == "bags":
        _whole_bags(engine, reports)
    if len(used) < len(reports):
        engine.keep(used)
    kept = [reports[index] for index in used]
    norm = float(np.sqrt(sum(report.squares for report in kept) / sum(report.weight for report in kept)))
    return Summary(
        kept[0].features,
        kept[0].labels,
        classes,
        sum(report.bags for report in kept),
        sum(report.elements for report in kept),
        norm or 1.0,
        max(report.nbytes for report in kept),
        tuple(report.digest for report in kept),
    )


def _same_widths(reports: Sequence[PartitionReport]) -> None:
    first = reports[0]
    for index, report in enumerate(reports):
        if report.features != first.features:
            raise PartitionError(
                f"partition {index} has {report.features} features and partition 0 has {first.features}; give all "
                "partitions the same columns"
            )
        if report.labels != first.labels:
            raise PartitionError(
                f"partition {index} has {report.labels or 1} labels and partition 0 has {first.labels or 1}; give "
                "all partitions the same labels"
            )


def _two_classes(reports: Sequence[PartitionReport]) -> NDArray[Any]:
    seen: NDArray[Any] | None = None
    for index, report in enumerate(reports):
        if report.classes.size == 0:
            continue
        together = report.classes if seen is None else np.unique(np.concatenate([seen, report.classes]))
        if len(together) > 2:
            known = set(seen.tolist()) if seen is not None else set()
            strange = next(label for label in report.classes.tolist() if label not in known)
            raise PartitionError(
                f"partition {index} has the label {strange!r}, and those before it {sorted(known)}; a label is right "
                "or wrong, so there are two"
            )
        seen = together
    if seen is None or len(seen) < 2:
        only = "none" if seen is None else repr(plain(seen[0]))
        raise ValueError(f"y has only one class, {only}, in all partitions together; training needs both")
    return seen


def _among(classes: NDArray[Any], reports: Sequence[PartitionReport]) -> None:
    for index, report in enumerate(reports):
        for label in report.classes.tolist():
            if label not in classes.tolist():
                raise PartitionError(
                    f"partition {index} has the label {label!r}; the classes of the model are {classes.tolist()}"
                )


def _whole_bags(engine: Engine, reports: Sequence[PartitionReport]) -> None:
    """Refuse a bag with frames in two partitions."""
    ids = np.concatenate([report.bag_ids for report in reports])
    owners = np.repeat(np.arange(len(reports)), [len(report.bag_ids) for report in reports])
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(twice) == 0:
        return
    first, second = sorted(owners[order[twice[0] : twice[0] + 2]].tolist())
    name = next(name for name in engine.each(name_of_hash, ids[order[twice[0]]]) if name is not None)
    raise PartitionError(
        f"the bag {plain(name)!r} has frames in partitions {first} and {second} ({len(twice)} bags are split like "
        "this); a bag must lie in one partition. setloss.dask.repartition_by_group sees to that."
    )
