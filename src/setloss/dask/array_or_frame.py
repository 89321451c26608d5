"""Telling Dask collections apart."""

from __future__ import annotations

from typing import Any


def is_frame(data: Any) -> bool:
    """Whether something is a dask DataFrame."""
    return hasattr(data, "to_delayed") and hasattr(data, "columns") and hasattr(data, "npartitions")


def is_array(data: Any) -> bool:
    """Whether something is a dask array."""
    import dask.array as da

    return isinstance(data, da.Array)
