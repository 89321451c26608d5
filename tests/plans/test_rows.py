"""Cuts of rows against the cuts of bags, which are judged by enumeration."""

import numpy as np
import pytest

from setloss import Dice, Hamming, Jaccard, Tversky
from setloss.plans.batch import batch_surrogate
from setloss.plans.making import closed_form
from setloss.plans.rows import REMEMBERED_WIDTH, row_cuts

PAIRS = [
    (Jaccard(), "lovasz"),
    (Dice(), "bd"),
    (Dice(), "bd-monotone"),
    (Dice(), "slack"),
    (Tversky(0.3, 0.7), "margin"),
    (Hamming(), "slack"),
    (Dice(), "hinge"),
]


def rows(n, width):
    rng = np.random.default_rng(width)
    truth = rng.random((n, width)) < rng.random((n, 1))
    return np.round(rng.normal(0, 1, (n, width)), 1), truth  # rounded: some scores are equal


@pytest.mark.parametrize(("loss", "operator"), PAIRS, ids=str)
@pytest.mark.parametrize("width", [1, 7, REMEMBERED_WIDTH + 1])
def test_rows_are_bags_with_the_signs_of_their_truth(loss, operator, width):
    scores, truth = rows(5, width)
    values, gradient = row_cuts(scores, truth, closed_form(loss, operator, "mean"), threads=1)
    batch = batch_surrogate(loss, truth.ravel(), np.arange(6) * width, operator, "mean")
    signs = np.where(truth, 1, -1)
    expected = batch.cuts((signs * scores).ravel())
    np.testing.assert_array_equal(values, expected.values)
    np.testing.assert_array_equal(gradient, -signs * expected.slopes.reshape(scores.shape))


def test_threads_change_nothing():
    scores, truth = rows(5, 9)
    closed = closed_form(Dice(), "bd", 2.0)
    one, three = (row_cuts(scores, truth, closed, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_spoils_its_own_row_only(broken):
    scores, truth = rows(3, 6)
    closed = closed_form(Jaccard(), "lovasz", 2.0)
    whole = row_cuts(scores, truth, closed, 1)
    scores[1, 4] = broken
    values, gradient = row_cuts(scores, truth, closed, 1)
    assert np.isnan(values[1])
    assert np.isnan(gradient[1]).all()
    np.testing.assert_array_equal(values[[0, 2]], whole[0][[0, 2]])
    np.testing.assert_array_equal(gradient[[0, 2]], whole[1][[0, 2]])
