"""The tracks that Table 2 and Figure 5 run on: generated ones, and real ones where their files are found."""

from __future__ import annotations

from setloss.experiments.track_data import (
    TrackProblem,
    arabic_digits,
    arabic_speakers,
    buffy,
    data_folder,
    generated_tracks,
    japanese_vowels,
)
from setloss.paper.artefact import Settings
from setloss.paper.track_tuning import CHOSEN, SHAPES

QUICK_SPEAKERS = (1,)
QUICK_DIGITS = (0,)


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
    """Japanese vowels and spoken Arabic digits, as many of them as the data folder has."""
    folder, found = data_folder(settings.data), []
    if folder is None:
        return []
    if (folder / "japanese_vowels").is_dir():
        speakers = tuple(range(1, 10)) if settings.full else QUICK_SPEAKERS
        found.append(japanese_vowels(folder / "japanese_vowels", speakers))
    if (folder / "spoken_arabic_digits").is_dir():
        digits = tuple(range(10)) if settings.full else QUICK_DIGITS
        utterances, every = (10, 1) if settings.full else (1, 2)
        found.append(arabic_speakers(folder / "spoken_arabic_digits", utterances, every))
        found.append(arabic_digits(folder / "spoken_arabic_digits", digits, utterances, every))
    return found
