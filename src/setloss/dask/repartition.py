"""Partitions of whole bags, made from any others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.arguments import is_whole_number
from setloss.dask.array_or_frame import is_array, is_frame

ROWS_BYTES = 128_000_000
"""Partitions of arrays aim at so many bytes of X."""


def repartition_by_group(X: Any, *columns: Any, groups: Any, npartitions: int | None = None) -> Any:
    """The same data in partitions that split no bag.

    Parameters
    ----------
    X
        A dask DataFrame; it is shuffled by the column `groups`, and comes back as a DataFrame. Or a dask array whose
        frames of one bag follow each other: it is cut between bags.
    columns
        For an array, what goes with it (labels, weights): arrays cut at the same places.
    groups
        Name of the column, or the array that names the bag of each frame.
    npartitions
        How many; by default as many as before for a DataFrame, and of about 128 MB for an array.

    Returns
    -------
    The DataFrame; or the arrays X, columns... and groups, as a tuple.
    """
    if npartitions is not None and not is_whole_number(npartitions, 1):
        raise ValueError(f"npartitions is a whole number, at least 1; got {npartitions!r}")
    if is_frame(X):
        if columns or not _names_column(groups, X):
            raise ValueError(
                "a DataFrame brings its own columns: give groups= as the name of one of them, nothing else"
            )
        return X.shuffle(on=groups, npartitions=npartitions or X.npartitions)
    if not is_array(X):
        raise TypeError(f"X is a {type(X).__name__}; give a dask array or DataFrame")
    names = np.asarray(groups.compute() if hasattr(groups, "compute") else groups)
    if names.shape != X.shape[:1]:
        raise ValueError(f"groups must name the bag of each of {X.shape[0]} frames; got shape {names.shape}")
    if npartitions is None:
        npartitions = -(-X.nbytes // ROWS_BYTES)
    chunks = whole_bag_chunks(names, npartitions)
    return tuple(_cut(array, chunks) for array in (X, *columns, names))


def _names_column(groups: object, X: Any) -> bool:
    return isinstance(groups, str) and groups in X.columns


def whole_bag_chunks(names: NDArray[Any], npartitions: int) -> tuple[int, ...]:
    """Lengths of about equal partitions that end where bags end; frames of a bag must follow each other."""
    return chunks_between(bag_ends(names), npartitions)


def chunks_between(ends: NDArray[np.intp], npartitions: int) -> tuple[int, ...]:
    """Lengths of partitions that end at some of the ends."""
    return tuple(int(length) for length in np.diff(ends_of_partitions(ends, npartitions), prepend=0))


def ends_of_partitions(ends: NDArray[np.intp], npartitions: int) -> NDArray[np.intp]:
    """Some of the ends of bags, that many of them if possible, at about equal distances."""
    targets = np.linspace(0, ends[-1], max(int(npartitions), 1) + 1)[1:]
    return np.unique(ends[np.minimum(np.searchsorted(ends, targets), len(ends) - 1)])


def bag_ends(names: NDArray[Any]) -> NDArray[np.intp]:
    """Where each run of one name ends; a name that comes back later is refused."""
    if len(names) == 0:
        raise ValueError("there is no frame")
    changes = np.flatnonzero(names[1:] != names[:-1]) + 1
    starts = np.concatenate(([0], changes))
    runs = names[starts]
    again = first_repeat(runs)
    if again is not None:
        raise ValueError(
            f"the frames of bag {plain(runs[again])!r} do not follow each other (it comes back at row "
            f"{starts[again]}); sort the rows by bag, or use a DataFrame, which is shuffled"
        )
    return np.append(changes, len(names))


def plain(name: Any) -> Any:
    """A name as Python writes it."""
    return name.item() if isinstance(name, np.generic) else name


def first_repeat(names: NDArray[Any]) -> int | None:
    """The place of a name that was there before, or None."""
    _, first = np.unique(names, return_index=True)
    return None if len(first) == len(names) else int(np.setdiff1d(np.arange(len(names)), first)[0])


def _cut(array: Any, chunks: tuple[int, ...]) -> Any:
    import dask.array as da

    whole = array if is_array(array) else da.from_array(np.asarray(array), chunks=-1)
    if whole.shape[0] != sum(chunks):
        raise ValueError(f"an array has {whole.shape[0]} rows and groups {sum(chunks)}")
    return whole.rechunk({0: chunks, **dict.fromkeys(range(1, whole.ndim), -1)})
