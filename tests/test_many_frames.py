"""Ten million frames in float32: what is summed over them is summed in float64."""

import math

import numpy as np
import pytest

from setloss import Dice, Hamming, Jaccard
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design
from setloss.solvers.visits import accumulate_rows, all_margins

FRAMES = 10**7


@pytest.fixture(scope="module")
def frames():
    """One column of 0.1 in float32, which is not 0.1: running sums in float32 lose it after a million terms."""
    return np.full((FRAMES, 1), 0.1, dtype=np.float32)


def test_a_row_of_ten_million_features_is_summed_in_float64(frames):
    wide, zero, margin = Design.of(frames.reshape(1, -1), 0.0), np.zeros(1, dtype=np.int64), np.empty(1)
    all_margins(wide.arrays, zero, np.ones(FRAMES + 1), margin)
    assert margin[0] == pytest.approx(FRAMES * float(np.float32(0.1)), rel=1e-9)


def test_millions_of_rows_are_summed_in_float64(frames):
    elements = 4 * 10**6
    design, out = Design.of(frames, 1.0), np.zeros(2)
    accumulate_rows(design.arrays, np.arange(elements), np.ones(elements), out)
    assert out == pytest.approx([elements * float(np.float32(0.1)), elements], rel=1e-9)


@pytest.mark.parametrize("operator", ["hinge", "slack", "lovasz"])
@pytest.mark.parametrize("bags", [1, 1000])
def test_cuts_of_millions_of_frames(bags, operator, frames):
    """Bags of positives, all with one margin: the loss is the share of mistakes, and the answer a formula."""
    elements = FRAMES if bags > 1 else 2 * 10**6
    size, margin = elements // bags, float(np.float32(0.1))
    offsets = np.arange(0, elements + 1, size)
    batch = batch_surrogate(Jaccard(), np.ones(elements, dtype=bool), offsets, operator, 1.0)
    found = batch.cuts(frames.ravel()[:elements])
    expected = {
        "hinge": size * (1 - margin),
        "slack": max(k / size * (1 - k * margin) for k in range(1, 30)),
        "lovasz": 1 - margin,
    }[operator]
    np.testing.assert_allclose(found.values, expected, rtol=1e-9)
    assert found.slopes.dtype == np.float32


def test_a_loss_of_ten_million_frames():
    generator = np.random.default_rng(0)
    truth, predicted = generator.random((2, FRAMES), dtype=np.float32) < np.float32(0.3)
    wrong = int(np.sum(truth != predicted))
    assert Hamming()(truth, predicted) == wrong / FRAMES
    both = int(np.sum(truth & predicted))
    assert Dice()(truth, predicted) == pytest.approx(1 - 2 * both / (2 * both + wrong), rel=1e-12)
    assert math.isfinite(Dice()(truth, ~truth))
