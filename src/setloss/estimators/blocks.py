"""Dask arrays, block by block. They bring their own methods, so that Dask is not imported here.

A fit draws the rows it needs; decisions are lazy, and hold one block of rows in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    n = int(scores.shape[0])
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, most), replace=False))
    parts: list[Any] = []
    for name, values in (("scores", scores), ("y", y), ("sample_weight", weights)):
        if values is not None and np.shape(values)[:1] != (n,):
            raise ValueError(f"{name} have {np.shape(values)[0]} rows, scores have {n}")
        part: Any = None if values is None else values[rows] if hasattr(values, "shape") else np.asarray(values)[rows]
        parts.append(part.compute() if is_lazy(part) else part)
    return parts[0], parts[1], parts[2]


def by_block(method: Any, scores: Any, dtype: Any, *, of_sets: bool = False) -> NDArray[Any]:
    """A lazy array of what a method says of each block of scores (n, p): (n, p), or (n,) if it is `of_sets`."""
    meta = np.empty((0,) if of_sets else (0, 0), dtype=dtype)
    options = {"drop_axis": 1} if of_sets else {}
    lazy: NDArray[Any] = scores.rechunk({1: -1}).map_blocks(
        _said, method=method, empty=meta, dtype=dtype, meta=meta, **options
    )
    return lazy


def _said(block: NDArray[Any], *, method: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    """A filter may leave a block without rows."""
    return method(block) if len(block) else np.zeros((0, *block.shape[1 : empty.ndim]), empty.dtype)
