"""Verdicts are computed: made-up numbers give each of them, and theory agrees with the page on the paper."""

import re
from pathlib import Path

import numpy as np
import pytest

from experiments.paper.claims import EMPIRICAL, THEORY, findings
from experiments.paper.evidence import ClaimTest, ClaimVerdict, Comparison, sentence, weigh

ROOT = Path(__file__).parents[3]
FOLDS = np.array([0.00, 0.01, -0.01, 0.02, -0.02])
"""Differences between folds, common to all methods."""


def losses(**means):
    """Losses that differ between folds alike for all methods, but for a little noise."""
    generator = np.random.default_rng(0)
    return {
        name.replace("_", "-"): (mean + FOLDS + 0.001 * generator.standard_normal(5)).tolist()
        for name, mean in means.items()
    }


def toy(homogeneous, mixed):
    """The same losses by both measures."""
    both = {"homogeneous": homogeneous, "mixed": mixed}
    return {"table1": {"losses": {name: {"dice": cell, "wrong": cell} for name, cell in both.items()}}}


def tracks(**curves):
    return {"table2": {"losses": {"faces": curves}}}


def judged(numbers, words):
    (found,) = (one for one in findings(numbers) if words in one.claim)
    return found


BEST = losses(bd=0.1, hinge=0.2, slack_greedy=0.3, slack=0.15, slack_released=0.4, lovasz_jaccard=0.12)
WORST = losses(bd=0.5, hinge=0.2, slack_greedy=0.3, slack=0.15, slack_released=0.1, lovasz_jaccard=0.12)
LEVEL = losses(bd=0.2, hinge=0.2, slack_greedy=0.2, slack=0.2, slack_released=0.2, lovasz_jaccard=0.2)


@pytest.mark.parametrize(
    ("homogeneous", "mixed", "verdict"),
    [(BEST, BEST, "holds"), (BEST, WORST, "holds in part"), (LEVEL, WORST, "does not hold")],
)
def test_best_on_dice(homogeneous, mixed, verdict):
    found = judged(toy(homogeneous, mixed), "least Dice loss")
    assert str(found.verdict) == verdict
    assert len(found.points) == 8


def test_to_be_best_is_to_beat_every_rival():
    """Better than two of four on one toy, and than none on the other."""
    some = losses(bd=0.2, hinge=0.3, slack_greedy=0.3, slack=0.2, slack_released=0.4, lovasz_jaccard=0.1)
    assert str(judged(toy(some, LEVEL), "least Dice loss").verdict) == "does not hold"
    assert str(judged(toy(some, BEST), "least Dice loss").verdict) == "holds in part"


@pytest.mark.parametrize(
    ("cell", "verdict"), [(BEST, "holds"), (losses(bd=0.3, slack_greedy=0.4, slack_released=0.1), "holds in part")]
)
def test_better_than_approximate_slack_by_both_measures(cell, verdict):
    found = judged(toy(cell, cell), "in wrong elements")
    assert str(found.verdict) == verdict
    assert {point.words.split(":")[0] for point in found.points} == {"Dice loss", "wrong elements"}


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [(BEST, BEST, "holds"), (BEST, LEVEL, "holds in part"), (WORST, LEVEL, "does not hold")],
)
def test_best_on_losses_1_and_2(first, second, verdict):
    numbers = tracks(curve1=first, curve2=second, curve3=BEST, curve4=BEST)
    assert str(judged(numbers, "least loss 1").verdict) == verdict


@pytest.mark.parametrize(
    ("third", "fourth", "verdict"),
    [(LEVEL, WORST, "holds"), (LEVEL, BEST, "holds in part"), (BEST, BEST, "does not hold")],
)
def test_no_gain_on_losses_3_and_4(third, fourth, verdict):
    assert str(judged(tracks(curve3=third, curve4=fourth), "no gain").verdict) == verdict


@pytest.mark.parametrize(("cell", "verdict"), [(BEST, "holds"), (WORST, "holds in part"), (LEVEL, "does not hold")])
def test_approximate_inference(cell, verdict):
    numbers = toy(cell, cell) | tracks(curve1=cell)
    found = judged(numbers, "approximate inference fails")
    assert str(found.verdict) == verdict
    places = {point.where for point in found.points}
    assert places == {"the homogeneous toy problem", "the mixed toy problem", "faces"}


def gaps(**methods):
    return {name: {"1e-1": 1, "1e-2": count, "1e-3": None} for name, count in methods.items()}


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [(10, 20, "holds"), (10, 21, "holds in part"), (None, 21, "does not hold")],
)
def test_convergence(first, second, verdict):
    iterations = {"faces": {"curve1": gaps(bd=first, hinge=10), "curve2": gaps(bd=second, hinge=10)}}
    assert str(judged({"figure5": {"iterations": iterations}}, "converge").verdict) == verdict


