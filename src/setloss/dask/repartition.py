"""Partitions of whole bags, made from any others."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from setloss.arguments import is_whole_number

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
    if npartitions is not None and not is_whole_number(npartitions, 1):
        raise ValueError(f"npartitions is a whole number, at least 1; got {npartitions!r}")
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
