"""Public stand-ins for face tracks: utterances, which are bags of frames of one speaker or of one digit.

Both loaders read a folder with the files as their sources name them, and give class numbers as `Tracks.y`; a binary
problem is one class against the rest, ``tracks.y == 3``.
"""

from __future__ import annotations

import gzip
import os
import zlib
from array import array
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from setloss.datasets.checks import existing_file, is_number, numbered_lines, reason, require_finite, shown, whole
from setloss.datasets.data import DatasetError, Tracks

Split = Literal["train", "test"]

MAX_BYTES = 2**28

DIGIT_BLOCKS = {"train": 6600, "test": 2200}
DIGIT_FEATURES = 13


def load_japanese_vowels(folder: str | os.PathLike[str], split: Split = "train") -> Tracks:
    """Japanese vowels (Kudo et al. 1999): 270 training and 370 test utterances, 12 features, 9 speakers.

    Parameters
    ----------
    folder : path
        Where ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts`` are, as timeseriesclassification.com and
        aeon have them.
    split : {"train", "test"}
        Which of the two. `y` is the speaker, 1 to 9; `groups` counts the utterances from 0.
    """
    return read_ts(Path(folder) / f"JapaneseVowels_{_checked(split).upper()}.ts")


def read_ts(path: str | os.PathLike[str]) -> Tracks:
    """Multivariate series with a class each, ``1,2,3:4,5,6:class`` for three frames of two features."""
    file = existing_file(path)
    frames: list[NDArray[np.float64]] = []
    classes, lines = array("q"), array("q")
    started, width = False, None
    for number, line in numbered_lines(file):
        if not started or not line or line.startswith("#"):
            started = started or line.lower() == "@data"
            continue
        place = f"line {number} of {file}"
        *series, label = line.split(":")
        category = whole(label.strip())
        if category is None:
            raise DatasetError(f"{place} ends with {shown(label)}; it must end with the number of a class")
        width = width or len(series)
        frames.append(_series(place, series, width))
        classes.append(category)
        lines.append(number)
    if not frames:
        raise DatasetError(f"{file} has no series after a line @data; the file may be truncated")
    sizes = [len(series) for series in frames]
    X, groups = np.concatenate(frames), np.repeat(np.arange(len(frames)), sizes)
    require_finite(X, lambda row, column: f"line {lines[groups[row]]}, series {column + 1} of {file}")
    return Tracks(X, np.repeat(np.array(classes, dtype=np.int64), sizes), groups, None)


def _series(place: str, series: list[str], width: int) -> NDArray[np.float64]:
    """One bag (frames, features) from its features' texts."""
    if not series or len(series) != width:
        raise DatasetError(f"{place} has {len(series)} series and the first line has {width}; they must agree")
    cells = [text.split(",") for text in series]
    for k, values in enumerate(cells, 1):
        if len(values) != len(cells[0]):
            raise DatasetError(
                f"{place} has series of {len(cells[0])} and {len(values)} frames; a bag has one length"
            )
        strange = next((value for value in values if not is_number(value)), None)
        if strange is not None:
            raise DatasetError(f"{place}, series {k} has {shown(strange)}, not a number; frames must be complete")
    return np.array(cells, dtype=np.float64).T


def load_spoken_arabic_digits(
    folder: str | os.PathLike[str], split: Split = "train", target: Literal["digit", "sex"] = "digit"
) -> Tracks:
    """Spoken Arabic digits (Hammami and Bedda 2010): 6600 training and 2200 test utterances, 13 features.

    Parameters
    ----------
    folder : path
        Where ``Train_Arabic_Digit.txt`` and ``Test_Arabic_Digit.txt`` of UCI are, as they are or packed (.gz).
    split : {"train", "test"}
        Which of the two; they have no speaker in common. `groups` counts the utterances from 0.
    target : {"digit", "sex"}
        `y` is the digit, 0 to 9, or 1 for a female and 0 for a male speaker. The file does not say: by the order
        of the utterances, every digit has its share, the first half of it by men. So their number must be right.
    """
    if target not in ("digit", "sex"):
        raise DatasetError(f"target is 'digit' or 'sex', not {target!r}")
    plain = Path(folder) / f"{_checked(split).capitalize()}_Arabic_Digit.txt"
    file = existing_file(plain if plain.exists() else plain.with_name(f"{plain.name}.gz"))
    X, sizes = _blocks(file, _bytes(file))
    bags = DIGIT_BLOCKS[split]
    if len(sizes) != bags:
        raise DatasetError(
            f"{file} has {len(sizes)} utterances, {bags} are expected; labels go by their order, so use the "
            "original file of UCI"
        )
    share = bags // 10
    utterance = np.arange(bags)
    y = utterance // share if target == "digit" else utterance % share >= share // 2
    return Tracks(
        X, np.repeat(y.astype(np.int64 if target == "digit" else np.int8), sizes), np.repeat(utterance, sizes), None
    )


def _checked(split: str) -> str:
    if split not in DIGIT_BLOCKS:
        raise DatasetError(f"split is 'train' or 'test', not {split!r}")
    return split


def _bytes(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data: bytes = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DatasetError(f"{path} is not a complete gzip file: {reason(error)}; it may be truncated") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise DatasetError(f"{path} holds more than {MAX_BYTES} bytes; this is not the file of UCI")
    return data


def _blocks(path: Path, data: bytes) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The frames, and the lengths of the blocks that blank lines separate."""
    lines = data.splitlines()
    full = np.array([bool(line.strip()) for line in lines], dtype=bool)
    rows = np.flatnonzero(full)
    if not rows.size:
        raise DatasetError(f"{path} has no frames; every line is blank")
    starts = np.flatnonzero(np.diff(rows, prepend=-2) > 1)
    X = _frames(path, lines, rows)
    require_finite(X, lambda row, column: f"line {rows[row] + 1}, number {column + 1} of {path}")
    return X, np.diff(starts, append=len(rows))


def _frames(path: Path, lines: list[bytes], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    try:
        X: NDArray[Any] = np.loadtxt([lines[i] for i in rows], dtype=np.float64, comments=None, ndmin=2)
        if X.shape[1] == DIGIT_FEATURES:
            return X
    except ValueError:
        pass
    for row in rows:
        words = lines[row].split()
        place = f"line {row + 1} of {path}"
        if len(words) != DIGIT_FEATURES:
            raise DatasetError(
                f"{place} has {len(words)} numbers, {DIGIT_FEATURES} are expected; use the file of UCI"
            )
        strange = next((w for w in words if not is_number(w.decode("latin-1"))), None)
        if strange is not None:
            raise DatasetError(f"{place} has {shown(strange.decode('latin-1'))}, not a number; use the file of UCI")
    raise DatasetError(f"{path} cannot be read as rows of {DIGIT_FEATURES} numbers; use the original file of UCI")
