"""From Dask collections to partitions: arrays and DataFrames, their labels, bags and weights side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.dask.array_or_frame import is_array, is_frame
from setloss.dask.partition import Partition, make_partition


@dataclass(frozen=True, eq=False)
class Partitions:
    """Partitions that are not read yet, and the names of the features where they have any."""

    delayed: list[Any]
    feature_names: list[str] | None = None


def partitions_of(X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Partitions:
    """The partitions of X with what belongs to them.

    X is a dask array or a dask DataFrame; for the last `y`, `groups` and
    `sample_weight` may be names of columns, which are then no features.
    """
    if is_frame(X):
        return _of_frame(X, y, groups, sample_weight)
    if is_array(X):
        return _of_array(X, y, groups, sample_weight)
    raise TypeError(
        f"X is a {type(X).__name__}; setloss.dask takes dask arrays and DataFrames. What is in memory already is for "
        "the estimators of setloss; dask.array.from_array(X, chunks=...) makes a dask array."
    )


def whole_rows(X: Any) -> Any:
    """A two-dimensional dask array with all columns of a row in one block."""
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, rows and features; got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _of_array(X: Any, y: Any, groups: Any, sample_weight: Any) -> Partitions:
    blocks = list(whole_rows(X).to_delayed()[:, 0])
    named = {"y": y, "groups": groups, "sample_weight": sample_weight}
    columns = [_aligned(name, values, X) for name, values in named.items()]
    return Partitions(_delayed_partitions(blocks, columns))


def _aligned(name: str, values: Any, X: Any) -> list[Any] | None:
    """The blocks of a column, cut like the rows of X."""
    import dask.array as da

    if values is None:
        return None
    if isinstance(values, str):
        raise ValueError(f"{name}={values!r} names a column, and a dask array has none; give an array")
    if not is_array(values):
        values = values.values if is_frame(values) or hasattr(values, "to_delayed") else values
        values = values if is_array(values) else da.from_array(np.asarray(values), chunks=-1)
    rows = X.chunks[0]
    unknown = any(np.isnan(size) for size in (*rows, *values.chunks[0]))
    if unknown:
        if values.numblocks[0] != len(rows):
            raise ValueError(
                f"{name} has {values.numblocks[0]} partitions and X {len(rows)}, of unknown lengths; call "
                "compute_chunk_sizes() on both, or give them the same partitions"
            )
    elif values.shape[0] != X.shape[0]:
        raise ValueError(f"{name} has {values.shape[0]} rows and X has {X.shape[0]}")
    elif values.chunks[0] != rows:
        values = values.rechunk({0: rows})
    whole = values if values.ndim == 1 else values.rechunk({1: -1})
    return list(whole.to_delayed().ravel())


def _of_frame(X: Any, y: Any, groups: Any, sample_weight: Any) -> Partitions:
    from dask import delayed

    given = {"y": y, "groups": groups, "sample_weight": sample_weight}
    taken = [column for name, values in given.items() for column in _named(name, values, X)]
    features = [column for column in X.columns if column not in taken]
    if not features:
        raise ValueError("no column is left for the features")
    frames = list(X.to_delayed())
    columns = [_column_blocks(name, values, len(frames)) for name, values in given.items()]
    build = delayed(partition_of_frame, pure=True)
    parts = [
        build(index, frame, features, *rest)
        for index, (frame, *rest) in enumerate(zip(frames, *columns, strict=True))
    ]
    return Partitions(parts, [str(column) for column in features])


def partition_of_frame(index: int, frame: Any, features: list[Any], y: Any, groups: Any, weights: Any) -> Partition:
    """A partition from a DataFrame, whose columns may be named in place of the rest."""
    rest = [frame[column] if isinstance(column, str | list) else column for column in (y, groups, weights)]
    return make_partition(index, frame[features], *rest)


def _named(name: str, values: Any, X: Any) -> list[str]:
    """The columns that are meant where names are given instead of data."""
    if not isinstance(values, str | list):
        return []
    wanted = [values] if isinstance(values, str) else list(values)
    missing = [column for column in wanted if column not in X.columns]
    if missing:
        raise ValueError(f"{name}: there is no column {missing[0]!r}; the columns are {_some(X.columns)}")
    return wanted


def _column_blocks(name: str, values: Any, npartitions: int) -> list[Any]:
    if values is None or isinstance(values, str | list):
        return [values] * npartitions
    if not hasattr(values, "to_delayed"):
        raise TypeError(f"{name} is a {type(values).__name__}; give the name of a column, or a dask Series or array")
    blocks = list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))
    if len(blocks) != npartitions:
        raise ValueError(f"{name} has {len(blocks)} partitions and X has {npartitions}; give both the same ones")
    return blocks


def _delayed_partitions(blocks: list[Any], columns: list[list[Any] | None]) -> list[Any]:
    from dask import delayed

    build = delayed(make_partition, pure=True)
    nothing: list[Any] = [None] * len(blocks)
    together = zip(blocks, *(nothing if column is None else column for column in columns), strict=True)
    return [build(index, *arrays) for index, arrays in enumerate(together)]


def _some(columns: Any) -> str:
    names = [str(column) for column in columns]
    return ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
