"""A megapixel in float32: slopes to six digits against whole numbers.

Differences of two values of the loss, as in a cumulative sum of Jaccard indices, lose up to 24 % of a slope here.
"""

import numpy as np
import pytest
import torch

from helpers.torch_judge import PATHS
from setloss import Jaccard

PIXELS = 1024 * 1024


@pytest.mark.parametrize("path", list(PATHS))
def test_slopes_of_the_lovasz_hinge_of_jaccard(path):
    """What each element adds to (n + q) / (m + q), by whole numbers below 2^53; of all with a margin below 1."""
    generator = np.random.default_rng(7)
    truth = generator.random(PIXELS) < 0.3
    sign = np.where(truth, 1, -1)
    margins = generator.normal(0.5, 1.0, PIXELS).astype(np.float32)
    order = np.argsort(margins, kind="stable")
    ranked = truth[order]
    n, q = np.cumsum(ranked) - ranked, np.cumsum(~ranked) - ~ranked
    wrong, union, less = n + q, int(truth.sum()) + q, np.where(ranked, 0, -1)
    expected = ((wrong + 1) * union - wrong * (union - less)) / (union * (union - less))
    rows = torch.as_tensor(margins * sign.astype(np.float32))[None], torch.as_tensor(truth)[None]
    slope = -PATHS[path](Jaccard(), "lovasz", *rows, None, 2.0)[1][0].numpy() * sign
    below = np.count_nonzero(margins < 1)
    np.testing.assert_allclose(slope[order[:below]], expected[:below], rtol=1e-6)
