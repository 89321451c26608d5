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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.model_selection import ShuffleSplit

from setloss.io import DatasetError, LabelSets, Tracks, read

DIGIT_BLOCKS = {"Train": 6600, "Test": 2200}
"""Utterances of the two files of Arabic digits."""

REPETITIONS = 10
"""Every speaker of the Arabic digits says every digit this many times, one utterance after the other."""

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
    """Bags (frames, features) and the label of each."""
    try:
        X = np.concatenate(bags)
    except ValueError as error:
        raise DatasetError(f"{place} has no bags of equal width ({error}); use the original file") from None
    if not np.isfinite(X).all():
        raise DatasetError(f"{place} has numbers that are not finite; use the original file")
    groups = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    return Tracks(X, np.asarray(labels, dtype=np.int64)[groups], groups, None)


def _text(path: Path) -> str:
    """The text of a file, or of the packed file beside it."""
    packed = path.with_name(f"{path.name}.gz")
    try:
        return path.read_text("latin-1") if path.exists() else gzip.decompress(packed.read_bytes()).decode("latin-1")
    except (OSError, EOFError) as error:
        raise DatasetError(f"{path} cannot be read ({error}); download it from its source") from None


# ---------------------------------------------------------------- utterances


def load_japanese_vowels(folder: Path) -> Tracks:
    """Japanese vowels (Kudo et al. 1999): 270 training and then 370 test utterances, 12 features, 9 speakers.

    The folder has ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts``, as timeseriesclassification.com and
    aeon have them: a line ``1,2,3:4,5,6:class`` holds three frames of two features. `y` is the speaker, 1 to 9.
    """
    bags, speakers = [], []
    for split in ("TRAIN", "TEST"):
        file = folder / f"JapaneseVowels_{split}.ts"
        for number, line in enumerate(_text(file).partition("@data")[2].split(), 1):
            *series, label = line.split(":")
            try:
                bags.append(np.array([text.split(",") for text in series], dtype=np.float64).T)
                speakers.append(int(label))
            except ValueError as error:
                raise DatasetError(f"series {number} of {file} cannot be read ({error}); use the original") from None
    return as_tracks(bags, speakers, folder)


def load_spoken_arabic_digits(folder: Path) -> tuple[Tracks, NDArray[np.intp]]:
    """Spoken Arabic digits (Hammami and Bedda 2010), and the speaker of every frame: 8800 utterances, 13 features.

    The folder has ``Train_Arabic_Digit.txt`` and ``Test_Arabic_Digit.txt`` of UCI, as they are or packed (.gz); they
    have no speaker in common. `y` is 1 for a woman and 0 for a man. The files say neither that nor who speaks: within
    a digit the utterances of a speaker follow each other, ten by ten and in the same order for every digit, first
    those of men and then as many of women. (The features jump at every tenth utterance and nowhere else.)
    """
    bags, women, speakers, before = [], [], [], 0
    for split, n_bags in DIGIT_BLOCKS.items():
        file = folder / f"{split}_Arabic_Digit.txt"
        blocks = blocks_of_digits(file)
        if len(blocks) != n_bags:
            raise DatasetError(
                f"{file} has {len(blocks)} utterances, {n_bags} are expected; labels go by their order, so use the "
                "original file of UCI"
            )
        place, share = np.arange(n_bags) % (n_bags // 10), n_bags // 10
        bags += blocks
        women.append(place >= share // 2)
        speakers.append(before + place // REPETITIONS)
        before += share // REPETITIONS
    tracks = as_tracks(bags, np.concatenate(women), folder)
    return tracks, np.concatenate(speakers)[tracks.groups]


def blocks_of_digits(file: Path) -> list[NDArray[Any]]:
    """The blocks of rows that blank lines separate."""
    lines = [line.strip() for line in _text(file).splitlines()]
    rows = np.flatnonzero([bool(line) for line in lines])
    try:
        X = np.loadtxt([lines[row] for row in rows], comments=None, ndmin=2)
    except ValueError as error:
        raise DatasetError(f"{file} cannot be read as rows of numbers ({error}); use the file of UCI") from None
    return np.split(X, np.flatnonzero(np.diff(rows) > 1) + 1)
