"""From Dask collections to partitions: arrays and DataFrames, their labels, bags and weights side by side."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from dask import delayed
from setloss.dask.partition import Partition, make_partition, numbered


def is_frame(data: Any) -> bool:
    """Whether something is a dask DataFrame."""
    return hasattr(data, "to_delayed") and hasattr(data, "columns")


def partitions_of(
    X: Any, y: Any, groups: Any = None, sample_weight: Any = None, features: list[Any] | None = None
) -> tuple[list[Any], list[Any] | None]:
    """One `Delayed` for each `Partition` of X with what belongs to it, and the names of the features if X has any.

    X is a dask array, and the others are arrays; or a DataFrame, and they name columns of it, `y` one or a list.
    Other columns, or those in `features`, are the features.
    """
    given = {"y": y, "groups": groups, "sample_weight": sample_weight}
    if is_frame(X):
        features = _features_beside(X, given) if features is None else features
        # names, so that the columns of a row stay together however the partition is computed
        blocks = [(block, *given.values()) for block in X.to_delayed()]
    else:
        rows = whole_rows(X)
        columns = [_blocks(name, values, rows) for name, values in given.items()]
        blocks, features = list(zip(rows.to_delayed()[:, 0], *columns, strict=True)), None
    make = partial(_partition, features)
    return [delayed(partial(numbered, k, make), pure=False)(*block) for k, block in enumerate(blocks)], features


def _partition(features: list[Any] | None, X: Any, *rest: Any) -> Partition:
    if features is None:
        return make_partition(X, *rest)
    return make_partition(X[features], *(None if name is None else X[name] for name in rest))


def _features_beside(X: Any, given: dict[str, Any]) -> list[Any]:
    """The columns of a DataFrame that are not given as something else."""
    taken = []
    for name, column in given.items():
        named = column if isinstance(column, list) else [] if column is None else [column]
        if not all(isinstance(each, str) and each in X.columns for each in named):
            shown = ", ".join(map(str, X.columns[:10]))
            raise ValueError(f"{name}={column!r}: X is a DataFrame, so give names of its columns: {shown} ...")
        taken += named
    kept = [column for column in X.columns if column not in taken]
    if not kept:
        raise ValueError("no column is left for the features")
    return kept


def whole_rows(X: Any) -> Any:
    """A two-dimensional dask array with all columns of a row in one block."""
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X is a {type(X).__name__}; setloss.dask takes dask arrays and DataFrames. What is in memory is for the "
            "estimators of setloss; dask.array.from_array(X, chunks=...) makes a dask array."
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, rows and features; got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _blocks(name: str, values: Any, X: da.Array) -> Sequence[Any]:
    """The blocks of labels, bags or weights, cut like the rows of X."""
    rows = X.chunks[0]
    if values is None:
        return [None] * len(rows)
    if not isinstance(values, da.Array):
        values = da.from_array(np.asarray(values), chunks=-1)
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


# -------------------------------------------------------------------- partitions of whole bags


ROWS_BYTES = 128_000_000
"""Bytes of X in a partition, about."""


def repartition_by_group(X: Any, groups: Any, npartitions: int | None = None) -> Any:
    """The same rows in partitions that split no bag; a DataFrame has ``shuffle(on=...)`` for that.

    Parameters
    ----------
    X
        A dask array whose frames of one bag follow each other: it is cut between bags.
    groups
        The array that names the bag of each frame.
    npartitions
        How many; by default partitions of about 128 MB.

    Examples
    --------
    >>> X = da.zeros((6, 2), chunks=(2, 2))
    >>> repartition_by_group(X, [1, 1, 1, 1, 2, 2], npartitions=2).chunks
    ((4, 2), (2,))
    """
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a {type(X).__name__}; give a dask array. A DataFrame has shuffle(on=...) for that.")
    names = np.asarray(groups.compute() if hasattr(groups, "compute") else groups)
    if names.shape != X.shape[:1] or not len(names):
        raise ValueError(f"groups must name the bag of each of {X.shape[0]} frames; got shape {names.shape}")
    ends = _bag_ends(names)
    targets = np.linspace(0, len(names), (npartitions or -(-X.nbytes // ROWS_BYTES)) + 1)[1:]
    chosen = np.unique(ends[np.minimum(np.searchsorted(ends, targets), len(ends) - 1)])
    return X.rechunk({0: tuple(np.diff(chosen, prepend=0).tolist()), 1: -1})


def _bag_ends(names: NDArray[Any]) -> NDArray[np.intp]:
    """The ends of runs of one name; a name that comes back later is refused."""
    changes = np.flatnonzero(names[1:] != names[:-1]) + 1
    starts = np.concatenate(([0], changes))
    _, first = np.unique(names[starts], return_index=True)
    if len(first) < len(starts):
        again = starts[np.setdiff1d(np.arange(len(starts)), first)[0]]
        raise ValueError(
            f"the frames of bag {names[again : again + 1].tolist()[0]!r} do not follow each other (it comes back at "
            f"row {again}); sort the rows by bag, or use a DataFrame, which is shuffled"
        )
    return np.append(changes, len(names))
