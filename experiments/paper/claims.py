"""The paper's claims, each with a verdict: computed from tables where experiments decide, by tests where proofs do.

An empirical claim is a list of paired comparisons; it holds if all of them come out for it, in part if some do.
Nothing about data is written here as a fact.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from experiments.document import Estimate
from experiments.tracks.protocol import METHODS

BETTER = "better than"
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
        found = Estimate.of([one - other for one, other in zip(ours, theirs, strict=True)])
        return cls(found.mean, found.error or 0.0)

    @property
    def word(self) -> str:
        if abs(self.difference) <= CLEAR * self.error:
            return "on a par with"
        return BETTER if self.difference < 0 else "worse than"

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
    places = by_place(points).items()
    counts = [f"{sum(point.holds for point in found)} of {len(found)} on {where}" for where, found in places]
    return f"{sum(point.holds for point in points)} of {len(points)} comparisons are for it: {', '.join(counts)}."


# ---------------------------------------------------------------- claims

Numbers = Mapping[str, Mapping[str, Any]]
"""The `numbers` of the documents, by name of the artefact."""

Cells = Iterable[tuple[str, str, Mapping[str, list[float]]]]
"""(data set, what was measured, method -> losses of the repeats or folds)"""

RIVALS = ("hinge", "slack-greedy", "slack")
"""What B_D is measured against: the paper's two, and slack rescaling with its worst set found exactly."""

DICE_RIVALS = (*RIVALS, "lovasz-jaccard")
"""For Dice there is also the Lovász hinge of its submodular relative, the Jaccard loss."""

MEASURES = {"dice": "Dice loss", "wrong": "wrong elements"}

LIKE_AN_SVM = 2.0
"""At most this many times the iterations of the hinge count as "comparable"."""

LIKE_SLACK = 1.5
"""At most this many times the seconds of slack rescaling count as "comparable"."""


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, in our words, with its verdict and what decides it."""

    claim: str
    where: str
    verdict: ClaimVerdict
    evidence: str
    decided_by: str
    points: tuple[ClaimTest, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A statement that tables decide; `points` finds in their numbers what speaks for and against it."""

    claim: str
    where: str
    decided_by: str
    points: Callable[[Numbers], Iterable[ClaimTest]]

    def judge(self, numbers: Numbers) -> Finding:
        found = tuple(self.points(numbers))
        return Finding(self.claim, self.where, weigh(found), sentence(found), self.decided_by, found)


def findings(numbers: Numbers) -> tuple[Finding, ...]:
    """All claims: those that experiments decide, from the numbers that are there, then those that proofs decide."""
    return (*(claim.judge(numbers) for claim in EMPIRICAL), *THEORY)


# ---------------------------------------------------------------- what the tables say


def _toy(numbers: Numbers, measures: tuple[str, ...] = ("dice",)) -> Cells:
    for variant, losses in numbers.get("table1", {}).get("losses", {}).items():
        kind, _, intercept = variant.partition(", ")
        place = f"the {kind} toy problem{f' with {intercept}' if intercept else ''}"
        yield from ((place, MEASURES[measure], losses[measure]) for measure in measures)


def _tracks(numbers: Numbers, *curves: int) -> Cells:
    for data, losses in numbers.get("table2", {}).get("losses", {}).items():
        place = f"{data} tracks" if data == "generated" else data
        yield from ((place, f"loss {k}", losses[f"curve{k}"]) for k in curves if f"curve{k}" in losses)


def _labels(methods: Iterable[str]) -> str:
    return ", ".join(METHODS[method].label for method in methods)


def _against(cells: Cells, method: str, rivals: tuple[str, ...], word: str, *, best: bool = False) -> list[ClaimTest]:
    """A point per cell and rival, for the claim if the method is that; `best`: every rival of a cell counts."""
    points = []
    for place, measured, losses in cells:
        for rival in rivals:
            if method in losses and rival in losses:
                found = Comparison.of(losses[method], losses[rival])
                words = f"{measured}: {_labels([method])} {found.word} {_labels([rival])}, {found}"
                points.append(ClaimTest(place, found.word == word, words, measured if best else ""))
    return points


