"""Data for set-level losses: readers for the usual files.

`load` picks the reader by the suffix of the file. All readers check before they return: what they return trains,
and a file that is broken ends in a `DatasetError` that names the place and says what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from setloss.datasets.arff import read_arff
from setloss.datasets.arrays import read_npz
from setloss.datasets.data import DatasetError, Features, LabelSets, Tracks
from setloss.datasets.features import load_features
from setloss.datasets.frames import read_csv, read_parquet
from setloss.datasets.svmlight import read_svmlight

__all__ = [
    "DatasetError",
    "Features",
    "LabelSets",
    "Tracks",
    "load",
    "load_features",
    "read_arff",
    "read_csv",
    "read_npz",
    "read_parquet",
    "read_svmlight",
]

_Reader = Callable[..., LabelSets | Tracks]

_SVMLIGHT: tuple[_Reader, tuple[str, ...]] = (
    read_svmlight,
    ("labels", "features", "first_label", "first_feature"),
)
_READERS: dict[str, tuple[_Reader, tuple[str, ...]]] = {
    ".arff": (read_arff, ("labels",)),
    ".csv": (read_csv, ("labels", "group", "label", "ignore")),
    ".tsv": (read_csv, ("labels", "group", "label", "ignore")),
    ".parquet": (read_parquet, ("labels", "group", "label", "ignore")),
    ".npz": (read_npz, ()),
    ".svm": _SVMLIGHT,
    ".svmlight": _SVMLIGHT,
    ".libsvm": _SVMLIGHT,
    ".txt": _SVMLIGHT,
}


def load(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    features: int | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] | None = None,
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
        ARFF: the XML file that names the labels, or their number. svmlight: their number. CSV and Parquet: the
        prefix or the list of the label columns, for label sets instead of tracks.
    features : int, optional
        svmlight: the number of features.
    group, label : str, optional
        CSV and Parquet: the columns with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        CSV and Parquet: columns that are no features.
    first_label, first_feature : 0 or 1, optional
        svmlight: where label ids and feature indices start.
    """
    file = Path(path)
    if file.suffix.lower() not in _READERS:
        raise DatasetError(
            f"{file} has {f'the suffix {file.suffix}' if file.suffix else 'no suffix'}; "
            f"data files are {', '.join(_READERS)}, unpack or rename it"
        )
    reader, takes = _READERS[file.suffix.lower()]
    options: dict[str, Any] = {
        "labels": labels,
        "features": features,
        "group": group,
        "label": label,
        "ignore": ignore,
        "first_label": first_label,
        "first_feature": first_feature,
    }
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in takes:
            raise DatasetError(f"{name}= has no meaning for a {file.suffix.lower()} file ({file}); leave it out")
    return reader(file, **given)
