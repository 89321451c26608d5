"""The bags of frames that experiments on tracks run on, and what folds must keep together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.generators import make_tracks
from experiments.loaders import (
    has_face_tracks,
    load_face_descriptors,
    load_face_tracks,
    load_japanese_vowels,
    load_spoken_arabic_digits,
)
from setloss.io import DatasetError, Tracks

DIGITS = 10
REPETITIONS = 10
"""Every speaker of the Arabic digits says every digit this many times, one utterance after the other."""


@dataclass(frozen=True, eq=False)
class TrackProblem:
    """Frames, and one or more questions about their bags; the loss of a fold is the mean over the questions.

    `targets` maps the name of a question to the labels (N,) of the frames. `units` names what must not be split
    between folds: the bag, or the speaker of several bags. Folds have equal shares of every value of `strata`.
    `standardise` asks for features of mean 0 and deviation 1 on the training part.
    """

    name: str
    title: str
    X: NDArray[Any] = field(repr=False)
    targets: dict[str, NDArray[np.bool_]] = field(repr=False)
    groups: NDArray[Any] = field(repr=False)
    units: NDArray[Any] = field(repr=False)
    strata: NDArray[Any] = field(repr=False)
    standardise: bool = True
    note: str = ""

    @property
    def n_bags(self) -> int:
        return len(np.unique(self.groups))

    @property
    def shape(self) -> str:
        """The size in words."""
        return f"{self.n_bags} bags, {len(self.X)} frames, {self.X.shape[1]} features"


@dataclass(frozen=True)
class TrackParameters:
    """How overlapping generated tracks are; the names are those of `make_tracks`."""

    separation: float
    identity: float
    noise: float
    positive: float


def generated_tracks(
    parameters: TrackParameters, *, n_bags: int = 1437, n_frames: int = 27504, n_features: int = 1937, seed: int = 0
) -> TrackProblem:
    """Tracks of the shape of the paper's faces, or smaller ones."""
    tracks = make_tracks(
        n_bags,
        n_frames,
        n_features,
        separation=parameters.separation,
        identity=parameters.identity,
        noise=parameters.noise,
        positive=parameters.positive,
        dtype="float32",
        random_state=seed,
    )
    note = (
        f"separation {parameters.separation:g}, identity {parameters.identity:g}, noise {parameters.noise:g}, "
        f"share of positives {parameters.positive:g}"
    )
    return of_tracks("generated", "Generated tracks", tracks, standardise=False, note=note)


def of_tracks(name: str, title: str, tracks: Tracks, *, standardise: bool = True, note: str = "") -> TrackProblem:
    """One question, folds by bag."""
    y = tracks.y == 1
    return TrackProblem(name, title, tracks.X, {"": y}, tracks.groups, tracks.groups, y, standardise, note)


def japanese_vowels(folder: Path, speakers: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9)) -> TrackProblem:
    """Each of some speakers against the other eight; all 640 utterances, folds by utterance."""
    train, test = (load_japanese_vowels(folder, split) for split in ("train", "test"))
    both = _joined(train, test)
    targets = {f"speaker {k}": both.y == k for k in speakers}
    title, note = "Japanese vowels", _questions("speaker", speakers)
    return TrackProblem("japanese-vowels", title, both.X, targets, both.groups, both.groups, both.y, True, note)


def arabic_speakers(folder: Path, utterances: int = REPETITIONS, every: int = 1) -> TrackProblem:
    """Is the speaker a woman? Folds by speaker.

    Of the ten utterances of a speaker and digit the first `utterances` are taken; of `every` 2, every second speaker.
    """
    both, speakers, kept = _arabic(folder, "sex", utterances, every)
    y = both.y[kept] == 1
    note = f"women against men, folds by speaker, {_sample(speakers[kept], utterances)}"
    parts = (both.X[kept], {"": y}, both.groups[kept], speakers[kept], y)
    return TrackProblem("arabic-digits-sex", "Spoken Arabic digits, sex", *parts, True, note)


def arabic_digits(
    folder: Path, digits: tuple[int, ...] = tuple(range(DIGITS)), utterances: int = REPETITIONS, every: int = 1
) -> TrackProblem:
    """Each of some digits against the other nine; folds by speaker, the rest as in `arabic_speakers`."""
    both, speakers, kept = _arabic(folder, "digit", utterances, every)
    said = both.y[kept]
    note = f"{_questions('digit', digits)}, folds by speaker, {_sample(speakers[kept], utterances)}"
    targets = {f"digit {k}": said == k for k in digits}
    parts = (both.X[kept], targets, both.groups[kept], speakers[kept], np.zeros(int(kept.sum())))
    return TrackProblem("arabic-digits-digit", "Spoken Arabic digits, digit", *parts, True, note)


