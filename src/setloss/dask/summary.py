"""What partitions report of themselves before training: do they fit together, and what is there to train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.dask.engines import Engine
from setloss.dask.errors import PartitionError
from setloss.dask.partition import Kind, PartitionReport, name_of_hash
from setloss.dask.repartition import plain


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
