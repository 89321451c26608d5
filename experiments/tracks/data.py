"""The bags of frames that experiments on tracks run on, and what folds must keep together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.generators import make_tracks
from experiments.loaders import load_face_descriptors, load_japanese_vowels, load_spoken_arabic_digits
from setloss.io import DatasetError, Tracks

REPETITIONS = 10
"""Every speaker of the Arabic digits says every digit this many times, one utterance after the other."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames with their labels and bags.

    `units` names what folds must not split: the bag, or the speaker of several bags. Folds have equal shares of every
    value of `strata`.
    """

    X: NDArray[Any] = field(repr=False)
    y: NDArray[np.bool_] = field(repr=False)
    groups: NDArray[Any] = field(repr=False)
    units: NDArray[Any] = field(repr=False)
    strata: NDArray[Any] = field(repr=False)

    def part(self, kept: NDArray[np.bool_]) -> Frames:
        """Some of the frames."""
        return Frames(*(values[kept] for values in (self.X, self.y, self.groups, self.units, self.strata)))

    def folds(self, number: int, seed: int) -> NDArray[np.intp]:
        """The fold of every frame: units stay whole, and the units of a stratum are dealt out one by one."""
        names, first, unit = np.unique(self.units, return_index=True, return_inverse=True)
        if len(names) < number:
            raise ValueError(f"{number} folds need at least as many bags or speakers; there are {len(names)}")
        shuffled = np.random.default_rng(seed).permutation(len(names))
        dealt = shuffled[np.argsort(self.strata[first][shuffled], kind="stable")]
        fold = np.empty(len(names), dtype=np.intp)
        fold[dealt] = np.arange(len(names)) % number
        return fold[unit.ravel()]


@dataclass(frozen=True, eq=False)
class TrackProblem:
    """Frames, and one or more questions about their bags; the loss of a fold is the mean over the questions.

    `targets` maps the name of a question to the labels (N,) of the frames; `units` and `strata` are those of
    `Frames`. `standardise` asks for features of mean 0 and deviation 1 on the training part.
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

    def frames(self, question: str) -> Frames:
        """The frames with the answers to one question."""
        return Frames(self.X, self.targets[question], self.groups, self.units, self.strata)

    @property
    def shape(self) -> str:
        """The size in words."""
        return f"{len(np.unique(self.groups))} bags, {len(self.X)} frames, {self.X.shape[1]} features"

    @property
    def words(self) -> str:
        """The size, and what else there is to say."""
        return f"{self.shape}; {self.note}" if self.note else self.shape


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
    drawn = {name: getattr(parameters, name) for name in ("separation", "identity", "noise", "positive")}
    tracks = make_tracks(n_bags, n_frames, n_features, **drawn, dtype="float32", random_state=seed)
    note = ", ".join(f"{name} {value:g}" for name, value in drawn.items()).replace("positive", "share of positives")
    return of_tracks("generated", "Generated tracks", tracks, standardise=False, note=note)


def of_tracks(name: str, title: str, tracks: Tracks, *, standardise: bool = True, note: str = "") -> TrackProblem:
    """One question, folds by bag."""
    y = tracks.y == 1
    return TrackProblem(name, title, tracks.X, {"": y}, tracks.groups, tracks.groups, y, standardise, note)


# ---------------------------------------------------------------- real data


def japanese_vowels(folder: Path, speakers: Sequence[int] = tuple(range(1, 10))) -> TrackProblem:
    """Each of some speakers against the other eight; all 640 utterances, folds by utterance."""
    both = _joined(*(load_japanese_vowels(folder, split) for split in ("train", "test")))
    targets = {f"speaker {k}": both.y == k for k in speakers}
    title, note = "Japanese vowels", f"speaker {speakers[0]} against the rest"
    if len(speakers) > 1:
        note = f"one speaker against the rest, mean over speakers {', '.join(map(str, speakers))}"
    return TrackProblem("japanese-vowels", title, both.X, targets, both.groups, both.groups, both.y, True, note)


def arabic_speakers(folder: Path, utterances: int = REPETITIONS, every: int = 1) -> TrackProblem:
    """Is the speaker a woman? Folds by speaker.

    Of the ten utterances of a speaker and digit the first `utterances` are taken; of `every` 2, every second speaker.
    The files do not name the speakers; within a digit their utterances follow each other, ten by ten and in the same
    order for every digit. (The features jump at every tenth utterance and nowhere else.)
    """
    if not 1 <= utterances <= REPETITIONS:
        raise ValueError(f"every speaker says a digit {REPETITIONS} times; {utterances} cannot be taken")
    parts = [load_spoken_arabic_digits(folder, split, "sex") for split in ("train", "test")]
    speakers, before = [], 0
    for part in parts:
        share = (int(part.groups[-1]) + 1) // 10  # utterances of a digit
        speakers.append(before + part.groups % share // REPETITIONS)
        before += share // REPETITIONS
    both, speaker = _joined(*parts), np.concatenate(speakers)
    kept = (both.groups % REPETITIONS < utterances) & (speaker % every == 0)
    y = both.y[kept] == 1
    note = (
        f"women against men, folds by speaker, {len(np.unique(speaker[kept]))} of 88 speakers, {utterances} of "
        f"{REPETITIONS} utterances of every digit"
    )
    shown = (both.X[kept], {"": y}, both.groups[kept], speaker[kept], y)
    return TrackProblem("arabic-digits-sex", "Spoken Arabic digits, sex", *shown, True, note)


def buffy(folder: Path) -> TrackProblem | None:
    """The paper's face tracks, ``buffy.npz`` or ``buffy.mat``, if they are there; they are not public."""
    for file in (folder / "buffy.npz", folder / "buffy.mat"):
        if file.is_file():
            return of_tracks("buffy", "Buffy face tracks", load_face_descriptors(file), standardise=False)
    return None


SOURCES: dict[str, tuple[str, Callable[[Path, bool], TrackProblem]]] = {
    "japanese-vowels": ("japanese_vowels", lambda at, full: japanese_vowels(at, range(1, 10) if full else (1,))),
    "arabic-digits-sex": (
        "spoken_arabic_digits",
        lambda at, full: arabic_speakers(at, *((10, 1) if full else (1, 2))),
    ),
}
"""The folder and the reader of every data set; without `full` some of their questions and utterances."""


def sources_in(folder: Path, asked: Sequence[str] | None = None) -> list[str]:
    """The data sets that are asked for, by default all that the folder has."""
    there = [name for name, (place, _) in SOURCES.items() if (folder / place).is_dir()]
    names = there if asked is None else list(asked)
    for name in names:
        if name not in SOURCES:
            raise DatasetError(f"there is no data set {name!r}; the names are {', '.join(SOURCES)}")
        if name not in there:
            raise DatasetError(f"{name} needs the folder {folder / SOURCES[name][0]}, which is not there")
    if not names:
        raise DatasetError(f"{folder} has no folder {' or '.join(dict.fromkeys(p for p, _ in SOURCES.values()))}")
    return names


def read_source(name: str, folder: Path, full: bool) -> TrackProblem:
    """A data set of the folder."""
    place, read = SOURCES[name]
    return read(folder / place, full)


def _joined(first: Tracks, second: Tracks) -> Tracks:
    """The tracks of both, those of the second numbered after those of the first."""
    groups = np.concatenate([first.groups, second.groups + first.groups.max() + 1])
    return Tracks(np.concatenate([first.X, second.X]), np.concatenate([first.y, second.y]), groups, None)
