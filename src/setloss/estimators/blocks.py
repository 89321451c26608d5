"""Dask arrays, block by block. They bring their own methods, so that Dask is not imported here.

A fit draws the rows it needs; decisions are lazy, and hold one block of rows in memory at a time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length


def is_lazy(values: Any) -> bool:
    """Whether values are a Dask array, or another that is computed block by block."""
    return hasattr(values, "map_blocks") and hasattr(values, "rechunk")


def refuse_lazy_groups(groups: Any, flat: bool) -> None:
    """Refuse groups beside a Dask array."""
    if flat or groups is not None:
        raise ValueError("a Dask array has one set in each row, and y is (n, p); groups need NumPy arrays")


def drawn(most: int, scores: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The same rows of lazy scores, of labels and of weights, at most so many, at random."""
    if np.isnan(scores.shape[0]):
        raise ValueError("scores are a Dask array of unknown length; call scores.compute_chunk_sizes() first")
    check_consistent_length(scores, y, weights)
    n = int(scores.shape[0])
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, most), replace=False))

    def some(values: Any) -> Any:
        return values[rows].compute() if is_lazy(values) else _safe_indexing(values, rows)

    return some(scores), some(y), None if weights is None else some(weights)


def by_block(method: Callable[[Any], NDArray[Any]], rows: Any, empty: NDArray[Any]) -> NDArray[Any]:
    """A lazy array of what a method says of each block of rows; `empty` is what it says of none."""
    whole = rows.rechunk({1: -1})
    options = {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (whole.chunks[0], empty.shape[1:])}
    lazy: NDArray[Any] = whole.map_blocks(_said, method=method, empty=empty, dtype=empty.dtype, meta=empty, **options)
    return lazy


def _said(block: NDArray[Any], *, method: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return method(block) if block.shape[0] else empty