def test_convergence_is_open_where_the_hinge_never_gets_there():
    iterations = {"faces": {"curve1": gaps(bd=3, hinge=None)}}
    assert judged({"figure5": {"iterations": iterations}}, "converge").verdict is ClaimVerdict.OPEN


@pytest.mark.parametrize(
    ("python", "numba", "verdict"), [(1.4, 1.0, "holds"), (2, 1, "holds in part"), (2, 2, "does not hold")]
)
def test_cost(python, numba, verdict):
    seconds = {"python": {"10": {"bd": python, "slack": 1.0}}, "numba": {"10": {"bd": numba, "slack": 1.0}}}
    assert str(judged({"table3": {"seconds": seconds}}, "costs as much").verdict) == verdict


@pytest.mark.parametrize(
    ("less", "more", "verdict"), [([5], [1], "holds"), ([], [1], "holds in part"), ([], [], "does not hold")]
)
def test_dice_is_neither(less, more, verdict):
    assert str(judged({"figure1": {"less": less, "more": more}}, "neither").verdict) == verdict


def test_every_sentence_of_the_table_ends():
    for numbers in ({}, toy(BEST, WORST) | tracks(curve1=LEVEL), toy(losses(bd=0.1, hinge=0.2), {})):
        assert all(one.evidence.endswith(".") for one in findings(numbers))


def test_without_tables_nothing_empirical_is_decided():
    found = findings({})
    assert {one.verdict for one in found[: len(EMPIRICAL)]} == {ClaimVerdict.OPEN}
    assert all(one.verdict is not ClaimVerdict.OPEN for one in found[len(EMPIRICAL) :])


def test_a_method_that_was_not_run_is_not_compared():
    found = judged(toy(losses(bd=0.1, hinge=0.2), losses(bd=0.3, hinge=0.2)), "least Dice loss")
    assert [point.holds for point in found.points] == [True, False]


def test_evidence_has_the_figures():
    found = judged(toy(BEST, WORST), "least Dice loss")
    assert (
        found.evidence
        == "4 of 8 comparisons are for it: 4 of 4 on the homogeneous toy problem, 0 of 4 on the mixed toy problem."
    )
    assert re.fullmatch(
        r"Dice loss: B_D better than 0-1 \(hinge\), -0\.(09|10)\d\d ± 0\.00\d\d", found.points[0].words
    )


# ---------------------------------------------------------------- comparisons


def test_comparisons_are_paired():
    found = Comparison.of([1.0, 2.0, 3.0], [1.1, 2.2, 3.3])
    assert found.difference == pytest.approx(-0.2)
    assert found.error == pytest.approx(0.1 / np.sqrt(3))
    assert found.better
    assert Comparison.of([3.0, 2.0, 1.0], [1.1, 2.2, 3.3]).word == "on a par with"


def test_two_standard_errors_decide():
    assert Comparison(-0.21, 0.1).word == "better than"
    assert Comparison(-0.2, 0.1).word == "on a par with"
    assert Comparison(0.21, 0.1).word == "worse than"
    assert Comparison(0.0, 0.0).word == "on a par with"


def test_unpaired_losses_are_refused():
    with pytest.raises(ValueError, match="two or more pairs"):
        Comparison.of([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="two or more pairs"):
        Comparison.of([1.0], [1.0])


def test_points_are_weighed():
    yes, no = ClaimTest("here", True, ""), ClaimTest("there", False, "")
    assert [weigh(points) for points in ([], [yes], [yes, no], [no])] == [
        ClaimVerdict.OPEN, ClaimVerdict.HOLDS, ClaimVerdict.IN_PART, ClaimVerdict.FAILS,
    ]  # fmt: skip
    assert sentence([yes, no]) == "1 of 2 comparisons are for it: 1 of 1 on here, 0 of 1 on there."


# ---------------------------------------------------------------- theory


@pytest.mark.parametrize("found", THEORY, ids=lambda found: found.where)
def test_the_files_that_decide_theory_exist(found):
    for name in found.decided_by.split(", "):
        assert (ROOT / name).is_file()


@pytest.mark.parametrize("found", THEORY, ids=lambda found: found.where)
def test_theory_agrees_with_the_page_on_the_paper(found):
    page = (ROOT / "docs" / "reading-the-paper.md").read_text(encoding="utf-8")
    kind, *numbers = re.findall(r"\w+", found.where.replace("Theorems", "Theorem"))
    for number in (n for n in numbers if n.isdigit()):
        row = re.search(rf"^\| {kind} {number} \|(.*)\|$", page, flags=re.MULTILINE).group(1)
        assert ("**false**" in row) == (found.verdict is ClaimVerdict.FAILS)
