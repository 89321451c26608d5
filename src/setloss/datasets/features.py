"""Rows to predict on: the features that a model was trained on, from a file whose labels may be missing.

Where the file names its columns and the model knows the names of its features, columns are matched by name: they may
stand in another order, and others may stand between them. Without names the number of columns must be right.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from setloss.datasets.arff import read_arff_features
from setloss.datasets.arrays import read_npz_features
from setloss.datasets.checks import existing_file, listed
from setloss.datasets.columns import Roles, feature_roles
from setloss.datasets.data import DatasetError, Features
from setloss.datasets.frames import INDEX, bag_ids, csv_table, feature_matrix, parquet_table

TABLES = {".csv": csv_table, ".tsv": csv_table, ".parquet": parquet_table}


def load_features(
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    *,
    tracks: bool = False,
    group: str | None = None,
    not_features: Sequence[str] = (),
) -> Features:
    """The features of a .csv, .tsv, .parquet, .arff or .npz file, for a model that knows them by `names`.

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
    file = existing_file(path)
    suffix = file.suffix.lower()
    if suffix in TABLES:
        return _of_table(file, names, group, not_features, tracks=tracks)
    if suffix == ".arff":
        return read_arff_features(file, names, not_features)
    if suffix == ".npz":
        found, kind = read_npz_features(file)
        model = "tracks" if tracks else "label sets"
        if kind not in ("features", model):
            raise DatasetError(
                f"{file} holds {kind} and the model was trained on {model}; give it data of its own kind"
            )
        return matched(file, found, names)
    raise DatasetError(f"{file} is not a file with named columns or arrays")


def _of_table(
    file: Path, names: Sequence[str] | None, group: str | None, not_features: Sequence[str], *, tracks: bool
) -> Features:
    def roles_for(columns: list[str]) -> Roles:
        known = names
        if known is None:
            known = [name for name in columns if name not in (group or "group", *not_features)]
        return feature_roles(file, columns, known, group, tracks=tracks)

    frame, places = TABLES[file.suffix.lower()](file, roles_for)
    if len(frame) == 0:
        raise DatasetError(f"{file} names columns and has no rows; it may be an unfinished download")
    roles = places.roles
    groups = None if roles.group is None else bag_ids(frame[roles.group], roles.group, places)
    X = feature_matrix(frame, places)
    standing = tuple(name for name in roles.names if name in roles.features)
    unused = tuple(name for name in roles.names if name not in {*roles.used, *not_features, INDEX})
    return Features(X, groups, roles.features, unused, reordered=standing != roles.features)


def matched(file: Path, found: Features, names: Sequence[str] | None) -> Features:
    """The columns that a model knows by name, in its order; as they are where either side has no names."""
    if names is None or found.feature_names is None or tuple(names) == found.feature_names:
        return found
    place = {name: j for j, name in enumerate(found.feature_names)}
    absent = [name for name in names if name not in place]
    if absent:
        raise DatasetError(f"{file} lacks features that the model was trained on: {listed(absent)}")
    columns = [place[name] for name in names]
    unused = tuple(name for name in found.feature_names if name not in names)
    X: Any = found.X[:, columns]
    return replace(found, X=X, feature_names=tuple(names), unused=unused, reordered=sorted(columns) != columns)
