"""A megapixel in float32: slopes to six digits against arithmetic of fifty, values against the reference operator.

Differences of two values of the loss, as in a cumulative sum of Jaccard indices, lose up to 24 % of a slope here.
"""

from functools import cache

import mpmath
import numpy as np
import pytest
import torch

from helpers.torch_judge import PATHS
from setloss import Dice, Jaccard
from setloss.operators import SlackRescaling

SIDE = 1024
every_path = pytest.mark.parametrize("path", list(PATHS))


@cache
def image(spread=1.0):
    """Scores of a net that is half right, a mask that covers 30 %, and the margins."""
    generator = np.random.default_rng(7)
    truth = generator.random(SIDE * SIDE) < 0.3
    scores = (generator.normal(0.5, 1.0, SIDE * SIDE) * np.where(truth, 1, -1) * spread).astype(np.float32)
    return scores, truth, np.where(truth, scores, -scores)


@cache
def ranked(spread=1.0):
    """Elements by ascending margin, and how many positives and negatives stand before each."""
    _, truth, margins = image(spread)
    order = np.argsort(margins, kind="stable")
    sorted_truth = truth[order]
    return order, np.cumsum(sorted_truth) - sorted_truth, np.cumsum(~sorted_truth) - ~sorted_truth


def slopes(path, loss, operator, spread=1.0):
    scores, truth, _ = image(spread)
    rows = torch.as_tensor(scores)[None], torch.as_tensor(truth)[None]
    value, gradient = PATHS[path](loss, operator, *rows, None, 2.0)
    return float(value[0]), -gradient[0].numpy() * np.where(truth, 1, -1)


def samples(spread=1.0, number=800):
    """Ranks over the whole range, and the first and last hundred of those with a margin below 1."""
    order, _, _ = ranked(spread)
    active = int(np.sum(image(spread)[2] < 1))
    drawn = np.random.default_rng(8).integers(0, active, number)
    return np.unique(np.concatenate([drawn, np.arange(100), np.arange(active - 100, active)])), order


def exact_loss(n, q, m, a, b):
    n, q, m = (mpmath.mpf(int(k)) for k in (n, q, m))
    return (b * n + a * q) / (m - (1 - b) * n + a * q)


def exact_gain(rank, a, b, truth, order, before):
    """l(first rank + 1) - l(first rank), in fifty digits."""
    m = int(truth.sum())
    n, q = int(before[0][rank]), int(before[1][rank])
    step = (1, 0) if truth[order[rank]] else (0, 1)
    return exact_loss(n + step[0], q + step[1], m, a, b) - exact_loss(n, q, m, a, b)


def relative_errors(got, expected):
    return np.array([float(abs(mpmath.mpf(float(x)) - y) / abs(y)) for x, y in zip(got, expected, strict=True)])


@every_path
def test_slopes_of_the_lovasz_hinge_of_jaccard(path):
    _, truth, _ = image()
    _, slope = slopes(path, Jaccard(), "lovasz")
    ranks, order = samples()
    with mpmath.workdps(50):
        expected = [exact_gain(r, 1, 1, truth, order, ranked()[1:]) for r in ranks]
        assert relative_errors(slope[order[ranks]], expected).max() <= 1e-6


def dice_supermodular(n, m):
    return mpmath.mpf(int(n) * (int(n) - 1)) / ((2 * int(m) - 1) * (2 * int(m) - int(n)))


@every_path
def test_slopes_of_bd_of_dice(path):
    """f's gain along the order plus c g(n*) on the worst set, which is found again here from its definition."""
    _, truth, margins = image()
    _, slope = slopes(path, Dice(), "bd")
    order, misses, alarms = ranked()
    m = int(truth.sum())
    ranks, _ = samples()
    rate, chosen = worst_of_dice_supermodular(truth, margins, order, m)
    with mpmath.workdps(50):
        half = mpmath.mpf(1) / 2
        expected = []
        for r in ranks:
            gain = exact_gain(r, half, half, truth, order, (misses, alarms))
            if truth[order[r]]:
                gain -= dice_supermodular(misses[r] + 1, m) - dice_supermodular(misses[r], m)
            expected.append(gain + (rate if chosen[order[r]] else 0))
        assert relative_errors(slope[order[ranks]], expected).max() <= 1e-6


def worst_of_dice_supermodular(truth, margins, order, m):
    """(c g(n*), the set): all negatives of negative margin, and the n* worst positives."""
    exact = margins.astype(np.float64)
    others = ~truth & (margins < 0)
    positives = order[truth[order]]
    n = np.arange(1.0, m + 1)
    g = n * (n - 1) / ((2 * m - 1) * (2 * m - n))
    objective = g * (1 - 2 * (np.cumsum(exact[positives]) + exact[others].sum()))
    best = int(np.argmax(objective))
    chosen = others.copy()
    chosen[positives[: best + 1]] = True
    return 2 * dice_supermodular(best + 1, m), chosen


@pytest.mark.parametrize(("path", "spread"), [("host", 1.0), ("host", 1e-5), ("device", 1e-5)])
def test_exact_slack_rescaling_of_dice(path, spread):
    """Value and worst set of a megapixel, against the reference operator in float64."""
    margins = image(spread)[2]
    cut = reference_cut(spread)
    value, slope = slopes(path, Dice(), "slack", spread)
    assert value == pytest.approx(cut(margins.astype(np.float64)), rel=1e-6)
    np.testing.assert_allclose(slope, cut.slope, rtol=1e-6)
    assert 0 < np.count_nonzero(slope) < len(slope)


@cache
def reference_cut(spread):
    _, truth, margins = image(spread)
    return SlackRescaling(Dice().set_function(truth)).cut(margins.astype(np.float64))
