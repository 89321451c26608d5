"""NumPy archives (.npz): label sets with X and Y, tracks with X, y and groups.

| key | what |
|---|---|
| ``X`` | features (n, d) |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

An archive to predict on may lack Y, or y. Arrays of Python objects are refused, so nothing in the file can run.
Sparse features go into svmlight files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, Tracks, as_zero_one, listed, reason

AXES = {"X": "nd", "Y": "np", "y": "n", "groups": "n", "feature_names": "d", "label_names": "p"}
"""The keys that are read, with the axes of their arrays; axes of one letter are of one length."""

TEXT = ("groups", "feature_names", "label_names")


def read_npz(file: Path) -> LabelSets | Tracks:
    """Label sets or tracks from an archive written by `numpy.savez`; the module's docstring lists the keys."""
    arrays = _arrays(file)
    X = arrays["X"] if arrays["X"].dtype in (np.float32, np.float64) else arrays["X"].astype(np.float64)
    features = tuple(arrays["feature_names"].astype(str).tolist()) if "feature_names" in arrays else None
    if "groups" in arrays and "Y" not in arrays:
        y = as_zero_one(file, arrays["y"][:, None], ["y"], missing=False)[:, 0] if "y" in arrays else None
        return Tracks(X, y, arrays["groups"], features)
    if "groups" in arrays or "y" in arrays:
        raise DatasetError(
            f"{file} has the arrays {listed(sorted(arrays))}; label sets have Y (n, p), tracks y (n,) and groups (n,)"
        )
    Y = arrays.get("Y", np.empty((len(X), 0)))
    names = tuple(arrays.get("label_names", np.arange(Y.shape[1])).astype(str).tolist())
    return LabelSets(X, as_zero_one(file, Y, names, missing=True), features, names)


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The known arrays of an archive, of the kind and shape that they must have."""
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
            raise DatasetError(
                f"{name} in {file} has shape {array.shape}, dtype {array.dtype}; it needs axes ({', '.join(axes)}) "
                f"of the lengths {lengths}, none empty, and {'text or ' * (name in TEXT)}real numbers"
            )
    return arrays
