"""From Dask collections to partitions: arrays and DataFrames, their labels, bags and weights side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dask import delayed
from setloss.dask.partition import Partition, make_partition, numbered


@dataclass(frozen=True, eq=False)
class LazyPartitions:
    """Blocks of X, y, groups and weights for each partition, and the names of the features where they have any."""

    blocks: Sequence[tuple[Any, ...]]
    features: list[Any] | None = None

    def delayed(self, *, check: bool = True) -> list[Any]:
        """One `Delayed` for each `Partition`."""
        make = partial(make_partition, check=check)
        if self.features is not None:
            make = partial(_split_frame, make, self.features)
        return [
            delayed(partial(numbered, index, make), pure=False)(*arrays) for index, arrays in enumerate(self.blocks)
        ]


def _split_frame(
    make: Callable[..., Partition], features: list[Any], frame: Any, y: Any, groups: Any, weights: Any
) -> Partition:
    """A partition from a DataFrame; names stand for its columns."""
    rest = [frame[column] if isinstance(column, str | list) else column for column in (y, groups, weights)]
    return make(frame[features], *rest)


def is_frame(data: Any) -> bool:
    """Whether something is a dask DataFrame."""
    return hasattr(data, "to_delayed") and hasattr(data, "columns") and hasattr(data, "npartitions")


def is_array(data: Any) -> bool:
    """Whether something is a dask array."""
    import dask.array as da

    return isinstance(data, da.Array)


def partitions_of(X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> LazyPartitions:
    """The partitions of X with what belongs to them.

    X is a dask array or DataFrame; for a DataFrame `y`, `groups` and `sample_weight` may be names of columns, which
    are then no features.
    """
    given = {"y": y, "groups": groups, "sample_weight": sample_weight}
    if is_frame(X):
        taken = [column for name, values in given.items() for column in _named(name, values, X)]
        features = [column for column in X.columns if column not in taken]
        if not features:
            raise ValueError("no column is left for the features")
        columns = [_frame_blocks(name, values, X) for name, values in given.items()]
        return LazyPartitions(list(zip(X.to_delayed(), *columns, strict=True)), features)
    if not is_array(X):
        raise TypeError(
            f"X is a {type(X).__name__}; setloss.dask takes dask arrays and DataFrames. What is in memory already is "
            "for the estimators of setloss; dask.array.from_array(X, chunks=...) makes a dask array."
        )
    columns = [_array_blocks(name, values, X) for name, values in given.items()]
    return LazyPartitions(list(zip(whole_rows(X).to_delayed()[:, 0], *columns, strict=True)))


def whole_rows(X: Any) -> Any:
    """A two-dimensional dask array with all columns of a row in one block."""
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, rows and features; got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _array_blocks(name: str, values: Any, X: Any) -> Sequence[Any]:
    """The blocks of a column, cut like the rows of X."""
    import dask.array as da

    rows = X.chunks[0]
    if values is None:
        return [None] * len(rows)
    if isinstance(values, str):
        raise ValueError(f"{name}={values!r} names a column, and a dask array has none; give an array")
    if not is_array(values):
        values = values.values if hasattr(values, "to_delayed") else da.from_array(np.asarray(values), chunks=-1)
    if any(np.isnan(size) for size in (*rows, *values.chunks[0])):
        if values.numblocks[0] != len(rows):
            raise ValueError(
                f"{name} has {values.numblocks[0]} partitions and X {len(rows)}, of unknown lengths; call "
                "compute_chunk_sizes() on both, or give them the same partitions"
            )
    elif values.shape[0] != X.shape[0]:
        raise ValueError(f"{name} has {values.shape[0]} rows and X has {X.shape[0]}")
    else:
        values = values.rechunk({0: rows})
    return list((values if values.ndim == 1 else values.rechunk({1: -1})).to_delayed().ravel())


def _named(name: str, values: Any, X: Any) -> list[str]:
    """The columns that are meant where names are given instead of data."""
    if not isinstance(values, str | list):
        return []
    wanted = [values] if isinstance(values, str) else list(values)
    missing = [column for column in wanted if column not in X.columns]
    if missing:
        shown = ", ".join(map(str, X.columns[:10]))
        raise ValueError(f"{name}: there is no column {missing[0]!r} among {shown}{' ...' * (len(X.columns) > 10)}")
    return wanted


def _frame_blocks(name: str, values: Any, X: Any) -> Sequence[Any]:
    """The name of a column for each partition, or blocks of another collection with the same partitions."""
    if values is None or isinstance(values, str | list):
        return [values] * X.npartitions
    if not hasattr(values, "to_delayed"):
        raise TypeError(f"{name} is a {type(values).__name__}; give the name of a column, or a dask Series or array")
    blocks = list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))
    if len(blocks) != X.npartitions:
        raise ValueError(f"{name} has {len(blocks)} partitions and X has {X.npartitions}; give both the same ones")
    return blocks
