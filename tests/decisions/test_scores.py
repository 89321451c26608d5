"""What scores are, and certainty: zeros, ones and infinite log-odds count as twice the largest odds of the others."""

import numpy as np
import pytest
from scipy.special import expit, logit

from setloss.decisions import decide
from setloss.decisions.scores import odds_of_certainty, without_certainty

VOTES = np.array([0.0, 1 / 200, 0.3, 0.9, 1.0])


@pytest.mark.parametrize(("votes", "probabilities"), [(VOTES, True), (logit(VOTES), False)])
def test_a_vote_of_none_is_about_half_a_vote(votes, probabilities):
    certainty = odds_of_certainty(votes, probabilities)
    assert expit(-certainty) == pytest.approx(1 / 400, rel=0.01)
    found = without_certainty(votes, probabilities, certainty)
    np.testing.assert_allclose(found, [-certainty, *logit(VOTES[1:4]), certainty])
    assert odds_of_certainty(1 - VOTES, True) == pytest.approx(certainty)


@pytest.mark.parametrize(
    ("chances", "stands_for"),
    [([0.0, 1.0], 1e-2), ([0.5], 1e-2), ([0.0, 1e-12, 1.0], 1e-2), ([1 - 1e-16, 0.01], 0.005), ([1.2e-6], 1e-6)],
)
def test_what_zero_stands_for_is_bounded_and_not_a_matter_of_rounding(chances, stands_for):
    assert expit(-odds_of_certainty(np.array(chances), True)) == pytest.approx(stands_for, rel=0.01)


def test_finite_margins_stay_as_they_are():
    margins = np.array([-400.0, 3.0, np.inf])
    certainty = odds_of_certainty(margins, False)
    np.testing.assert_array_equal(without_certainty(margins, False, certainty), [-400.0, 3.0, 400 + np.log(2)])


def test_probabilities_are_told_from_log_odds():
    p = np.array([[0.9, 0.2, 0.4], [0.1, 0.6, 0.0]])
    for values in (p, p.tolist(), np.zeros((2, 3))):
        with pytest.raises(ValueError, match='scores="probabilities"'):
            decide(values, "f1")
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log1p(-p)
    np.testing.assert_array_equal(decide(p, "f1", scores="probabilities").sets, decide(log_odds, "f1").sets)
    assert decide(p, "f1", scores="log-odds").sizes.tolist() == [3, 3]
    with pytest.raises(ValueError, match="not probabilities"):
        decide(2 * p, "f1", scores="probabilities")
    rounded = np.array([[-1e-9, 0.3, 1 + 1e-7]])
    assert decide(rounded, "f1", scores="probabilities").sets.tolist() == [[False, False, True]]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1j, 2.0]], "real numbers"),
        ([["a", "b"]], "real numbers"),
        ([[None, 1.0]], "NaN|real numbers"),
        (np.ma.masked_array([[1.0, -2.0]], mask=[[True, False]]), "masked"),
        ([[np.nan, 1.0]], "NaN"),
        ([[1.0, 2.0], [3.0]], "real numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "real numbers"),
    ],
)
def test_what_is_no_score_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        decide(values, "f1")
    with pytest.raises(ValueError, match="scores is one of"):
        decide([[1.0, -2.0]], "f1", scores="logits")
