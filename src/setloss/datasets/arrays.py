"""NumPy archives (.npz): label sets with X and Y, tracks with X, y and groups.

| key | what |
|---|---|
| ``X`` | features (n, d), or instead the parts of a CSR matrix under the names `scipy.sparse.save_npz` gives them: ``data``, ``indices``, ``indptr``, ``shape`` |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

The paper's face tracks, which are not public, are to be brought as X (27504, 1937), y and groups. Arrays of Python
objects are refused, so nothing in the file can run; shapes and dtypes are checked before any data are read.
"""  # noqa: E501 (a table)

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE, ArchiveError, Header, array_header, open_archive, read_array, unpacked_limit
from setloss.datasets.checks import as_zero_one, existing_file, listed, reason, require_finite, require_width
from setloss.datasets.data import DatasetError, Features, LabelSets, Tracks

SPARSE = ("data", "indices", "indptr", "shape")
KEYS = ("X", *SPARSE, "format", "Y", "y", "groups", "feature_names", "label_names")


def read_npz(path: str | os.PathLike[str]) -> LabelSets | Tracks:
    """Label sets or tracks from an archive written by `numpy.savez`; the module's docstring lists the keys."""
    file = existing_file(path)
    X, labels, names = _arrays(file, labelled=True)
    features = names.get("feature_names")
    if "Y" in labels:
        Y = as_zero_one(labels["Y"], lambda row, j: f"Y[{row}, {j}] of {file}", missing=True)
        default = tuple(str(j) for j in range(Y.shape[1]))
        return LabelSets(X, Y, features, names.get("label_names", default))
    y = as_zero_one(labels["y"], lambda row: f"y[{row}] of {file}", missing=False)
    return Tracks(X, y, _groups(file, labels["groups"]), features)


def read_npz_features(path: str | os.PathLike[str]) -> tuple[Features, str]:
    """X, and the bags if there are any, of an archive that may lack labels; and what its labels make it."""
    file = existing_file(path)
    X, labels, names = _arrays(file, labelled=False)
    groups = _groups(file, labels["groups"]) if "groups" in labels else None
    kind = "label sets" if "Y" in labels else "tracks" if "y" in labels or groups is not None else "features"
    return Features(X, groups, names.get("feature_names")), kind


