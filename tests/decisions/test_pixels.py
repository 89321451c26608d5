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
    return float(np.any(y_true != y_pred))


CURVE, FALLING = PAPER_CURVES["curve1"], PAPER_CURVES["curve4"]
LOSSES = {
    "Dice": (Dice(), 0.5, 0.5),
    "Jaccard": (Jaccard(), 1, 1),
    "FBeta(2)": (FBeta(2.0), 0.2, 0.8),
    "FBeta(1/2)": (FBeta(0.5), 0.8, 0.2),
    "Tversky(0.3, 0.7)": (Tversky(0.3, 0.7), 0.3, 0.7),
    "Tversky(0.2, 1.5)": (Tversky(0.2, 1.5), 0.2, 1.5),
    "Tversky(2, 0.1)": (Tversky(2.0, 0.1), 2, 0.1),
    "recall": (Tversky(0.0, 1.0), 0, 1),
    "precision": (FBeta(0.0), 1, 0),
    "Tversky(0.3, 0)": (Tversky(0.3, 0.0), 0.3, 0),
    "Tversky(0, 0)": (Tversky(0.0, 0.0), 0, 0),
}
ZERO_DIVISION = (0.0, 0.4)
LOSSES |= {
    f"{name}, 0/0 = {value}": (replace(loss, zero_division=value), a, b)
    for name, (loss, a, b) in LOSSES.items()
    for value in ZERO_DIVISION
}
COUNTED = {
    "Hamming": (Hamming(), lambda n, q, size: (n + q) / size),
    "Hamming(0.3, 0.7)": (Hamming(False, 0.3, 0.7), lambda n, q, size: 0.3 * n + 0.7 * q),
    "curve1": (CURVE, lambda n, q, size: float(np.interp((n + q) / size, *np.transpose(CURVE.knots)))),
    "curve4, which falls": (
        FALLING,
        lambda n, q, size: float(np.interp((n + q) / size, *np.transpose(FALLING.knots))),
    ),
    "a callable": (zero_one, lambda n, q, size: float(n + q > 0)),
}


def loss_of(name):
    return (LOSSES | COUNTED)[name][0]


def cost(name, n, q, found, size):
    """The loss by its definition, for n positives missed, q negatives taken and the others found."""
    if name in COUNTED:
        return COUNTED[name][1](n, q, size)
    loss, a, b = LOSSES[name]
    size = found + a * q + b * n
    return 1 - (loss.zero_division if size == 0 else found / size)


@cache
def all_costs(name, size):
    """Of every set, for every outcome."""
    truth, chosen = masks(size)[None, :], masks(size)[:, None]
    counts = (pixels.sum(2) for pixels in (truth & ~chosen, ~truth & chosen, truth & chosen))
    return np.vectorize(cache(partial(cost, name, size=size)), otypes=[float])(*counts)


chances = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def expected_losses(name, p):
    """Of all sets, over all 2^p outcomes."""
    chances = np.where(masks(len(p)), p, 1 - p).prod(axis=1)
    return all_costs(name, len(p)) @ chances


def expected_loss(name, p, chosen):
    """Of one set; the first pixel is the leading bit."""
    return expected_losses(name, p)[int("".join(map(str, chosen.astype(int))), 2)]


NAMES = [*LOSSES, *COUNTED]


@pytest.mark.parametrize("name", NAMES)
@given(chances)
@settings(max_examples=12, deadline=None)
def test_no_set_of_pixels_is_better(name, p):
    p = np.array(p)
    found = decide_pixels(p, loss_of(name))
    np.testing.assert_allclose(found.expected_loss, expected_loss(name, p, found.sets), atol=1e-10)
    np.testing.assert_allclose(found.expected_loss, expected_losses(name, p).min(), atol=1e-10)
    assert found.error == found.regret == 0


@pytest.mark.parametrize("name", [name for name, (_, a, _) in LOSSES.items() if a > 0])
@given(chances)
@settings(max_examples=20, deadline=None)
def test_bounds_by_moments_hold(name, p):
    p = np.array(p)
    found = decide_pixels(p, loss_of(name), method="moments")
    truth = expected_loss(name, p, found.sets)
    assert abs(found.expected_loss - truth) <= found.error + 1e-12
    assert truth - expected_losses(name, p).min() <= found.regret + 1e-12


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
    ("call", "message"),
    [
        (lambda: decide_pixels([0.2, 1.4]), "values are not probabilities"),
        (lambda: decide_pixels([0.2], mask=[True, False]), "a mask of shape \\(2,\\) does not fit"),
        (lambda: decide_pixels([0.2], method="fast"), "method is 'auto', 'exact' or 'moments'; got 'fast'"),
        (
            lambda: decide_pixels(np.full(300, 0.2), Tversky(0.3, 0.9), method="exact"),
            "exact decisions of more than 256 pixels are for Jaccard and F-beta",
        ),
        (lambda: decide_pixels(np.full(17, 0.2), FALLING), "found by comparing all sets, for up to 16 elements"),
        (lambda: decide_pixels(np.full(500, 0.2), zero_one), "cells, the limit is"),
        (lambda: decide_pixels(np.full(300, 0.2), CURVE), "at most 256 pixels, there are 300; .* above 1/2"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_of_equal_pixels_as_few_as_are_best():
    found = decide_pixels(np.full(20, 0.119), Tversky(2.0, 0.1))
    assert found.sets.sum() == 1
    assert not decide_pixels([0.5, 0.2], replace(FBeta(0.0), zero_division=0.5)).sets.any()
    assert found.expected_loss == pytest.approx(0.9017, abs=1e-4)
