"""Data files in, model files in and out: `read` picks the reader by the suffix of the file.

A file that cannot be used ends in a `DatasetError` or a `ModelFileError` that names the file and says what to do, in
one sentence; no code from any file is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setloss.io.arff import read_arff, read_arff_features
from setloss.io.data import DatasetError, Features, LabelSets, Tracks, existing_file, require_names
from setloss.io.npz import read_npz, read_npz_features
from setloss.io.svmlight import read_svmlight
from setloss.io.tables import SUFFIXES as TABLES
from setloss.io.tables import bag_ids, number_matrix, read_columns, read_table
from setloss.lazy import imported_name

if TYPE_CHECKING:
    from setloss.io.encoding import Column, TableEncoder
    from setloss.io.models import ModelFileError, load, save

__all__ = [
    "Column",
    "DatasetError",
    "Features",
    "LabelSets",
    "ModelFileError",
    "TableEncoder",
    "Tracks",
    "load",
    "read",
    "read_columns",
    "read_features",
    "read_table",
    "save",
]

_LATER = {
    "Column": ".encoding",
    "TableEncoder": ".encoding",
    **dict.fromkeys(("ModelFileError", "load", "save"), ".models"),
}
"""Names that bring scikit-learn with them: imported when they are first asked for."""

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
READERS: dict[str, Callable[..., LabelSets | Tracks]] = {
    ".arff": read_arff,
    ".npz": read_npz,
    **dict.fromkeys(TABLES, read_columns),
    **dict.fromkeys(SVMLIGHT, read_svmlight),
}
"""What reads a kind of file; its keyword arguments are the options that the kind has a use for."""


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for."""
    return imported_name(__name__, _LATER, name)


def read(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] | None = None,
    features: int | None = None,
    first_label: int | None = None,
    first_feature: int | None = None,
) -> LabelSets | Tracks:
    """Label sets or tracks from a file: .arff, .svm (.svmlight, .libsvm, .txt), .npz, .csv, .tsv or .parquet.

    An option that the kind of file has no use for is refused.

    Parameters
    ----------
    path : path
        The data file; the suffix says what it is.
    labels : path, int, str or sequence of str, optional
        ARFF: the XML file that names the labels (by default that of the same stem, or of the stem without -train or
        -test), or their number if they are the last attributes. svmlight: their number, by default from the header or
        the largest id. CSV and Parquet: the prefix or the list of the label columns, for label sets, not tracks.
    group, label : str, optional
        CSV and Parquet: the columns with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        CSV and Parquet: columns that are no features.
    features : int, optional
        svmlight: the number of features.
    first_label, first_feature : 0 or 1, optional
        svmlight: where label ids and feature indices start.
    """
    file, suffix = _data_file(path)
    options: dict[str, Any] = {
        "labels": labels,
        "group": group,
        "label": label,
        "ignore": ignore,
        "features": features,
        "first_label": first_label,
        "first_feature": first_feature,
    }
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() - signature(READERS[suffix]).parameters.keys():
        raise DatasetError(f"{name}= has no meaning for a {suffix} file ({file}); leave it out")
    data = READERS[suffix](file, **given)
    return replace(data, X=number_matrix(data.X, file)) if suffix in TABLES else data


def read_features(
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    tracks: bool = False,
    group: str | None = None,
    not_features: Sequence[str] = (),
) -> Features:
    """Rows to predict on: the features of a .csv, .tsv, .parquet, .arff or .npz file whose labels may be missing.

    Where the file names its columns and the model knows the `names` of its features, columns are matched by name:
    they may stand in another order, and others may stand between them. Without names the columns are as they stand.

    Parameters
    ----------
    path : path
        The file; labels in it are ignored, and need not be there.
    names : sequence of str, optional
        The features of the model. Without them all columns are features, but for `group` and `not_features`.
    tracks : bool
        Whether the model is one of tracks: archives that hold label sets are then refused, and the other way round.
    group : str, optional
        The column with the bag of a frame, by default "group" where there is one.
    not_features : sequence of str
        Columns that are labels, or to be ignored.
    """
    file, suffix = _data_file(path)
    if suffix in TABLES:
        frame = read_table(file, text=(group or "group",))
        if group is None and tracks and "group" in frame and "group" not in (names or ()):
            group = "group"
        groups = bag_ids(frame[require_names(file, frame.columns, [group], "group=")[0]], file) if group else None
        if names is None:
            names = [name for name in frame.columns if name != group and name not in not_features]
        chosen = frame[require_names(file, frame.columns, names, "the features of the model")]
        return Features(number_matrix(chosen, file), groups, tuple(names))
    if suffix in SVMLIGHT:
        raise DatasetError(f"{file} names no features; read svmlight files with read(), and give features=")
    if suffix == ".arff":
        return matched(file, read_arff_features(file, names, not_features), names)
    found, kind = read_npz_features(file)
    model = "tracks" if tracks else "label sets"
    if kind not in ("features", model):
        raise DatasetError(f"{file} holds {kind} and the model was trained on {model}; give it data of its own kind")
    return matched(file, found, names)


def _data_file(path: str | os.PathLike[str]) -> tuple[Path, str]:
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in READERS:
        raise DatasetError(
            f"{file} has the suffix {suffix!r}; data files are {', '.join(READERS)}, unpack or rename it"
        )
    return existing_file(file), suffix


def matched(file: Path, found: Features, names: Sequence[str] | None) -> Features:
    """The columns that a model knows by name, in its order; as they are where either side has no names."""
    if names is None or found.feature_names is None or tuple(names) == found.feature_names:
        return found
    order = {name: j for j, name in enumerate(found.feature_names)}
    kept = [order[name] for name in require_names(file, found.feature_names, names, "the features of the model")]
    return replace(found, X=found.X[:, kept], feature_names=tuple(names))
