"""Verdicts are computed: made-up numbers give each of them, and theory agrees with the page on the paper."""

import re
from pathlib import Path

import numpy as np
import pytest

from experiments.paper.claims import EMPIRICAL, THEORY, ClaimVerdict, Comparison, findings

ROOT = Path(__file__).parents[3]


def losses(**means):
    """Losses of five folds that differ alike for all methods, but for a little noise."""
    folds, noise = np.array([0.00, 0.01, -0.01, 0.02, -0.02]), np.random.default_rng(0)
    return {
        name.replace("_", "-"): (mean + folds + 0.001 * noise.standard_normal(5)).tolist()
        for name, mean in means.items()
    }


def toy(homogeneous, mixed):
    """The same losses by both measures."""
    both = {"homogeneous": homogeneous, "mixed": mixed}
    return {"table1": {"losses": {name: {"dice": cell, "wrong": cell} for name, cell in both.items()}}}


def tracks(**curves):
    return {"table2": {"losses": {"faces": curves}}}


def iterations(*of_bd, hinge=10):
    levels = [{"bd": {"1e-2": count}, "hinge": {"1e-2": hinge}} for count in of_bd]
    return {"figure5": {"traces": {"faces": {"iterations": {f"curve{k}": one for k, one in enumerate(levels, 1)}}}}}


def seconds(python, numba):
    return {"table3": {"seconds": {way: {"10": {"bd": t, "slack": 1.0}} for way, t in (("p", python), ("n", numba))}}}


def judged(numbers, words):
    (found,) = (one for one in findings(numbers) if words in one.claim)
    return found


BEST = losses(bd=0.1, hinge=0.2, slack_greedy=0.3, slack=0.15, slack_released=0.4, lovasz_jaccard=0.12)
WORST = losses(bd=0.5, hinge=0.2, slack_greedy=0.3, slack=0.15, slack_released=0.1, lovasz_jaccard=0.12)
LEVEL = losses(bd=0.2, hinge=0.2, slack_greedy=0.2, slack=0.2, slack_released=0.2, lovasz_jaccard=0.2)
SOME = losses(bd=0.2, hinge=0.3, slack_greedy=0.3, slack=0.2, slack_released=0.4, lovasz_jaccard=0.1)


@pytest.mark.parametrize(
    ("words", "numbers", "verdict"),
    [
        ("least Dice loss", toy(BEST, BEST), "holds"),
        ("least Dice loss", toy(BEST, WORST), "holds in part"),
        ("least Dice loss", toy(LEVEL, WORST), "does not hold"),
        ("least Dice loss", toy(SOME, LEVEL), "does not hold"),  # to be best is to beat every rival
        ("in wrong elements", toy(*[losses(bd=0.3, slack_greedy=0.4, slack_released=0.1)] * 2), "holds in part"),
        ("least loss 1", tracks(curve1=BEST, curve2=BEST, curve3=LEVEL), "holds"),
        ("least loss 1", tracks(curve1=WORST, curve2=LEVEL, curve3=BEST), "does not hold"),
        ("no gain", tracks(curve3=LEVEL, curve4=WORST), "holds"),
        ("no gain", tracks(curve3=BEST, curve4=BEST), "does not hold"),
        ("approximate inference fails", toy(BEST, BEST) | tracks(curve1=BEST), "holds"),
        ("approximate inference fails", toy(LEVEL, LEVEL) | tracks(curve1=LEVEL), "does not hold"),
        ("converge", iterations(10, 20), "holds"),
        ("converge", iterations(10, 21), "holds in part"),
        ("converge", iterations(None, 21), "does not hold"),
        ("converge", iterations(3, hinge=None), "not decided"),
        ("costs as much", seconds(1.4, 1.0), "holds"),
        ("costs as much", seconds(2, 2), "does not hold"),
        ("neither", {"figure1": {"less": [5], "more": [1]}}, "holds"),
        ("neither", {"figure1": {"less": [], "more": []}}, "does not hold"),
    ],
)
def test_verdicts(words, numbers, verdict):
    assert str(judged(numbers, words).verdict) == verdict


def test_comparisons_are_counted_place_by_place_and_only_where_both_were_run():
    found = judged(toy(BEST, WORST), "least Dice loss")
    assert "4 of 8 comparisons are for it: 4 of 4 on the homogeneous toy problem, 0 of 4" in found.evidence
    few = judged(toy(losses(bd=0.1, hinge=0.2), losses(bd=0.3, hinge=0.2)), "least Dice loss")
    assert [point.holds for point in few.points] == [True, False]


def test_without_tables_nothing_empirical_is_decided():
    assert {one.verdict for one in findings({})[: len(EMPIRICAL)]} == {ClaimVerdict.OPEN}


def test_comparisons_are_paired_and_two_standard_errors_decide():
    found = Comparison.of([1.0, 2.0, 3.0], [1.1, 2.2, 3.3])
    assert found.difference == pytest.approx(-0.2)
    assert found.error == pytest.approx(0.1 / np.sqrt(3))
    words = [Comparison(difference, 0.1).word for difference in (-0.21, -0.2, 0.21)]
    assert words == ["better than", "on a par with", "worse than"]


@pytest.mark.parametrize("found", THEORY, ids=lambda found: found.where)
def test_theory_agrees_with_the_page_on_the_paper(found):
    assert all((ROOT / name).is_file() for name in found.decided_by.split(", "))
    page = (ROOT / "docs" / "reading-the-paper.md").read_text(encoding="utf-8")
    kind, *numbers = re.findall(r"\w+", found.where.replace("Theorems", "Theorem"))
    for number in (n for n in numbers if n.isdigit()):
        row = re.search(rf"^\| {kind} {number} \|(.*)\|$", page, flags=re.MULTILINE).group(1)
        assert ("**false**" in row) == (found.verdict is ClaimVerdict.FAILS)
