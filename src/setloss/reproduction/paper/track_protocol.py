"""Folds, grid and losses that Table 2 and Figure 5 share."""

from __future__ import annotations

from dataclasses import replace

from setloss.reproduction.paper.artefact import Settings
from setloss.reproduction.running import usual_jobs
from setloss.reproduction.tracks.methods import Budget
from setloss.reproduction.tracks.protocol import FULL_GRID, QUICK_GRID, Protocol

CURVES = ("curve1", "curve2", "curve3", "curve4")
TRIAL = Protocol(Cs=QUICK_GRID[1::2], outer=5, inner=2, outer_used=2, budget=Budget(5e-2, 30))
USUAL = Protocol(Cs=QUICK_GRID, outer=5, inner=2, budget=Budget(1e-2, 100))
FULL = Protocol(Cs=FULL_GRID, outer=10, inner=3, budget=Budget(1e-2, 300))


def protocol_for(settings: Settings) -> Protocol:
    """The protocol at the sizes the settings ask for."""
    return replace(
        FULL if settings.full else TRIAL if settings.quick else USUAL, seed=settings.seed, n_jobs=usual_jobs()
    )
