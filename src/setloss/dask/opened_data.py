"""Data on disk in the form that ``fit`` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from setloss.datasets.data import DatasetError

PARTITION_BYTES = 64_000_000
"""Bytes of X in a partition, about."""


@dataclass(frozen=True, eq=False)
class PartitionedData:
    """What an estimator of `setloss.dask` takes: ``fit(X, y, groups)`` for bags, ``fit(X, y)`` for label sets.

    `y` is None in data to predict on.
    """

    X: Any
    y: Any = None
    groups: Any = None
    feature_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None

    @property
    def targets(self) -> tuple[Any, ...]:
        """What goes beside X."""
        return (self.y,) if self.groups is None else (self.y, self.groups)


def bytes_of_partitions(what: str, at_once: int, asked: int | None) -> int:
    """Bytes of X in a partition, where `at_once` are read together whatever is needed of them."""
    if asked is None:
        return max(PARTITION_BYTES, at_once)
    if at_once > 4 * asked:
        raise DatasetError(
            f"{what} take up to {at_once} bytes and are read whole, which is too much for partitions of {asked} "
            "bytes; write smaller ones, or allow more memory"
        )
    return asked
