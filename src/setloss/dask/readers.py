"""Data on disk as Dask collections in partitions of whole bags: Parquet, .npy arrays, zarr.

Only the column with the bags is read to find where partitions may end; the rest is read when a partition is worked
on, from front to back.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from setloss.archives import DAMAGE, ArchiveError, read_npy
from setloss.dask.opened_data import PartitionedData, bytes_of_partitions
from setloss.dask.parquet import open_parquet
from setloss.dask.repartition import bag_ends, chunks_between
from setloss.dask.rows_on_disk import RowsOnDisk
from setloss.dask.zarr_arrays import zarr_arrays
from setloss.datasets.checks import reason
from setloss.datasets.columns import Roles, feature_roles, roles_of
from setloss.datasets.data import DatasetError
from setloss.files import not_a_file


def open_data(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
    partition_bytes: int | None = None,
) -> PartitionedData:
    """Tracks or label sets on disk, not read yet.

    Parameters
    ----------
    path
        A Parquet file, or a folder of them; a folder with X.npy, y.npy and, for tracks, groups.npy; a zarr group with
        arrays of these names.
    labels, group, label, ignore
        Parquet: as for `setloss.datasets.read_parquet`.
    partition_bytes
        How many bytes of X a partition should take; by default 64 MB, or as much as is read at once anyway (a row
        group of Parquet, a chunk of zarr).
    """

    def roles_for(file: Path, names: list[str]) -> Roles:
        return roles_of(file, names, labels, group, label, ignore)

    place = Path(path)
    tables = _parquet_files(place)
    if tables:
        return open_parquet(place, tables, roles_for, partition_bytes)
    if labels is not None or group is not None or label is not None or ignore:
        raise DatasetError(f"{place} holds arrays; labels=, group=, label= and ignore= name columns of Parquet files")
    return _open_arrays(place, _arrays(place), partition_bytes)


def open_features(
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    tracks: bool = False,
    group: str | None = None,
    not_features: Sequence[str] = (),
    partition_bytes: int | None = None,
) -> PartitionedData:
    """Rows to predict on, not read yet; the parameters are those of `setloss.datasets.load_features`."""

    def roles_for(file: Path, columns: list[str]) -> Roles:
        known = [name for name in columns if name not in (group or "group", *not_features)]
        return feature_roles(file, columns, known if names is None else names, group, tracks=tracks)

    place = Path(path)
    tables = _parquet_files(place)
    if tables:
        return open_parquet(place, tables, roles_for, partition_bytes)
    arrays = {name: array for name, array in _arrays(place).items() if name != "y"}
    if "groups" in arrays and not tracks:
        raise DatasetError(f"{place} holds tracks and the model was trained on label sets; give it data of its kind")
    return _open_arrays(place, arrays, partition_bytes, labelled=False)


def _parquet_files(place: Path) -> list[Path]:
    """The file, or all of a folder; none where the folder holds something else."""
    wrong = not_a_file(place)
    if wrong not in (None, "a folder"):
        raise DatasetError(f"{place} is {wrong}; give the path of a Parquet file or of a folder")
    if not place.exists():
        raise DatasetError(f"there is no file or folder {place}")
    if place.is_file() and place.suffix.lower() != ".parquet":
        raise DatasetError(
            f"{place} is not read in partitions; what is are Parquet files and folders of them, folders of X.npy, "
            "y.npy and groups.npy, and zarr groups"
        )
    return [place] if place.is_file() else _tables_in(place)


def _tables_in(folder: Path) -> list[Path]:
    """All Parquet files of a folder and of those in it, which may have such names themselves."""
    found = sorted(file for file in folder.rglob("*.parquet") if not file.is_dir())
    for file in found:
        wrong = not_a_file(file)
        if wrong is not None:
            raise DatasetError(f"{file} is {wrong}; a folder of Parquet files holds files")
    return found


def _arrays(place: Path) -> dict[str, Any]:
    return _npy_arrays(place) if (place / "X.npy").exists() else zarr_arrays(place)


def _npy_arrays(folder: Path) -> dict[str, Any]:
    found = {}
    for name in ("X", "y", "groups"):
        file = folder / f"{name}.npy"
        wrong = not_a_file(file)
        if wrong is not None:
            raise DatasetError(f"{file} is {wrong}; it must be a file that numpy.save has written")
        if file.exists():
            try:
                found[name] = RowsOnDisk.of_npy(file) if name == "X" else read_npy(file)
            except ArchiveError as error:
                raise DatasetError(f"{file} {error}; write it anew with numpy.save") from None
            except DAMAGE as error:
                raise DatasetError(
                    f"{file} cannot be used: {getattr(error, 'strerror', None) or reason(error)}"
                ) from None
    return found


def _open_arrays(
    folder: Path, arrays: dict[str, Any], partition_bytes: int | None, *, labelled: bool = True
) -> PartitionedData:
    import dask.array as da

    for name in ("X", "y") if labelled else ("X",):
        if name not in arrays:
            raise DatasetError(f"{folder} has no array {name}; it needs X, y and, for tracks, groups")
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DatasetError(f"X of {folder} has shape {X.shape} and type {X.dtype}; it must be a matrix of numbers")
    for name, array in arrays.items():
        if len(array.shape) == 0 or array.shape[0] != X.shape[0]:
            raise DatasetError(f"{name} of {folder} has shape {array.shape} and X {X.shape}; give both the same rows")
    if labelled and arrays["y"].dtype.kind not in "biuf":
        raise DatasetError(f"y of {folder} has type {arrays['y'].dtype}; labels are 0 and 1, or -1 and +1")
    groups = np.asarray(arrays["groups"][:]) if "groups" in arrays else None
    if groups is not None and groups.dtype.kind not in "biufUT":
        raise DatasetError(f"groups of {folder} has type {groups.dtype}; bag ids are numbers or texts")
    if labelled and groups is None and len(arrays["y"].shape) == 1:
        raise DatasetError(
            f"{folder} has one label a row and no groups; add groups with the bag of each row, or numpy.arange if "
            "every row is one"
        )
    width = max(X.shape[1] * X.dtype.itemsize, 1)
    chunk = 0 if isinstance(X, RowsOnDisk) else math.prod(X.chunks) * X.dtype.itemsize
    size = bytes_of_partitions(f"the chunks of X of {folder}", chunk, partition_bytes)
    npartitions = max(-(-X.shape[0] * width // size), 1)
    try:
        ends = np.arange(1, X.shape[0] + 1) if groups is None else bag_ends(groups)
    except ValueError as error:
        raise DatasetError(f"{folder}: {error}") from None
    chunks = chunks_between(ends, npartitions)
    rows = X.array(chunks) if isinstance(X, RowsOnDisk) else da.from_zarr(X).rechunk((chunks, -1))
    y = np.asarray(arrays["y"][:]) if labelled else None
    lazy = [
        None if column is None else da.from_array(column, chunks=(chunks, *column.shape[1:]))
        for column in (y, groups)
    ]
    return PartitionedData(rows, *lazy)
