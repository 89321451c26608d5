"""Many small sets by tables and ranks against the cuts of bags, which are judged by enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setloss import Dice, Hamming, Jaccard, Tversky
from setloss.plans.batch import batch_surrogate
from setloss.plans.making import closed_form
from setloss.plans.narrow import NARROW, is_narrow, narrow_cuts

HINGES = [
    (Jaccard(), "lovasz"),
    (Jaccard(), "bd"),
    (Tversky(0.3, 1.5), "lovasz"),
    (Hamming(), "lovasz"),
    (Dice(), "hinge"),
]


@given(data=st.data(), which=st.sampled_from(HINGES), width=st.integers(1, NARROW), single=st.booleans())
def test_small_sets_are_bags(data, which, width, single):
    loss, operator = which
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = rng.random((4, width)) < rng.random((4, 1))
    scores = np.round(rng.normal(0, 1, (4, width)), 1).astype(np.float32 if single else np.float64)  # some are equal
    closed = closed_form(loss, operator, "mean")
    assert is_narrow(width, closed)
    values, gradient = narrow_cuts(scores, truth, closed)
    signs = np.where(truth, 1, -1).astype(scores.dtype)
    expected = batch_surrogate(loss, truth.ravel(), np.arange(5) * width, operator, "mean").cuts(
        (signs * scores).ravel()
    )
    np.testing.assert_allclose(values, expected.values, rtol=1e-12)
    np.testing.assert_array_equal(gradient, -signs * expected.slopes.reshape(scores.shape))


@pytest.mark.parametrize(
    ("loss", "operator"), [(Dice(), "bd"), (Dice(), "slack"), (Tversky(0.3, 0.7), "margin")], ids=str
)
def test_surrogates_with_a_rescaled_part_are_left_to_others(loss, operator):
    assert not is_narrow(8, closed_form(loss, operator, "mean"))


def test_wide_sets_are_left_to_others():
    assert not is_narrow(NARROW + 1, closed_form(Jaccard(), "lovasz", 2.0))


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_spoils_its_own_set_only(broken):
    scores, truth = np.linspace(-1, 1, 18).reshape(3, 6), np.eye(3, 6) > 0
    whole = narrow_cuts(scores, truth, closed_form(Jaccard(), "lovasz", 2.0))
    scores[1, 4] = broken
    values, gradient = narrow_cuts(scores, truth, closed_form(Jaccard(), "lovasz", 2.0))
    assert np.isnan(values[1])
    assert np.isnan(gradient[1]).all()
    np.testing.assert_array_equal(values[[0, 2]], whole[0][[0, 2]])
    np.testing.assert_array_equal(gradient[[0, 2]], whole[1][[0, 2]])
