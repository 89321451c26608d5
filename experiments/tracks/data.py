"""The bags of frames that experiments on tracks run on, and what folds must keep together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.generators import make_tracks
from experiments.loaders import REPETITIONS, load_japanese_vowels, load_spoken_arabic_digits
from setloss.io import DatasetError, Tracks


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames with their labels and bags.

    `units` names what folds must not split: the bag, or the speaker of several bags. Folds have equal shares of every
    value of `strata`. `standardise` asks for features of mean 0 and deviation 1 on the training part.
    """

    X: NDArray[Any] = field(repr=False)
    y: NDArray[np.bool_] = field(repr=False)
    groups: NDArray[Any] = field(repr=False)
    units: NDArray[Any] = field(repr=False)
    strata: NDArray[Any] = field(repr=False)
    standardise: bool = True

    def part(self, kept: NDArray[np.bool_]) -> Frames:
        """Some of the frames."""
        parts = (values[kept] for values in (self.X, self.y, self.groups, self.units, self.strata))
        return Frames(*parts, self.standardise)

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
    """A question about bags of frames, with a name for files and a title for people."""

    name: str
    title: str
    frames: Frames
    note: str = ""

    @property
    def shape(self) -> str:
        """The size in words."""
        n, d = self.frames.X.shape
        return f"{len(np.unique(self.frames.groups))} bags, {n} frames, {d} features"

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
    parameters: TrackParameters, n_bags: int = 1437, n_frames: int = 27504, n_features: int = 1937, *, seed: int = 0
) -> TrackProblem:
    """Tracks of the shape of the paper's faces, or smaller ones."""
    drawn = asdict(parameters)
    tracks = make_tracks(n_bags, n_frames, n_features, **drawn, random_state=seed)
    note = ", ".join(f"{name} {value:g}" for name, value in drawn.items()).replace("positive", "share of positives")
    return of_tracks("generated", "Generated tracks", tracks, note)


def of_tracks(name: str, title: str, tracks: Tracks, note: str = "") -> TrackProblem:
    """Folds by bag, features as they are."""
    y = tracks.y == 1
    return TrackProblem(name, title, Frames(tracks.X, y, tracks.groups, tracks.groups, y, False), note)


# ---------------------------------------------------------------- real data


def japanese_vowels(folder: Path, speaker: int = 1) -> TrackProblem:
    """A speaker against the other eight; all 640 utterances, folds by utterance, with equal shares of speakers."""
    tracks = load_japanese_vowels(folder)
    frames = Frames(tracks.X, tracks.y == speaker, tracks.groups, tracks.groups, tracks.y)
    return TrackProblem("japanese-vowels", "Japanese vowels", frames, f"speaker {speaker} against the rest")


def arabic_speakers(folder: Path, utterances: int = REPETITIONS, every: int = 1) -> TrackProblem:
    """Is the speaker a woman? Folds by speaker.

    Of the ten utterances of a speaker and digit the first `utterances` are taken; of `every` 2, every second speaker.
    """
    tracks, speaker = load_spoken_arabic_digits(folder)
    kept = (tracks.groups % REPETITIONS < utterances) & (speaker % every == 0)
    y = tracks.y[kept] == 1
    note = (
        f"women against men, folds by speaker, {len(np.unique(speaker[kept]))} of 88 speakers, {utterances} of "
        f"{REPETITIONS} utterances of every digit"
    )
    frames = Frames(tracks.X[kept], y, tracks.groups[kept], speaker[kept], y)
    return TrackProblem("arabic-digits-sex", "Spoken Arabic digits, sex", frames, note)


def buffy(folder: Path) -> TrackProblem | None:
    """The paper's face tracks, which are not public, if the folder has ``buffy.npz`` (`numpy.savez`):

    ``X`` (27504, 1937), ``y`` (27504,), 1 being Buffy, and ``groups`` (27504,), the track of every frame.
    """
    file = folder / "buffy.npz"
    if not file.is_file():
        return None
    with np.load(file) as arrays:
        tracks = Tracks(arrays["X"], arrays["y"], arrays["groups"], None)
    return of_tracks("buffy", "Buffy face tracks", tracks)


SOURCES: dict[str, tuple[str, Callable[[Path, bool], TrackProblem]]] = {
    "japanese-vowels": ("japanese_vowels", lambda at, full: japanese_vowels(at)),
    "arabic-digits-sex": ("spoken_arabic_digits", lambda at, full: arabic_speakers(at, *(() if full else (1, 2)))),
}
"""The folder and the reader of every data set; without `full` some of their utterances."""


def sources_in(folder: Path, asked: Sequence[str] | None = None) -> list[str]:
    """The data sets that are asked for, by default all that the folder has."""
    there = [name for name, (place, _) in SOURCES.items() if (folder / place).is_dir()]
    names = there if asked is None else list(asked)
    if not names or not set(names) <= set(there):
        places = ", ".join(f"{name} in {folder / place}" for name, (place, _) in SOURCES.items())
        raise DatasetError(f"there is no data set {' or '.join(asked or SOURCES)}; they are {places}")
    return names


def read_source(name: str, folder: Path, full: bool) -> TrackProblem:
    """A data set of the folder."""
    place, reader = SOURCES[name]
    return reader(folder / place, full)
