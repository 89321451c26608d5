"""Cuts of rows against the cuts of bags, which are judged by enumeration."""

import numpy as np
import pytest

from setloss import Dice, Hamming, Jaccard, Tversky
from setloss.plans.batch import REMEMBERED_WIDTH, batch_surrogate, row_cuts
from setloss.plans.build import LossSurrogate

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
    values, gradient = row_cuts(scores, truth, LossSurrogate(loss, operator, "mean"), threads=1)
    for one, three in zip(
        (values, gradient), row_cuts(scores, truth, LossSurrogate(loss, operator, "mean"), 3), strict=True
    ):
        np.testing.assert_allclose(one, three, rtol=1e-12)
    batch = batch_surrogate(loss, truth.ravel(), np.arange(6) * width, operator, "mean")
    signs = np.where(truth, 1, -1)
    expected = batch.cuts((signs * scores).ravel())
    np.testing.assert_array_equal(values, expected.values)
    np.testing.assert_array_equal(gradient, -signs * expected.slopes.reshape(scores.shape))


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_spoils_its_own_row_only(broken):
    scores, truth = rows(3, 6)
    surrogate = LossSurrogate(Jaccard(), "lovasz", 2.0)
    whole = row_cuts(scores, truth, surrogate, 1)
    scores[1, 4] = broken
    values, gradient = row_cuts(scores, truth, surrogate, 1)
    assert np.isnan(values[1])
    assert np.isnan(gradient[1]).all()
    np.testing.assert_array_equal(values[[0, 2]], whole[0][[0, 2]])
    np.testing.assert_array_equal(gradient[[0, 2]], whole[1][[0, 2]])
