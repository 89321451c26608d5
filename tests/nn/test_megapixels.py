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
def image(spread):
    """Scores of a net that is half right, a mask that covers 30 %, and the margins."""
    generator = np.random.default_rng(7)
    truth = generator.random(SIDE * SIDE) < 0.3
    scores = (generator.normal(0.5, 1.0, SIDE * SIDE) * np.where(truth, 1, -1) * spread).astype(np.float32)
    return scores, truth, np.where(truth, scores, -scores)


@cache
def ranked():
    """Elements by ascending margin, and how many positives and negatives stand before each."""
    _, truth, margins = image(1.0)
    order = np.argsort(margins, kind="stable")
    sorted_truth = truth[order]
    return order, np.cumsum(sorted_truth) - sorted_truth, np.cumsum(~sorted_truth) - ~sorted_truth


def slopes(path, loss, operator, spread=1.0):
    scores, truth, _ = image(spread)
    rows = torch.as_tensor(scores)[None], torch.as_tensor(truth)[None]
    value, gradient = PATHS[path](loss, operator, *rows, None, 2.0)
    return float(value[0]), -gradient[0].numpy() * np.where(truth, 1, -1)


@every_path
def test_slopes_of_the_lovasz_hinge_of_jaccard(path):
    """What each element adds to (n + q) / (m + q), by whole numbers below 2^53; of all with a margin below 1."""
    _, truth, margins = image(1.0)
    order, n, q = ranked()
    wrong, union, less = n + q, int(truth.sum()) + q, np.where(truth[order], 0, -1)
    expected = ((wrong + 1) * union - wrong * (union - less)) / (union * (union - less))
    _, slope = slopes(path, Jaccard(), "lovasz")
    below = np.count_nonzero(margins < 1)
    np.testing.assert_allclose(slope[order[:below]], expected[:below], rtol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e-5])
def test_exact_slack_rescaling_of_dice(spread):
    """Value and worst set against the reference operator in float64."""
    _, truth, margins = image(spread)
    cut = SlackRescaling(Dice().set_function(truth)).cut(margins.astype(np.float64))
    value, slope = slopes("host", Dice(), "slack", spread)
    assert value == pytest.approx(cut(margins.astype(np.float64)), rel=1e-6)
    np.testing.assert_allclose(slope, cut.slope, rtol=1e-6)
    assert 0 < np.count_nonzero(slope) < len(slope)
