"""Files of numbers: NumPy archives (.npz), and multi-label svmlight (libsvm), read by scikit-learn.

An archive has label sets with X and Y, or tracks with X, y and groups:

| key | what |
|---|---|
| ``X`` | features (n, d) |
| ``Y`` | label sets (n, p) in {0, 1} or {-1, +1}; NaN is a missing label |
| ``y``, ``groups`` | labels (n,) in {0, 1} or {-1, +1}, and bag ids (n,), integers or strings |
| ``feature_names``, ``label_names`` | names (d,), (p,), optional |

An archive to predict on may lack Y, or y. Arrays of Python objects are refused, so nothing in the file can run.

Sparse features go into svmlight files, ``1,3 4:0.5 7:1 # comment``, one example a line. The labels of a line are the
ids of its label set, separated by commas; a line that starts with a feature has the empty set. Blank lines and
comments are skipped. Column j of X is feature j of the file, so where features are counted from 1 column 0 is empty.
Labels keep their ids as names.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import DatasetError, LabelSets, Tracks, as_zero_one, csr, label_matrix, listed, reason

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


# -------------------------------------------------------------------- svmlight


def read_svmlight(file: Path, *, labels: Sequence[str] | None = None, features: int | None = None) -> LabelSets:
    """Label sets from a multi-label svmlight file that is not compressed; X is CSR, and `io.read` says the rest."""
    from sklearn.datasets import load_svmlight_file

    if isinstance(labels, int | str):
        raise DatasetError(f"labels={labels!r} does not list label ids; leave it out, or list the ids of {file}")
    try:
        with file.open("rb") as lines:
            X, sets = load_svmlight_file(lines, n_features=features, multilabel=True, zero_based=True)
    except (ValueError, OverflowError, IndexError, OSError) as error:
        raise DatasetError(
            f"{file} is not a multi-label svmlight file: {reason(error)}; lines are written as 1,3 4:0.5 7:1"
        ) from None
    if not sets:
        raise DatasetError(f"{file} has no examples; it may be truncated")
    ids = np.array([label for members in sets for label in members], dtype=np.float64)
    if not np.all((ids >= 0) & (ids < 2**31) & (ids == np.floor(ids))):
        raise DatasetError(
            f"{file} has a label that is no id; labels are the ids (whole numbers from 0 or 1) of a label set, not "
            "values as in files for one binary label"
        )
    names = [str(label) for label in np.unique(ids).astype(np.int64).tolist()] if labels is None else list(labels)
    unknown = sorted({str(int(label)) for label in ids} - set(names))
    if unknown:
        raise DatasetError(f"{file} has the label {unknown[0]}, and its labels are {listed(names)}")
    Y, _ = label_matrix([{str(int(label)) for label in members} for members in sets], names)
    return LabelSets(csr(X.data, X.indices, X.indptr, X.shape), Y, None, tuple(names))
