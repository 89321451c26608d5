"""Equal to the cuts of the NumPy core: 1e-12 in float64, 1e-6 in float32, for every loss of the library."""

import numpy as np
import pytest
import torch

from helpers.torch_judge import CASES, CLOSED, PAIRS, PATHS, assert_close, draw
from setloss import Dice, FBeta, Hamming, Jaccard, Tversky
from setloss.plans.batch import batch_surrogate

NEEDS_PROGRAM = {"FBeta(1/2)", "Tversky(2, 0)"}
"""Their decomposition is a linear program, for small sets only."""

DTYPES = {torch.float64: 1e-12, torch.float32: 1e-6}


def core(loss, operator, scores, truth, valid, scale):
    """Values and gradients of the core in float64, at the scores as they are in their dtype."""
    valid = torch.ones_like(truth) if valid is None else valid
    inside, positive = valid.numpy(), truth.numpy()
    sign = np.where(positive, 1.0, -1.0)
    sizes = inside.sum(1)
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0])))
    batch = batch_surrogate(loss, positive[inside], offsets, operator, scale)
    cuts = batch.cuts((sign * scores.double().numpy())[inside])
    values, gradients = np.zeros(len(sizes)), np.zeros(inside.shape)
    values[sizes > 0] = cuts.values
    gradients[inside] = -cuts.slopes
    return values, sign * gradients


def check(path, loss, operator, scores, truth, valid, scale=2.0):
    values, gradients = PATHS[path](loss, operator, scores, truth, valid, scale)
    assert values.dtype == gradients.dtype == scores.dtype
    expected = core(loss, operator, scores, truth, valid, scale)
    assert_close(values, expected[0], DTYPES[scores.dtype])
    assert_close(gradients, expected[1], DTYPES[scores.dtype])


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
@pytest.mark.parametrize(
    ("path", "name", "operator"), [("host", *pair) for pair in PAIRS] + [("device", *pair) for pair in CLOSED]
)
def test_sets_of_forty_elements(path, name, operator, dtype):
    p = 12 if name in NEEDS_PROGRAM and operator.startswith("bd") else 40
    for spread, valid_too in ((1.0, False), (0.05, True)):
        scores, truth, valid = draw((6, p), seed=1, spread=spread, dtype=dtype)
        check(path, CASES[name].loss, operator, scores, truth, valid if valid_too else None)


LARGE = [
    (Dice(), "bd"),
    (Dice(), "bd-monotone"),
    (Dice(), "slack"),
    (Dice(), "margin"),
    (Jaccard(), "lovasz"),
    (Jaccard(), "slack"),
    (Tversky(0.3, 0.7), "bd"),
    (Tversky(0.7, 0.3), "slack"),
    (FBeta(2.0), "bd"),
    (FBeta(2.0), "bd-monotone"),
    (Hamming(False, 0.3, 0.7), "bd"),
    (Hamming(), "margin"),
    (Dice(), "hinge"),
]


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("path", list(PATHS))
@pytest.mark.parametrize(("loss", "operator"), LARGE, ids=str)
def test_sets_of_thousands_of_elements(loss, operator, path, share):
    """Sizes where margins are sorted by radix, and where few or most elements are positive."""
    for dtype, spread in ((torch.float64, 0.3), (torch.float32, 0.01), (torch.float32, 2.0)):
        scores, truth, valid = draw((4, 2500), seed=2, spread=spread, dtype=dtype, share=share)
        check(path, loss, operator, scores, truth, valid)
