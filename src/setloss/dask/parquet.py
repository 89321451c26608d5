"""Parquet files as a Dask DataFrame in partitions of whole bags, which may cross row groups and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE
from setloss.dask.opened_data import PartitionedData, bytes_of_partitions
from setloss.dask.repartition import ends_of_partitions, first_repeat, plain
from setloss.datasets.arrow import is_text, require_short_ids, require_types
from setloss.datasets.checks import reason
from setloss.datasets.columns import Roles
from setloss.datasets.data import DatasetError


@dataclass(frozen=True)
class Piece:
    """Rows of one row group of a file."""

    file: Path
    row_group: int
    start: int
    stop: int


RolesFor = Callable[[Path, list[str]], Roles]
"""Says what the columns of a file are, from their names."""


@dataclass(frozen=True)
class ParquetLayout:
    """All row groups of some files in order, what their columns are, and whether all features are float32."""

    row_groups: list[Piece]
    roles: Roles
    single: bool

    @property
    def row_bytes(self) -> int:
        """Bytes of the features of one row in memory."""
        return len(self.roles.features) * (4 if self.single else 8)


def open_parquet(place: Path, files: list[Path], roles_for: RolesFor, partition_bytes: int | None) -> PartitionedData:
    """A DataFrame over Parquet files, in partitions of whole bags."""
    import dask.dataframe as dd

    layout = _layout(place, files, roles_for)
    pieces, roles, single = layout.row_groups, layout.roles, layout.single
    total = sum(piece.stop for piece in pieces)
    if total == 0:
        raise DatasetError(f"{place} has no rows")
    largest = max(piece.stop for piece in pieces) * layout.row_bytes
    size = bytes_of_partitions(f"the row groups of {place}", largest, partition_bytes)
    rows = max(size // layout.row_bytes, 1)
    ends = np.arange(1, total + 1) if roles.group is None else _bag_ends(place, pieces, roles.group)
    cuts = ends_of_partitions(ends, -(-total // rows))
    ranges = [_between(pieces, lo, hi) for lo, hi in zip([0, *cuts[:-1].tolist()], cuts.tolist(), strict=True)]
    meta = _read_rows(ranges[0], roles, single).iloc[:0]
    frame = dd.from_map(_read_rows, ranges, roles=roles, single=single, meta=meta, enforce_metadata=False)
    y: Any = list(roles.labels) or None
    if roles.group is not None and roles.labels:
        y = roles.labels[0]
    return PartitionedData(frame, y, roles.group, roles.features, roles.labels)


def _layout(place: Path, files: list[Path], roles_for: RolesFor) -> ParquetLayout:
    """What the footers of the files say; no row is read."""
    if not files:
        raise DatasetError(f"{place} has no Parquet files")
    parquet, arrow_error = _pyarrow()
    layouts = []
    for file in files:
        try:
            opened = parquet.ParquetFile(file)
        except (*DAMAGE, arrow_error) as error:
            raise DatasetError(f"{file} is not a complete Parquet file: {reason(error)}") from None
        with opened:
            layouts.append(_layout_of_file(file, opened, roles_for))
    first = layouts[0].roles
    for file, layout in zip(files, layouts, strict=True):
        strange = sorted(layout.roles.used ^ first.used)
        if strange:
            raise DatasetError(f"{file} and {files[0]} differ in the column {strange[0]!r}; give all files the same")
    pieces = [piece for layout in layouts for piece in layout.row_groups]
    return ParquetLayout(pieces, first, all(layout.single for layout in layouts))


def _layout_of_file(file: Path, opened: Any, roles_for: RolesFor) -> ParquetLayout:
    from pyarrow import types

    schema = opened.schema_arrow
    roles = roles_for(file, [name for name in schema.names if not name.startswith("__index_level_")])
    kinds = {name: schema.field(name).type for name in roles.features}
    require_types(file, schema, roles)
    counts = [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]
    pieces = [Piece(file, k, 0, count) for k, count in enumerate(counts) if count]
    return ParquetLayout(pieces, roles, all(types.is_float32(kind) for kind in kinds.values()))


def _bag_ends(place: Path, pieces: Sequence[Piece], group: str) -> NDArray[np.intp]:
    """Where bags end, in rows of all files one after the other; one row group of one column at a time."""
    names: list[NDArray[Any]] = []
    starts: list[NDArray[np.intp]] = []
    row = 0
    for piece in pieces:
        column = _values(_table(piece, [group]).column(group))
        changes = np.flatnonzero(np.concatenate(([True], column[1:] != column[:-1])))
        if names and names[-1][-1] == column[0]:
            changes = changes[1:]
        if len(changes):
            names.append(column[changes])
            starts.append(changes + row)
        row += piece.stop
    runs, at = np.concatenate(names), np.concatenate(starts)
    again = first_repeat(runs)
    if again is not None:
        raise DatasetError(
            f"the frames of bag {plain(runs[again])!r} do not follow each other: it comes back at row "
            f"{at[again] + 1} of {place}. Sort the rows by bag, for instance by setloss.dask.repartition_by_group"
        )
    return np.append(at[1:], row)


def _between(pieces: Sequence[Piece], start: int, stop: int) -> list[Piece]:
    """The pieces of the rows from `start` up to `stop`."""
    found, row = [], 0
    for piece in pieces:
        lo, hi = max(start - row, 0), min(stop - row, piece.stop)
        if lo < hi:
            found.append(Piece(piece.file, piece.row_group, lo, hi))
        row += piece.stop
    return found


def _read_rows(pieces: list[Piece], roles: Roles, single: bool) -> Any:
    """The rows as a DataFrame, features in one block of float32 or float64."""
    import pandas as pd

    tables = [
        _table(piece, [name for name in roles.names if name in roles.used]).slice(
            piece.start, piece.stop - piece.start
        )
        for piece in pieces
    ]
    size = sum(len(table) for table in tables)
    X = np.empty((size, len(roles.features)), dtype=np.float32 if single else np.float64)
    kept: dict[str, list[NDArray[Any]]] = {
        name: [] for name in roles.names if name in roles.used and name not in roles.features
    }
    row = 0
    for table in tables:
        for j, name in enumerate(roles.features):
            X[row : row + len(table), j] = table.column(name).to_numpy()
        for name, columns in kept.items():
            columns.append(_values(table.column(name)))
        row += len(table)
    frame = pd.DataFrame(X, columns=list(roles.features))
    if not kept:
        return frame
    others = pd.DataFrame({name: np.concatenate(columns) for name, columns in kept.items()})
    return pd.concat([frame, others], axis=1)


def _values(column: Any) -> NDArray[Any]:
    """A column as an array; texts of a dictionary are one object for all rows that share them."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return np.asarray(column.to_numpy())
    pieces = []
    for chunk in column.chunks:
        texts = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        pieces.append(texts[chunk.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)])
    return np.concatenate(pieces)


def _table(piece: Piece, columns: list[str]) -> Any:
    parquet, arrow_error = _pyarrow()
    try:
        with parquet.ParquetFile(piece.file) as opened:
            names = [name for name in columns if is_text(opened.schema_arrow.field(name).type)]
        with parquet.ParquetFile(piece.file, read_dictionary=names) as opened:
            table = opened.read_row_group(piece.row_group, columns=columns, use_threads=False)
            for name in names:
                require_short_ids(piece.file, table.column(name), name)
            return table
    except DatasetError:
        raise
    except (*DAMAGE, arrow_error) as error:
        raise DatasetError(f"{piece.file} cannot be read: {reason(error)}") from None


def _pyarrow() -> tuple[Any, type[Exception]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DatasetError("reading Parquet needs pyarrow; install it with pip install 'setloss[io]'") from None
    return pyarrow.parquet, pyarrow.ArrowException
