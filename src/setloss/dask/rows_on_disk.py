"""Rows of a matrix in a file as a Dask array: whoever sees the file can read them, and nobody maps it whole."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import npy_header


@dataclass(frozen=True)
class RowsOnDisk:
    """A matrix in row order from a byte of a file on."""

    file: Path
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: np.memmap[Any, Any]) -> RowsOnDisk:
        """What a memmap shows; it must be all of a map, in row order."""
        base: object = X.base
        if X.ndim != 2 or not X.flags.c_contiguous or not isinstance(base, mmap.mmap) or X.filename is None:
            raise ValueError(
                "a memmap must be a matrix in row order and not part of another; map the file again with the offset "
                "and shape that are meant"
            )
        return cls(Path(X.filename), int(X.offset), X.dtype, (X.shape[0], X.shape[1]))

    @classmethod
    def of_npy(cls, file: Path) -> RowsOnDisk:
        """The matrix of a .npy file, whose length must be what its header promises."""
        with file.open("rb") as stream:
            shape, columns_first, dtype = npy_header(stream)
            offset = stream.tell()
        if len(shape) != 2 or dtype.hasobject or (columns_first and min(shape) > 1):
            raise ValueError(
                f"it holds an array of shape {shape} and type {dtype}, not a matrix of numbers in row order; save "
                "numpy.ascontiguousarray of it"
            )
        found = cls(file, offset, dtype, shape)
        if file.stat().st_size < offset + shape[0] * found.row_bytes:
            raise ValueError(f"it ends before the last of {shape[0]} rows")
        return found

    @property
    def ndim(self) -> int:
        """Rows and columns."""
        return 2

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return max(self.shape[1] * self.dtype.itemsize, 1)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The rows from `start` up to `stop`."""
        count = (stop - start) * self.shape[1]
        rows = np.fromfile(self.file, self.dtype, count, offset=self.offset + start * self.row_bytes)
        if len(rows) != count:
            raise ValueError(f"{self.file} ends before row {stop}; it was cut off since it was opened")
        return rows.reshape(-1, self.shape[1])

    def array(self, chunks: Sequence[int]) -> Any:
        """A dask array with blocks of so many rows."""
        import dask.array as da

        from dask import delayed

        read = delayed(self.read, pure=True, traverse=False)
        ends = np.cumsum(chunks).tolist()
        blocks = [
            da.from_delayed(read(start, stop), (stop - start, self.shape[1]), dtype=self.dtype)
            for start, stop in zip([0, *ends[:-1]], ends, strict=True)
        ]
        return da.concatenate(blocks, axis=0)
