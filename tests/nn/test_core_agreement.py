"""Equal to the cuts of the NumPy core: 1e-12 in float64, 1e-6 in float32, for every loss of the library."""

import numpy as np
import pytest
import torch

from helpers.torch_judge import CASES, CLOSED, PAIRS, PATHS, assert_close, by_loss, draw
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, from_set_function
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


@pytest.mark.parametrize("operator", ["bd", "slack", "margin"])
def test_cost_curves_of_thousands_of_elements(operator):
    loss = CostCurve([(0, 0), (0.2, 0), (0.6, 1), (1, 1.1)])
    scores, truth, valid = draw((4, 3000), seed=3, dtype=torch.float32)
    check("host", loss, operator, scores, truth, valid)


def groups_of_three():
    grid = np.indices((3, 4, 2))
    table = np.sqrt(grid[0] + 2 * grid[1] + 3 * grid[2]) + 0.1 * grid[1] ** 2
    return SetFunction.from_table(table, [0, 1, 2, 1, 0, 1])


@pytest.mark.parametrize("operator", ["bd", "slack", "margin", "hinge"])
@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
@pytest.mark.parametrize(
    "function",
    [SetFunction.symmetric([0, 1, 1, 2, 5, 5, 6]), groups_of_three()],
    ids=["symmetric", "three groups"],
)
def test_set_functions_of_a_user(function, dtype, operator):
    scores, truth, _ = draw((8, 6), seed=5, dtype=dtype)
    check("host", from_set_function(function), operator, scores, truth, None)


def test_a_table_just_below_the_limit_is_exact():
    """Two thousand elements a side would be 4 million cells; the core's table and ours are the same."""
    loss = CASES["lucky"].loss
    scores, truth, _ = draw((2, 1500), seed=6)
    values, _ = by_loss(loss, "slack", scores, truth, None, 2.0)
    assert_close(values, core(loss, "slack", scores, truth, None, 2.0)[0])