def buffy(folder: Path) -> TrackProblem | None:
    """The paper's face tracks (``buffy.npz`` or ``buffy.mat``, not public), or the public ones, if they are there."""
    for file in (folder / "buffy.npz", folder / "buffy.mat"):
        if file.is_file():
            return of_tracks("buffy", "Buffy face tracks", load_face_descriptors(file), standardise=False)
    for place in (folder, folder / "buffy"):
        if has_face_tracks(place):
            return face_tracks(place)
    return None


def face_tracks(folder: Path) -> TrackProblem:
    """Buffy against all other faces, from the public tracks; see `load_face_tracks`."""
    note = "Buffy against all others, season 5, folds by track"
    return of_tracks("buffy", "Buffy face tracks (public)", load_face_tracks(folder), note=note)


SOURCES: dict[str, Callable[[Path, bool], TrackProblem]] = {
    "japanese-vowels": lambda folder, full: japanese_vowels(
        folder / "japanese_vowels", tuple(range(1, 10)) if full else (1,)
    ),
    "arabic-digits-sex": lambda folder, full: arabic_speakers(
        folder / "spoken_arabic_digits", *((10, 1) if full else (1, 2))
    ),
    "arabic-digits-digit": lambda folder, full: arabic_digits(
        folder / "spoken_arabic_digits", tuple(range(10)) if full else (0,), *((10, 1) if full else (1, 2))
    ),
    "buffy": lambda folder, full: face_tracks(folder / "buffy"),
}
"""The data sets by name; without `full` some of their questions and utterances."""

FOLDERS = {
    "japanese-vowels": "japanese_vowels",
    "arabic-digits-sex": "spoken_arabic_digits",
    "arabic-digits-digit": "spoken_arabic_digits",
    "buffy": "buffy/features",
}
"""What each of them has in the folder of data."""


def names_in(folder: Path, asked: list[str] | None) -> list[str]:
    """The data sets that are asked for, by default all that the folder has."""
    there = [name for name, part in FOLDERS.items() if (folder / part).is_dir()]
    names = there if asked is None else asked
    for name in names:
        if name not in FOLDERS:
            raise DatasetError(f"there is no data set {name!r}; the names are {', '.join(FOLDERS)}")
        if name not in there:
            raise DatasetError(f"{name} needs the folder {folder / FOLDERS[name]}, which is not there")
    if not names:
        raise DatasetError(f"{folder} has no folder {' or '.join(sorted(set(FOLDERS.values())))}")
    return names


def _joined(train: Tracks, test: Tracks) -> Tracks:
    after = train.groups.max() + 1
    parts = ((train.X, test.X), (train.y, test.y), (train.groups, test.groups + after))
    X, y, groups = (np.concatenate(part) for part in parts)
    return Tracks(X, y, groups, None)


def _arabic(
    folder: Path, target: Any, utterances: int, every: int
) -> tuple[Tracks, NDArray[np.intp], NDArray[np.bool_]]:
    """Both parts of the data, the speaker of every frame, and which frames belong to the utterances asked for.

    The files do not name the speakers; within a digit their utterances follow each other, ten by ten and in the
    same order for every digit. (The features jump at every tenth utterance and nowhere else.)
    """
    if not 1 <= utterances <= REPETITIONS:
        raise ValueError(f"every speaker says a digit {REPETITIONS} times; {utterances} cannot be taken")
    parts = [load_spoken_arabic_digits(folder, split, target) for split in ("train", "test")]
    speakers, repetition, before = [], [], 0
    for part in parts:
        share = (int(part.groups.max()) + 1) // DIGITS
        speakers.append(before + part.groups % share // REPETITIONS)
        repetition.append(part.groups % REPETITIONS)
        before += share // REPETITIONS
    who = np.concatenate(speakers)
    return _joined(*parts), who, (np.concatenate(repetition) < utterances) & (who % every == 0)


def _questions(what: str, numbers: tuple[int, ...]) -> str:
    if len(numbers) == 1:
        return f"{what} {numbers[0]} against the rest"
    return f"one {what} against the rest, mean over {what}s {', '.join(map(str, numbers))}"


def _sample(speakers: NDArray[np.intp], utterances: int) -> str:
    return f"{len(np.unique(speakers))} of 88 speakers, {utterances} of 10 utterances of every digit"
