"""NumPy archives (.npz): label sets with X and Y, tracks with X, y and groups.

| key | what |
|---|---|
| ``X`` | features (n, d) |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

Arrays of Python objects are refused, so nothing in the file can run. Sparse features go into svmlight files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, Features, LabelSets, Tracks, as_zero_one, listed, no_infinity, reason

AXES = {"X": "nd", "Y": "np", "y": "n", "groups": "n", "feature_names": "d", "label_names": "p"}
"""The keys that are read, with the axes of their arrays; axes of one letter are of one length."""

TEXT = ("groups", "feature_names", "label_names")


def read_npz(file: Path) -> LabelSets | Tracks:
    """Label sets or tracks from an archive written by `numpy.savez`; the module's docstring lists the keys."""
    arrays = _arrays(file)
    found = arrays.keys() & {"Y", "y", "groups"}
    if found == {"Y"}:
        Y = as_zero_one(arrays["Y"], lambda row, j: f"Y[{row}, {j}] of {file}", missing=True)
        names = arrays.get("label_names", np.arange(Y.shape[1])).astype(str)
        return LabelSets(arrays["X"], Y, _names(arrays), tuple(names.tolist()))
    if found == {"y", "groups"}:
        y = as_zero_one(arrays["y"], lambda row: f"y[{row}] of {file}", missing=False)
        return Tracks(arrays["X"], y, arrays["groups"], _names(arrays))
    raise DatasetError(
        f"{file} has the arrays {listed(sorted(arrays))}; label sets have Y (n, p), tracks y (n,) and groups (n,)"
    )


def read_npz_features(file: Path) -> tuple[Features, str]:
    """X, and the bags if there are any, of an archive that may lack labels; and what its labels make it."""
    arrays = _arrays(file)
    kind = "label sets" if "Y" in arrays else "tracks" if {"y", "groups"} & arrays.keys() else "features"
    return Features(arrays["X"], arrays.get("groups"), _names(arrays)), kind


def _names(arrays: dict[str, NDArray[Any]]) -> tuple[str, ...] | None:
    return tuple(arrays["feature_names"].astype(str).tolist()) if "feature_names" in arrays else None


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The known arrays of an archive, of the kind and shape that they must have; X is of floats."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in AXES if name in archive}
            found = list(archive)
    except Exception as error:  # NumPy and zipfile raise almost anything for bytes that they did not write
        raise DatasetError(
            f"{file} is no complete archive of plain arrays: {reason(error)}; write it with numpy.savez"
        ) from None
    if "X" not in arrays:
        raise DatasetError(f"{file} has no X; its arrays are {listed(found)}")
    lengths: dict[str, int] = {}
    for name, array in arrays.items():
        axes, kinds = AXES[name], "biufU" if name in TEXT else "biuf"
        agree = len(axes) == array.ndim and all(
            length == lengths.setdefault(axis, length) for axis, length in zip(axes, array.shape, strict=True)
        )
        if not agree or array.dtype.kind not in kinds or 0 in array.shape:
            known = ", ".join(f"{axis} = {length}" for axis, length in lengths.items())
            raise DatasetError(
                f"{name} in {file} has shape {array.shape}, dtype {array.dtype}; it needs axes ({', '.join(axes)})"
                f", none empty{f' ({known})' * bool(known)}, and {'text or ' * (name in TEXT)}real numbers"
            )
    if arrays["X"].dtype not in (np.float32, np.float64):
        arrays["X"] = arrays["X"].astype(np.float64)
    no_infinity(arrays["X"], lambda row, j: f"X[{row}, {j}] of {file}")
    return arrays