def _no_gain_on_losses_3_and_4(numbers: Numbers) -> Iterator[ClaimTest]:
    for place, measured, losses in _tracks(numbers, 3, 4):
        rivals = [rival for rival in RIVALS if rival in losses]
        beaten = [rival for rival in rivals if Comparison.of(losses["bd"], losses[rival]).word == BETTER]
        words = f"{measured}: B_D better than {_labels(beaten) or 'none'} of {_labels(rivals)}"
        yield ClaimTest(place, len(beaten) < len(rivals), words)


def _approximate_inference_fails(numbers: Numbers) -> list[ClaimTest]:
    cells = [*_toy(numbers), *_tracks(numbers, 1, 2, 3, 4)]
    methods = ("slack-greedy", "slack-released")
    return [point for method in methods for point in _against(cells, method, ("slack",), "worse than")]


def _converges_like_an_svm(numbers: Numbers) -> Iterator[ClaimTest]:
    for data, found in numbers.get("figure5", {}).get("traces", {}).items():
        for curve, methods in found["iterations"].items():
            ours, theirs = (methods.get(name, {}).get("1e-2") for name in ("bd", "hinge"))
            if theirs is not None:
                holds = ours is not None and ours <= LIKE_AN_SVM * theirs
                count = "never" if ours is None else f"{ours} iterations"
                yield ClaimTest(data, holds, f"loss {curve[-1]}: a gap of 1 % after {count}, hinge {theirs}")


def _costs_as_much_as_slack(numbers: Numbers) -> Iterator[ClaimTest]:
    for way, sizes in numbers.get("table3", {}).get("seconds", {}).items():
        for size, times in sizes.items():
            ratio = times["bd"] / times["slack"]
            yield ClaimTest(way, ratio <= LIKE_SLACK, f"p = {size}: {ratio:.2f} times the seconds of S")


def _dice_is_neither(numbers: Numbers) -> Iterator[ClaimTest]:
    for side in ("less", "more"):
        at = numbers.get("figure1", {}).get(side)
        if at is not None:
            yield ClaimTest("figure 1", bool(at), f"A gains {side} than B at n_A = {', '.join(map(str, at))}")


EMPIRICAL = (
    Claim(
        "Training with B_D gives the least Dice loss",
        "Section 5.1, Table 1",
        f"table 1: B_D against {_labels(DICE_RIVALS)}",
        lambda numbers: _against(_toy(numbers), "bd", DICE_RIVALS, BETTER, best=True),
    ),
    Claim(
        "B_D is better than S with approximate inference in Dice loss and in wrong elements",
        "Section 5.1, Table 1",
        "table 1: B_D against both readings of the greedy search",
        lambda numbers: _against(_toy(numbers, ("dice", "wrong")), "bd", ("slack-greedy", "slack-released"), BETTER),
    ),
    Claim(
        "Training with B_D gives the least loss 1 and loss 2, whose f is not negative",
        "Section 5.2, Table 2",
        f"table 2: B_D against {_labels(RIVALS)}",
        lambda numbers: _against(_tracks(numbers, 1, 2), "bd", RIVALS, BETTER, best=True),
    ),
    Claim(
        "B_D brings no gain on losses 3 and 4, whose f is negative",
        "Section 5.2, Table 2",
        f"table 2: B_D against {_labels(RIVALS)}",
        _no_gain_on_losses_3_and_4,
    ),
    Claim(
        "Slack rescaling with approximate inference fails",
        "Sections 5.1 and 6",
        "tables 1 and 2: approximate against exact inference",
        _approximate_inference_fails,
    ),
    Claim(
        "Cutting planes converge with B_D as fast as for an SVM",
        "Section 5.2, Figure 5",
        f"figure 5: at most {LIKE_AN_SVM:g} times the iterations to a relative gap of 1 %",
        _converges_like_an_svm,
    ),
    Claim(
        "One inference with B_D costs as much as one with S",
        "Section 5.2, Table 3",
        f"table 3: at most {LIKE_SLACK:g} times the seconds",
        _costs_as_much_as_slack,
    ),
    Claim("Dice is neither submodular nor supermodular", "Proposition 6, Figure 1", "figure 1", _dice_is_neither),
)


# ---------------------------------------------------------------- what proofs and enumeration say

THEORY = tuple(
    Finding(**found | {"verdict": ClaimVerdict(found["verdict"])})
    for found in tomllib.loads(Path(__file__).with_name("theory.toml").read_text(encoding="utf-8"))["claims"]
)
"""Decided by enumeration in the tests named; a test compares these verdicts with those of the page on the paper."""