def _arrays(file: Path, *, labelled: bool) -> tuple[Any, dict[str, NDArray[Any]], dict[str, tuple[str, ...]]]:
    """X, the labels and the names of an archive, checked; `labelled`: it must have labels."""
    with _opened(file) as archive:
        found = archive.namelist()
        headers = {name: _header(file, archive, name) for name in KEYS if f"{name}.npy" in found}
        sparse = _check_keys(file, headers, [name.removesuffix(".npy") for name in found])
        if labelled:
            _check_labels(file, headers)
        rows, width = _check_features(file, archive, headers, sparse)
        _check_shapes(file, headers, rows, width)
        labels: dict[str, NDArray[Any]] = {}
        names: dict[str, tuple[str, ...]] = {}
        labels |= {name: _read(file, archive, name) for name in ("Y", "y", "groups") if name in headers}
        names |= {name: _names(file, archive, name) for name in ("feature_names", "label_names") if name in headers}
        X = _csr(file, archive, (rows, width)) if sparse else _read(file, archive, "X")
    if not sparse:
        X = np.ascontiguousarray(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    require_finite(X, lambda row, column: f"X[{row}, {column}] of {file}")
    return X, labels, names


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return open_archive(path)
    except ArchiveError as error:
        raise DatasetError(f"{path} {error}; write it anew, without compression") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None
    except DAMAGE:
        raise DatasetError(
            f"{path} is not a complete .npz file; it may be truncated, write it with numpy.savez"
        ) from None


def _header(path: Path, archive: zipfile.ZipFile, name: str) -> Header:
    """Shape and dtype of a member, which must be as long as they say."""
    try:
        return array_header(archive, f"{name}.npy")
    except ArchiveError as error:
        raise DatasetError(
            f"{name} in {path} {error}; write it anew, with numbers, or with text of dtype str"
        ) from None
    except DAMAGE as error:
        raise DatasetError(f"{name} in {path} is not a complete NumPy array: {reason(error)}") from None


def _read(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    try:
        return read_array(archive, f"{name}.npy")
    except ArchiveError as error:
        raise DatasetError(f"{name} in {path} {error}; write it anew") from None
    except DAMAGE as error:
        raise DatasetError(f"{name} in {path} is damaged or does not fit into memory: {reason(error)}") from None


# ------------------------------------------------------------------ checks before reading


def _check_keys(path: Path, headers: dict[str, Header], found: list[str]) -> bool:
    """Whether X is sparse; there must be X in one of the two ways."""
    sparse = "X" not in headers
    absent = [name for name in SPARSE if name not in headers]
    if sparse and absent:
        what = f"it lacks {listed(absent)}" if len(absent) < len(SPARSE) else f"its keys are {listed(found)}"
        raise DatasetError(f"{path} has no X, and no CSR matrix as data, indices, indptr and shape: {what}")
    if not sparse and len(absent) < len(SPARSE):
        raise DatasetError(f"{path} has X and parts of a CSR matrix; keep one of them")
    return sparse


def _check_labels(path: Path, headers: dict[str, Header]) -> None:
    """Refuse an archive that is neither label sets nor tracks."""
    if ("Y" in headers) == ("y" in headers):
        what = "both Y and y" if "Y" in headers else "neither Y nor y"
        raise DatasetError(f"{path} has {what}; label sets have Y (n, p), tracks have y (n,) and groups (n,)")
    if "y" in headers and "groups" not in headers:
        raise DatasetError(f"{path} has y and no groups; tracks need the bag id of every frame as groups (n,)")
    if "Y" in headers and "groups" in headers:
        raise DatasetError(f"{path} has Y and groups; label sets have Y only, tracks have y and groups")


def _check_features(
    path: Path, archive: zipfile.ZipFile, headers: dict[str, Header], sparse: bool
) -> tuple[int, int]:
    if not sparse:
        _require(path, headers, "X", "biuf", 2)
        _require_room(path, headers, "X")
        rows, width = headers["X"].shape
    else:
        for name, kinds in zip(SPARSE, ("biuf", "iu", "iu", "iu"), strict=True):
            _require(path, headers, name, kinds, 1)
            _require_room(path, headers, name)
        if headers["shape"].shape != (2,):
            raise DatasetError(f"shape in {path} must hold two numbers; it has shape {headers['shape'].shape}")
        form = _read(path, archive, "format").tolist() if "format" in headers else "csr"
        if form not in ("csr", b"csr"):
            raise DatasetError(f"{path} holds a matrix of format {str(form)[:40]}; convert it with X.tocsr()")
        rows, width = (int(i) for i in _read(path, archive, "shape"))
        if headers["indptr"].shape != (rows + 1,) or headers["indices"].shape != headers["data"].shape:
            raise DatasetError(
                f"the lengths of data, indices and indptr in {path} do not fit a CSR matrix of {rows} rows"
            )
    if sparse:
        require_width(path, width)
    if rows < 1 or width < 1:
        raise DatasetError(f"X in {path} has shape {(rows, width)}; it needs at least one row and one feature")
    return rows, width


def _check_shapes(path: Path, headers: dict[str, Header], rows: int, width: int) -> None:
    if "Y" in headers:
        _require(path, headers, "Y", "biuf", 2)
        _require_room(path, headers, "Y")
        if headers["Y"].shape[1] < 1:
            raise DatasetError(f"Y in {path} has no columns; it needs at least one label")
    for name, kinds in (("y", "biuf"), ("groups", "biufU")):
        if name in headers:
            _require(path, headers, name, kinds, 1)
    lengths = {"Y": rows, "y": rows, "groups": rows, "feature_names": width}
    if "Y" in headers:
        lengths["label_names"] = headers["Y"].shape[1]
    for name in lengths.keys() & headers.keys():
        if headers[name].shape[0:1] != (lengths[name],):
            what = "columns" if name.endswith("names") else "rows"
            of = "Y" if name == "label_names" else "X"
            raise DatasetError(
                f"{name} in {path} has shape {headers[name].shape} and {of} {lengths[name]} {what}; they must agree"
            )
    for name in ("feature_names", "label_names"):
        if name in headers:
            _require(path, headers, name, "U", 1)


def _require_room(path: Path, headers: dict[str, Header], name: str) -> None:
    """Refuse small numbers that take more memory as float64 than an archive of this size may unpack to."""
    limit, shape = unpacked_limit(path.stat().st_size), headers[name].shape
    needed = 8 * math.prod(shape)
    if headers[name].dtype != np.float32 and needed > limit:
        raise DatasetError(
            f"{name} in {path} has shape {shape}, {needed} bytes of memory, and the limit for a file of its size is "
            f"{limit}; write it without compression"
        )


def _require(path: Path, headers: dict[str, Header], name: str, kinds: str, ndim: int) -> None:
    header = headers[name]
    if header.kind not in kinds:
        wanted = "text" if kinds == "U" else "integers" if kinds == "iu" else "real numbers"
        raise DatasetError(f"{name} in {path} has dtype {header.dtype}; it must hold {wanted}")
    if header.dtype.itemsize == 0:
        raise DatasetError(f"{name} in {path} holds texts of no length; leave it out, or write what it is to hold")
    if len(header.shape) != ndim:
        raise DatasetError(
            f"{name} in {path} has shape {header.shape}; it must have {'one axis' if ndim == 1 else 'two axes'}"
        )


# ------------------------------------------------------------------ parts


def _csr(path: Path, archive: zipfile.ZipFile, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    data, indices, indptr = (_read(path, archive, name) for name in SPARSE[:3])
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(indptr[1:] < indptr[:-1]):
        raise DatasetError(
            f"indptr in {path} must rise from 0 to the number of entries, {len(indices)}; write it anew"
        )
    outside = (indices < 0) | (indices >= shape[1])
    if outside.any():
        entry = int(np.argmax(outside))
        raise DatasetError(f"indices[{entry}] in {path} is {indices[entry]}, out of range for {shape[1]} features")
    small = np.int32 if max(len(indices), *shape) < 2**31 else np.int64
    data = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
    X = csr_array((data, indices.astype(small), indptr.astype(small)), shape=shape)
    X.sort_indices()
    repeated = np.diff(X.indices) == 0
    repeated[X.indptr[1:-1][(X.indptr[1:-1] > 0) & (X.indptr[1:-1] < X.nnz)] - 1] = False
    if repeated.any():
        entry = int(np.argmax(repeated))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        raise DatasetError(f"row {row} of X in {path} has feature {X.indices[entry]} twice; sum or remove duplicates")
    return X


def _names(path: Path, archive: zipfile.ZipFile, name: str) -> tuple[str, ...]:
    return tuple(str(text) for text in _read(path, archive, name))


def _groups(path: Path, groups: NDArray[Any]) -> NDArray[Any]:
    missing = np.zeros(len(groups), dtype=bool)
    if groups.dtype.kind in "fU":
        missing = groups == "" if groups.dtype.kind == "U" else ~np.isfinite(groups)
    if missing.any():
        raise DatasetError(f"groups[{int(np.argmax(missing))}] of {path} is missing; every frame needs a bag id")
    return groups
