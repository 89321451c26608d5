"""A megapixel in float32: slopes to six digits against whole numbers, values against the reference operator.

Differences of two values of the loss, as in a cumulative sum of Jaccard indices, lose up to 24 % of a slope here.
"""

from functools import cache

import numpy as np
import pytest
import torch

from helpers.torch_judge import PATHS
from setloss import Dice, Jaccard
from setloss.operators import SlackRescaling

SIDE = 1024
every_path = pytest.mark.parametrize("path", list(PATHS))


@cache
def image(spread, side):
    """Scores of a net that is half right, a mask that covers 30 %, and the margins."""
    generator = np.random.default_rng(7)
    truth = generator.random(side * side) < 0.3
    scores = (generator.normal(0.5, 1.0, side * side) * np.where(truth, 1, -1) * spread).astype(np.float32)
    return scores, truth, np.where(truth, scores, -scores)


@cache
def ranked():
    """Elements by ascending margin, and how many positives and negatives stand before each."""
    _, truth, margins = image(1.0, SIDE)
    order = np.argsort(margins, kind="stable")
    sorted_truth = truth[order]
    return order, np.cumsum(sorted_truth) - sorted_truth, np.cumsum(~sorted_truth) - ~sorted_truth


def slopes(path, loss, operator, spread=1.0, side=SIDE):
    scores, truth, _ = image(spread, side)
    rows = torch.as_tensor(scores)[None], torch.as_tensor(truth)[None]
    value, gradient = PATHS[path](loss, operator, *rows, None, 2.0)
    return float(value[0]), -gradient[0].numpy() * np.where(truth, 1, -1)


def gains(k):
    """What each element adds to the (n + q) / (k m - (k - 1) n + q) of those before it, as whole numbers give it.

    One is the Jaccard loss, two the Dice loss; the products are below 2^53.
    """
    order, n, q = ranked()
    truth = image(1.0, SIDE)[1]
    union = k * int(truth.sum()) - (k - 1) * n + q
    step = truth[order]
    wrong, less = n + q, np.where(step, k - 1, -1)
    return ((wrong + 1) * union - wrong * (union - less)) / (union * (union - less))


def assert_six_digits(slope, expected):
    """Of all elements with a margin below 1."""
    order = ranked()[0][: np.count_nonzero(image(1.0, SIDE)[2] < 1)]
    np.testing.assert_allclose(slope[order], expected[: len(order)], rtol=1e-6)


@every_path
def test_slopes_of_the_lovasz_hinge_of_jaccard(path):
    _, slope = slopes(path, Jaccard(), "lovasz")
    assert_six_digits(slope, gains(1))


@every_path
def test_slopes_of_bd_of_dice(path):
    """f's gain along the order plus c g(n*) on the worst set, which is found again here from its definition.

    g(n) = n (n - 1) / ((2 m - 1) (2 m - n)) for n misses, which the next one raises by
    n (4 m - n - 1) / ((2 m - 1) (2 m - n - 1) (2 m - n)).
    """
    _, truth, margins = image(1.0, SIDE)
    _, slope = slopes(path, Dice(), "bd")
    order, n, _ = ranked()
    m = int(truth.sum())
    rate, chosen = worst_of_dice_supermodular(truth, margins, order, m)
    submodular = gains(2)
    n = n[truth[order]]
    submodular[truth[order]] -= n * (4 * m - n - 1) / ((2 * m - 1) * (2 * m - n - 1) * (2 * m - n))
    assert_six_digits(slope, submodular + np.where(chosen[order], rate, 0))


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
    return 2 * g[best], chosen


@pytest.mark.parametrize(
    ("path", "spread", "side"), [("host", 1.0, SIDE), ("host", 1e-5, SIDE), ("device", 1e-5, 512)]
)
def test_exact_slack_rescaling_of_dice(path, spread, side):
    """Value and worst set against the reference operator in float64; tensors are searched in twenty full passes."""
    _, truth, margins = image(spread, side)
    cut = SlackRescaling(Dice().set_function(truth)).cut(margins.astype(np.float64))
    value, slope = slopes(path, Dice(), "slack", spread, side)
    assert value == pytest.approx(cut(margins.astype(np.float64)), rel=1e-6)
    np.testing.assert_allclose(slope, cut.slope, rtol=1e-6)
    assert 0 < np.count_nonzero(slope) < len(slope)
