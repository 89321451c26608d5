"""Label sets for benchmarks: folders with a data file, or with a training and a test file, in Mulan's layout.

A folder is a data set if it holds ``NAME-train.SUFFIX`` and ``NAME-test.SUFFIX`` (``_`` and ``.`` do as well), or
one file ``NAME.SUFFIX``, where the suffix is .arff (with NAME.xml), .svm, .svmlight, .libsvm or .npz. Archives of
other arrays, such as images, are passed over.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from setloss.io import DatasetError, LabelSets, read

SUFFIXES = (".arff", ".svm", ".svmlight", ".libsvm", ".npz")
LAYOUT = "a data set is a folder with NAME-train.arff, NAME-test.arff and NAME.xml, or the same with .svm or .npz"

_SPLIT = re.compile(r"(.+)[-_.](train|test)$", re.IGNORECASE)

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Examples X (n, d) with label sets Y (n, p); the first `n_train`, if known, are the standard training part."""

    name: str
    X: Any = field(repr=False)
    Y: NDArray[np.int8] = field(repr=False)
    n_train: int | None = None

    def splits(self, folds: int | None = None, seed: int = 0) -> list[Split]:
        """(train, test) rows: the standard split, or shuffled folds."""
        if folds is None:
            if self.n_train is None:
                raise DatasetError(f"{self.name} has no standard split into two files; ask for folds (--folds 10)")
            rows = np.arange(len(self.Y))
            return [(rows[: self.n_train], rows[self.n_train :])]
        if not 2 <= folds <= len(self.Y):
            raise DatasetError(f"{self.name} has {len(self.Y)} examples; it cannot be cut into {folds} folds")
        return list(KFold(folds, shuffle=True, random_state=seed).split(self.Y))


def find_data_sets(folder: Path, names: Sequence[str] | None = None) -> dict[str, tuple[Path, ...]]:
    """The files of every data set in a folder, or of the folder itself, by name: one file, or training and test."""
    if not folder.is_dir():
        raise DatasetError(f"there is no folder {folder}; {LAYOUT}")
    found = {}
    for place in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        files = _files(place)
        if files:
            found[place.resolve().name] = files
    for name in names or ():
        if name not in found:
            raise DatasetError(f"{folder} has no data set {name!r}; it has {', '.join(found) or 'none'} ({LAYOUT})")
    if not found:
        raise DatasetError(f"there is no data set in {folder}; {LAYOUT}")
    return {name: found[name] for name in names} if names else found


def read_data_set(name: str, files: tuple[Path, ...]) -> DataSet:
    """All examples of a data set; both parts get the larger number of labels and features of the two."""
    parts = _numbered_alike(files) if files[0].suffix in SUFFIXES[1:4] else [_label_sets(file) for file in files]
    if files[0].suffix in SUFFIXES[1:4]:
        width, p = (max(shape) for shape in zip(*((part.X.shape[1], part.Y.shape[1]) for part in parts), strict=True))
        parts = [_widened(part, width, p) for part in parts]
    _refuse_strangers(files, parts)
    if len(parts) == 1:
        return DataSet(name, parts[0].X, parts[0].Y)
    return DataSet(name, _stacked([part.X for part in parts]), np.vstack([p.Y for p in parts]), len(parts[0].Y))


def _files(folder: Path) -> tuple[Path, ...]:
    candidates = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    candidates = [path for path in candidates if not _is_archive_of_others(path)]
    parts: dict[tuple[str, str], dict[str, Path]] = {}
    for path in candidates:
        match = _SPLIT.match(path.stem)
        if match:
            parts.setdefault((match[1], path.suffix), {})[match[2].lower()] = path
    pairs = [pair for pair in parts.values() if len(pair) == 2]
    if pairs:
        return pairs[0]["train"], pairs[0]["test"]
    whole = [path for path in candidates if not _SPLIT.match(path.stem)]
    return (whole[0],) if whole else ()


def _is_archive_of_others(file: Path) -> bool:
    """Whether an archive has no features, dense (X) or sparse (data); a broken one is left to its reader."""
    if file.suffix.lower() != ".npz" or not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return not {"X.npy", "data.npy"}.intersection(archive.namelist())


def _label_sets(file: Path, **options: Any) -> LabelSets:
    examples = read(file, **options)
    if not isinstance(examples, LabelSets):
        raise DatasetError(f"{file} holds tracks, not label sets; use python -m experiments tracks")
    if examples.Y.dtype.kind == "f":
        raise DatasetError(f"{file} has missing labels; the benchmark needs all of them")
    return examples


def _numbered_alike(files: tuple[Path, ...]) -> list[LabelSets]:
    """Two svmlight files, each of which may or may not show where its numbering starts: 0 if any of them does."""
    first_label = min(int(_label_sets(file).label_names[0]) for file in files)
    first_feature = int(all(_has_no_feature_zero(file, first_label) for file in files))
    return [_label_sets(file, first_label=first_label, first_feature=first_feature) for file in files]


def _has_no_feature_zero(file: Path, first_label: int) -> bool:
    try:
        read(file, first_label=first_label, first_feature=1)
    except DatasetError:
        return False
    return True


def _widened(part: LabelSets, width: int, p: int) -> LabelSets:
    X = part.X.copy()
    X.resize((X.shape[0], width))
    Y = np.zeros((len(part.Y), p), dtype=np.int8)
    Y[:, : part.Y.shape[1]] = part.Y
    first = int(part.label_names[0])
    return replace(part, X=X, Y=Y, label_names=tuple(str(first + j) for j in range(p)))


def _refuse_strangers(files: tuple[Path, ...], parts: list[LabelSets]) -> None:
    for what, found in (
        ("features", [(part.X.shape[1], part.feature_names) for part in parts]),
        ("labels", [(part.Y.shape[1], part.label_names) for part in parts]),
    ):
        if len(set(found)) > 1:
            raise DatasetError(f"{files[0]} and {files[1]} have different {what}; they are not parts of one data set")


def _stacked(matrices: list[Any]) -> Any:
    from scipy.sparse import csr_array, issparse, vstack

    return csr_array(vstack(matrices)) if issparse(matrices[0]) else np.vstack(matrices)
