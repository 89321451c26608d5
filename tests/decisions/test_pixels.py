"""Decisions for pixels: exact answers by enumeration of all outcomes and sets, bounds that hold, and large images."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference import masks
from setloss import Dice, FBeta, Hamming, Jaccard, Tversky
from setloss.decisions import pixels
from setloss.decisions.pixels import moment_bounds
from setloss.losses import PAPER_CURVES

decide_pixels = partial(pixels.decide_pixels, scores="probabilities")


def zero_one(y_true, y_pred):
    return 1.0 * np.any(y_true != y_pred, axis=-1)


CURVE, FALLING = PAPER_CURVES["curve1"], PAPER_CURVES["curve4"]
RATIOS = [
    Dice(), Jaccard(), FBeta(2.0), FBeta(0.5), Tversky(0.3, 0.7), Tversky(0.2, 1.5), Tversky(2.0, 0.1),
    Tversky(0.0, 1.0), FBeta(0.0), Tversky(0.3, 0.0), Tversky(0.0, 0.0),
]  # fmt: skip
RATIOS += [replace(loss, zero_division=value) for loss in RATIOS for value in (0.0, 0.4)]
COUNTED = [Hamming(), Hamming(False, 0.3, 0.7), CURVE, FALLING, zero_one]


@cache
def all_losses(loss, size):
    """Of every set, for every outcome."""
    outcomes = masks(size).astype(int)
    return np.array([loss(outcomes, np.tile(chosen, (len(outcomes), 1))) for chosen in outcomes])


def expected_losses(loss, p, chosen):
    """Of one set, and the least of all, over all 2^p outcomes."""
    chances = np.where(masks(len(p)), p, 1 - p).prod(axis=1)
    each = all_losses(loss, len(p)) @ chances
    return each[np.all(masks(len(p)) == chosen, axis=1)].item(), each.min()


chances = st.lists(st.floats(0, 1), min_size=1, max_size=6).map(np.array)


@pytest.mark.parametrize("loss", RATIOS + COUNTED)
@given(chances)
@settings(max_examples=12, deadline=None)
def test_no_set_of_pixels_is_better(loss, p):
    found = decide_pixels(p, loss)
    np.testing.assert_allclose(found.expected_loss, expected_losses(loss, p, found.sets), atol=1e-10)
    assert found.error == found.regret == 0


@pytest.mark.parametrize("loss", [loss for loss in RATIOS if loss.form.false_positive > 0], ids=str)
@given(chances)
@settings(max_examples=20, deadline=None)
def test_bounds_by_moments_hold(loss, p):
    found = decide_pixels(p, loss, method="moments")
    truth, least = expected_losses(loss, p, found.sets)
    assert abs(found.expected_loss - truth) <= found.error + 1e-12
    assert truth - least <= found.regret + 1e-12


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (0.2, 0.8), (0.7, 1.5), (1, 0)])
def test_bounds_are_four_terms_and_the_fourth_moment(a, b):
    """E S (1/d - e/d^2 + e^2/d^3 - e^3/d^4) and E e^4 / d^4 over all outcomes; bounds beyond 0 and 1 are cut off."""
    p = np.sort(np.random.default_rng(5).uniform(0.6, 0.99, 6))[::-1]
    low, high = moment_bounds(p, a, b)
    chances = np.where(masks(6), p, 1 - p).prod(axis=1)
    for k in range(1, 7):
        S, R = masks(6)[:, :k].sum(axis=1), masks(6)[:, k:].sum(axis=1)
        D = (1 - a) * S + a * k + b * R
        d = chances @ D
        e = D - d
        first = chances @ (S * (1 / d - e / d**2 + e**2 / d**3 - e**3 / d**4))
        assert low[k] == pytest.approx(max(first, 0))
        assert high[k] == pytest.approx(min(first + chances @ e**4 / d**4, 1))


def test_errors_fall_with_the_size_of_the_image():
    rng = np.random.default_rng(1)
    errors = [decide_pixels(rng.beta(0.2, 2, n), "dice", method="moments").error for n in (10**3, 10**4, 10**5)]
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 30
    assert errors[2] < errors[1] / 30


def test_a_megapixel_is_decided_to_six_digits():
    found = decide_pixels(np.random.default_rng(2).beta(0.2, 2, (1000, 1000)), "jaccard")
    assert found.rule == "moments"
    assert found.regret < 1e-8
    assert str(found).endswith("(moments)")


def test_auto_is_exact_where_moments_are_not_good_enough():
    for p in (np.full(20_000, 1e-4), np.full(1_000_000, 1e-5)):
        assert decide_pixels(p, "dice").rule == "exact"
        assert decide_pixels(p, "dice", method="moments").regret > 1e-3
    assert decide_pixels(np.full(300_000, 0.3), "dice").rule == "moments"


def test_masks_nothing_and_certainty():
    p = np.array([[0.9, 0.8], [0.1, 1.0]])
    found = decide_pixels(p, "dice", mask=np.array([[True, False], [True, True]]))
    np.testing.assert_array_equal(found.sets, [[True, False], [False, True]])
    assert decide_pixels(np.zeros(0), "dice").expected_loss == 0
    assert decide_pixels(np.zeros(5), "jaccard").expected_loss == 0
    assert decide_pixels(np.array([1.0, 1.0, 0.0]), "jaccard").expected_loss == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": [0.2, 1.4]}, "values are not probabilities"),
        ({"mask": [True] * 2}, r"a mask of shape \(2,\) does not fit"),
        ({"mask": np.ma.masked_array([1, 1], [0, 1])}, "mask is a masked array"),
        ({"method": "fast"}, "method is 'auto', 'exact' or 'moments'; got 'fast'"),
        ({"loss": Tversky(0.3, 0.9), "method": "exact"}, "more than 256 pixels are for Jaccard and F-beta"),
        ({"loss": CURVE}, "at most 256 pixels, there are 300; .* above 1/2"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        decide_pixels(**{"values": np.full(300, 0.2)} | given)


def test_of_equal_pixels_as_few_as_are_best():
    found = decide_pixels(np.full(20, 0.119), Tversky(2.0, 0.1))
    assert found.sets.sum() == 1
    assert not decide_pixels([0.5, 0.2], replace(FBeta(0.0), zero_division=0.5)).sets.any()
    assert found.expected_loss == pytest.approx(0.9017, abs=1e-4)
