"""NumPy archives (.npz): label sets with X and Y, tracks with X, y and groups.

| key | what |
|---|---|
| ``X`` | features (n, d), or instead the parts of a CSR matrix under the names `scipy.sparse.save_npz` gives them: ``data``, ``indices``, ``indptr``, ``shape`` |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

Arrays of Python objects are refused, so nothing in the file can run.
"""  # noqa: E501 (a table)

from __future__ import annotations

import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import (
    DatasetError,
    Features,
    LabelSets,
    Tracks,
    as_zero_one,
    listed,
    reason,
    require_no_infinity,
    with_small_indices,
)

DAMAGE = (ValueError, OSError, EOFError, LookupError, SyntaxError, RuntimeError, TokenError, BadZipFile, zlib.error)
"""What NumPy and zipfile raise for bytes they did not write."""

SPARSE = ("data", "indices", "indptr", "shape")
AXES = {"X": 2, "Y": 2, "y": 1, "groups": 1, "feature_names": 1, "label_names": 1, **dict.fromkeys(SPARSE, 1)}
"""The keys that are read, with the number of axes of their arrays."""

TEXT = ("groups", "feature_names", "label_names")


def read_npz(file: Path) -> LabelSets | Tracks:
    """Label sets or tracks from an archive written by `numpy.savez`; the module's docstring lists the keys."""
    arrays = _arrays(file)
    X, features = _features(file, arrays)
    if ("Y" in arrays) == ("y" in arrays) or ("y" in arrays) != ("groups" in arrays):
        raise DatasetError(
            f"{file} has the arrays {listed(sorted(arrays))}; label sets have Y (n, p), tracks have y (n,) and "
            "groups (n,)"
        )
    if "Y" in arrays:
        Y = as_zero_one(arrays["Y"], lambda row, j: f"Y[{row}, {j}] of {file}", missing=True)
        names = arrays.get("label_names", np.arange(Y.shape[1]).astype(str))
        _require_length(file, "label_names", names, Y.shape[1])
        return LabelSets(X, Y, features, tuple(names.tolist()))
    y = as_zero_one(arrays["y"], lambda row: f"y[{row}] of {file}", missing=False)
    return Tracks(X, y, arrays["groups"], features)


def read_npz_features(file: Path) -> tuple[Features, str]:
    """X, and the bags if there are any, of an archive that may lack labels; and what its labels make it."""
    arrays = _arrays(file)
    X, features = _features(file, arrays)
    kind = "label sets" if "Y" in arrays else "tracks" if {"y", "groups"} & arrays.keys() else "features"
    return Features(X, arrays.get("groups"), features), kind


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The known arrays of an archive, with the kind of values and the number of axes that they must have."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in AXES if name in archive}
            found = list(archive)
    except DAMAGE as error:
        raise DatasetError(f"{file} is no complete archive of plain arrays: {reason(error)}; save it anew") from None
    except (AttributeError, TypeError):  # one array, as numpy.save writes it
        raise DatasetError(f"{file} is not an archive of arrays; write it with numpy.savez") from None
    if "X" not in arrays and not all(name in arrays for name in SPARSE):
        raise DatasetError(
            f"{file} has no X, and no CSR matrix as data, indices, indptr and shape; its arrays are {listed(found)}"
        )
    for name, array in arrays.items():
        if array.ndim != AXES[name] or array.dtype.kind not in ("biufU" if name in TEXT else "biuf"):
            raise DatasetError(
                f"{name} in {file} has shape {array.shape} and dtype {array.dtype}; it needs {AXES[name]} axes of "
                f"{'numbers or text' if name in TEXT else 'real numbers'}"
            )
    return arrays


def _features(file: Path, arrays: dict[str, NDArray[Any]]) -> tuple[Any, tuple[str, ...] | None]:
    X = _csr(file, arrays) if "X" not in arrays else arrays["X"]
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if 0 in X.shape:
        raise DatasetError(f"X in {file} has shape {X.shape}; it needs at least one row and one feature")
    require_no_infinity(X, lambda row, j: f"X[{row}, {j}] of {file}")
    for name in ("Y", "y", "groups"):
        if name in arrays:
            _require_length(file, name, arrays[name], X.shape[0])
    if "feature_names" not in arrays:
        return X, None
    _require_length(file, "feature_names", arrays["feature_names"], X.shape[1])
    return X, tuple(str(name) for name in arrays["feature_names"])


def _csr(file: Path, arrays: dict[str, NDArray[Any]]) -> Any:
    from scipy.sparse import csr_array

    parts = tuple(arrays[name] for name in SPARSE[:3])
    try:
        X = csr_array(parts, shape=tuple(arrays["shape"].tolist()))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise DatasetError(f"the CSR matrix in {file} is damaged: {reason(error)}; save it anew") from None
    X.sum_duplicates()
    return with_small_indices(X)


def _require_length(file: Path, name: str, array: NDArray[Any], length: int) -> None:
    if array.shape[0] != length:
        raise DatasetError(f"{name} in {file} has length {array.shape[0]} and X or Y wants {length}; they must agree")
