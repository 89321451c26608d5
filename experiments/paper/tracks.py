"""What Table 2 and Figure 5 share: losses, folds and grid, and the tracks they run on.

There are generated tracks, and real ones where their files are found. How the generated ones were set is in
`benchmarks/track_tuning.py`.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.paper.artefact import Settings
from experiments.running import data_folder, usual_jobs
from experiments.tracks.data import (
    FOLDERS,
    SOURCES,
    TrackParameters,
    TrackProblem,
    buffy,
    generated_tracks,
)
from experiments.tracks.methods import Budget
from experiments.tracks.protocol import FULL_GRID, QUICK_GRID, Protocol

CURVES = ("curve1", "curve2", "curve3", "curve4")
TRIAL = Protocol(Cs=QUICK_GRID[1::2], outer=5, inner=2, outer_used=2, budget=Budget(5e-2, 30))
USUAL = Protocol(Cs=QUICK_GRID, outer=5, inner=2, budget=Budget(1e-2, 100))
FULL = Protocol(Cs=FULL_GRID, outer=10, inner=3, budget=Budget(1e-2, 300))

SHAPES = {"quick": (479, 9168, 60), "third": (479, 9168, 646), "full": (1437, 27504, 1937)}
"""Tracks, frames and features: the paper's, a third of each, and a third of the tracks with few features."""

CHOSEN = {
    "quick": TrackParameters(separation=2.0, identity=2.0, noise=1.0, positive=0.5),
    "full": TrackParameters(separation=3.0, identity=2.0, noise=1.0, positive=0.5),
}
"""The closest settings of the family; that of the full shape was searched on a third of every size."""


def protocol_for(settings: Settings) -> Protocol:
    """The protocol at the sizes the settings ask for."""
    return replace(
        FULL if settings.full else TRIAL if settings.quick else USUAL, seed=settings.seed, n_jobs=usual_jobs()
    )


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
    folder = data_folder(settings.data)
    names = ("japanese-vowels", "arabic-digits-sex", *(("arabic-digits-digit",) if settings.full else ()))
    if folder is None:
        return []
    return [SOURCES[name](folder, settings.full) for name in names if (folder / FOLDERS[name]).is_dir()]
