"""Readers of public data: label sets (Mulan) and two sets of utterances (UCI).

All read a folder with the files as their sources name them. Class numbers are in `Tracks.y`; a binary problem is one
class against the rest, ``tracks.y == 3``. What cannot be read is a `DatasetError` that names the file.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.model_selection import ShuffleSplit

from setloss.io import DatasetError, LabelSets, Tracks, read

Split = Literal["train", "test"]

DIGIT_BLOCKS = {"train": 6600, "test": 2200}
DIGIT_FEATURES = 13

# ---------------------------------------------------------------- label sets

MULAN = "a data set is a folder with NAME-train.arff, NAME-test.arff and NAME.xml, or one file NAME.arff"
_PART = re.compile(r"(.+)[-_.](train|test)$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Examples X (n, d) with label sets Y (n, p); the first `n_train`, if known, are the standard training part."""

    name: str
    X: Any = field(repr=False)
    Y: NDArray[Any] = field(repr=False)
    n_train: int | None = None

    def splits(self, halves: int | None = None, seed: int = 0) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """(train, test) rows: the standard split, or random halves, as many as are asked for."""
        if halves is not None:
            return list(ShuffleSplit(halves, train_size=0.5, random_state=seed).split(self.Y))
        if self.n_train is None:
            raise DatasetError(f"{self.name} has no standard split into two files; ask for halves (--halves 5)")
        rows = np.arange(len(self.Y))
        return [(rows[: self.n_train], rows[self.n_train :])]


def find_data_sets(folder: Path, names: Sequence[str] | None = None) -> dict[str, tuple[Path, ...]]:
    """The files of every data set in a folder, or of the folder itself, by name: one file, or training and test."""
    if not folder.is_dir():
        raise DatasetError(f"there is no folder {folder}; {MULAN}")
    places = (folder, *sorted(path for path in folder.iterdir() if path.is_dir()))
    found = {place.resolve().name: files for place in places if (files := _label_set_files(place))}
    for name in names or ():
        if name not in found:
            raise DatasetError(f"{folder} has no data set {name!r}; it has {', '.join(found) or 'none'} ({MULAN})")
    if not found:
        raise DatasetError(f"there is no data set in {folder}; {MULAN}")
    return {name: found[name] for name in names} if names else found


def read_data_set(name: str, files: tuple[Path, ...]) -> DataSet:
    """All examples of a data set; its two parts must have the same features and labels."""
    parts = [_label_sets(file) for file in files]
    for what in ("feature_names", "label_names"):
        if len({getattr(part, what) for part in parts}) > 1:
            raise DatasetError(f"{files[0]} and {files[1]} have different {what}; they are not parts of one data set")
    if len(parts) == 1:
        return DataSet(name, parts[0].X, parts[0].Y)
    X = [part.X for part in parts]
    stacked = csr_array(vstack(X)) if issparse(X[0]) else np.vstack(X)
    return DataSet(name, stacked, np.vstack([part.Y for part in parts]), len(parts[0].Y))


def _label_set_files(folder: Path) -> tuple[Path, ...]:
    """The training and test files of a folder, or its first file."""
    files = sorted(folder.glob("*.arff"))
    parts = {match[2].lower(): path for path in files if (match := _PART.match(path.stem))}
    if len(parts) == 2:
        return parts["train"], parts["test"]
    return tuple(path for path in files if not _PART.match(path.stem))[:1]


def _label_sets(file: Path) -> LabelSets:
    examples = read(file)
    if not isinstance(examples, LabelSets) or examples.Y.dtype.kind == "f":
        raise DatasetError(f"{file} misses labels; the benchmark needs complete label sets")
    return examples


# ---------------------------------------------------------------- bags


def as_tracks(bags: list[NDArray[Any]], labels: Any, place: Path) -> Tracks:
    """Bags (frames, features) and the label of each, checked for their width and for numbers that are not finite."""
    widths = {bag.shape[1:] for bag in bags}
    if not bags or len(widths) != 1:
        raise DatasetError(f"{place} has {len(bags)} bags of {sorted(widths)} features; it may be damaged")
    for number, bag in enumerate(bags, 1):
        if not np.isfinite(bag).all():
            raise DatasetError(f"bag {number} of {place} has numbers that are not finite; frames must be complete")
    groups = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    return Tracks(np.concatenate(bags), np.asarray(labels, dtype=np.int64)[groups], groups, None)


def _text(path: Path) -> str:
    """The text of a file, or of the packed file beside it."""
    packed = path.with_name(f"{path.name}.gz")
    try:
        if packed.exists() and not path.exists():
            return gzip.decompress(packed.read_bytes()).decode("latin-1")
        return path.read_text(encoding="latin-1")
    except FileNotFoundError:
        raise DatasetError(f"there is no file {path}; download it from its source") from None
    except (OSError, EOFError) as error:
        raise DatasetError(f"{path} cannot be read ({error}); it may be truncated") from None


# ---------------------------------------------------------------- utterances


def load_japanese_vowels(folder: Path | str, split: Split = "train") -> Tracks:
    """Japanese vowels (Kudo et al. 1999): 270 training and 370 test utterances, 12 features, 9 speakers.

    The folder has ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts``, as timeseriesclassification.com and
    aeon have them: a line ``1,2,3:4,5,6:class`` holds three frames of two features. `y` is the speaker, 1 to 9.
    """
    file = Path(folder) / f"JapaneseVowels_{split.upper()}.ts"
    _, _, data = _text(file).partition("@data")
    bags, speakers = [], []
    for number, line in enumerate(data.split(), 1):
        *series, label = line.split(":")
        try:
            bags.append(np.array([text.split(",") for text in series], dtype=np.float64).T)
            speakers.append(int(label))
        except ValueError as error:
            raise DatasetError(f"series {number} of {file} cannot be read ({error}); use the original file") from None
    return as_tracks(bags, speakers, file)


def load_spoken_arabic_digits(folder: Path | str, split: Split = "train") -> Tracks:
    """Spoken Arabic digits (Hammami and Bedda 2010): 6600 training and 2200 test utterances, 13 features.

    The folder has ``Train_Arabic_Digit.txt`` and ``Test_Arabic_Digit.txt`` of UCI, as they are or packed (.gz); they
    have no speaker in common. `y` is 1 for a female and 0 for a male speaker, which the file does not say: by the
    order of the utterances, every digit has its share, the first half of it by men.
    """
    file = Path(folder) / f"{split.capitalize()}_Arabic_Digit.txt"
    bags, n_bags = blocks_of_digits(file), DIGIT_BLOCKS[split]
    if len(bags) != n_bags:
        raise DatasetError(
            f"{file} has {len(bags)} utterances, {n_bags} are expected; labels go by their order, so use the "
            "original file of UCI"
        )
    share = n_bags // 10
    return as_tracks(bags, np.arange(n_bags) % share >= share // 2, file)


def blocks_of_digits(file: Path) -> list[NDArray[Any]]:
    """The blocks of rows that blank lines separate."""
    lines = [line.strip() for line in _text(file).splitlines()]
    rows = np.flatnonzero([bool(line) for line in lines])
    try:
        X = np.loadtxt([lines[row] for row in rows], comments=None, ndmin=2)
    except ValueError as error:
        raise DatasetError(f"{file} cannot be read as rows of numbers ({error}); use the file of UCI") from None
    if X.shape[1] != DIGIT_FEATURES:
        raise DatasetError(f"{file} has rows of {X.shape[1]} numbers, {DIGIT_FEATURES} are expected; use UCI's file")
    return np.split(X, np.flatnonzero(np.diff(rows) > 1) + 1)
