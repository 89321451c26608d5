"""How the numbers of a table become a verdict: paired comparisons, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

CLEAR = 2.0
"""So many standard errors make a difference."""


class ClaimVerdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    OPEN = "not decided"


@dataclass(frozen=True)
class Comparison:
    """The loss of one method less that of another, over paired repeats; negative is better."""

    difference: float
    error: float

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
        """Mean and standard error of the paired differences."""
        if len(ours) != len(theirs) or len(ours) < 2:
            raise ValueError(f"a comparison needs two or more pairs; got {len(ours)} and {len(theirs)} losses")
        differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
        return cls(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences))))

    @property
    def better(self) -> bool:
        return self.difference < -CLEAR * self.error

    @property
    def worse(self) -> bool:
        return self.difference > CLEAR * self.error

    @property
    def word(self) -> str:
        return "better than" if self.better else "worse than" if self.worse else "on a par with"

    def __str__(self) -> str:
        return f"{self.difference:+.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class ClaimTest:
    """One test of a claim: where it was made, whether it came out for the claim, and the figures in words.

    Points of one place and one `case` count together: to be best is to beat every rival.
    """

    where: str
    holds: bool
    words: str
    case: str = ""


def weigh(points: Sequence[ClaimTest]) -> ClaimVerdict:
    """All cases for the claim: it holds; none: it does not; else in part. Without points nothing is decided."""
    cases: dict[tuple[str, str], bool] = {}
    for point in points:
        key = point.where, point.case or point.words
        cases[key] = cases.get(key, True) and point.holds
    if not cases:
        return ClaimVerdict.OPEN
    if all(cases.values()):
        return ClaimVerdict.HOLDS
    return ClaimVerdict.IN_PART if any(cases.values()) else ClaimVerdict.FAILS


def by_place(points: Sequence[ClaimTest]) -> dict[str, list[ClaimTest]]:
    """The points of every place, in order of appearance."""
    places: dict[str, list[ClaimTest]] = {}
    for point in points:
        places.setdefault(point.where, []).append(point)
    return places


def sentence(points: Sequence[ClaimTest]) -> str:
    """How many points are for the claim, in all and place by place."""
    if not points:
        return "The tables that decide it have not been made."
    yes, n = sum(point.holds for point in points), len(points)
    if n == 1:
        share = "The only comparison is" if yes else "The only comparison is not"
    else:
        share = f"{'All' if yes == n else 'None of the' if yes == 0 else f'{yes} of'} {n} comparisons are"
    places = by_place(points)
    if len(places) == 1:
        return f"{share} for it, on {next(iter(places))}."
    counts = [f"{sum(point.holds for point in found)} of {len(found)} on {where}" for where, found in places.items()]
    return f"{share} for it: {', '.join(counts)}."
