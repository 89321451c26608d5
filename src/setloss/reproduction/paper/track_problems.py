"""The tracks that Table 2 and Figure 5 run on: generated ones, and real ones where their files are found."""

from __future__ import annotations

from setloss.reproduction.data_folder import data_folder
from setloss.reproduction.paper.artefact import Settings
from setloss.reproduction.paper.track_tuning import CHOSEN, SHAPES
from setloss.reproduction.tracks.data import (
    TrackProblem,
    arabic_digits,
    arabic_speakers,
    buffy,
    generated_tracks,
    japanese_vowels,
)

QUICK_SPEAKERS = (1,)


def paper_like(settings: Settings) -> list[TrackProblem]:
    """What stands for the paper's face tracks: the tracks themselves if the user has them, and generated ones."""
    folder = data_folder(settings.data)
    faces = None if folder is None else buffy(folder)
    shape = "full" if settings.full else "quick"
    n_bags, n_frames, n_features = SHAPES[shape]
    generated = generated_tracks(
        CHOSEN[shape], n_bags=n_bags, n_frames=n_frames, n_features=n_features, seed=settings.seed
    )
    return [generated] if faces is None else [faces, generated]


def real(settings: Settings) -> list[TrackProblem]:
    """Japanese vowels and spoken Arabic digits, as many of them as the data folder has.

    The quick run asks for one speaker of the former, and for the sex of half of the speakers of the latter; one digit
    against the rest is left to the full run.
    """
    folder, found = data_folder(settings.data), []
    if folder is None:
        return []
    if (folder / "japanese_vowels").is_dir():
        speakers = tuple(range(1, 10)) if settings.full else QUICK_SPEAKERS
        found.append(japanese_vowels(folder / "japanese_vowels", speakers))
    arabic = folder / "spoken_arabic_digits"
    if arabic.is_dir():
        found.append(arabic_speakers(arabic) if settings.full else arabic_speakers(arabic, utterances=1, every=2))
    if arabic.is_dir() and settings.full:
        found.append(arabic_digits(arabic))
    return found
