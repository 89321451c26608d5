"""What may arrive in training: ties, zeros, huge and broken scores, empty sets, empty batches."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.torch_judge import (
    CASES,
    CLOSED,
    OPERATORS,
    PAIRS,
    PATHS,
    assert_close,
    by_loss,
    draw,
    gradient_by_definition,
)
from setloss.nn import SetLoss, set_loss

CLOSED_ON_BOTH = [(path, *pair) for path in PATHS for pair in CLOSED]
DICE = [operator for operator in OPERATORS if operator != "lovasz"]
on_both = pytest.mark.parametrize(("path", "name", "operator"), CLOSED_ON_BOTH)
every_dice = pytest.mark.parametrize("operator", DICE)
every_path = pytest.mark.parametrize("path", list(PATHS))


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize(("name", "operator"), PAIRS)
def test_gradcheck_away_from_ties(name, operator):
    """A piecewise linear function: away from its kinks differences are exact; here in a random direction."""
    scores, truth, valid = draw((4, 6), seed=11)
    truth[0] = torch.tensor([1, 0, 1, 1, 0, 0], dtype=torch.bool)

    def loss(x):
        return set_loss(x, truth, loss=CASES[name].loss, operator=operator, mask=valid, reduction="none")

    assert torch.autograd.gradcheck(loss, scores.requires_grad_(), eps=1e-7, atol=1e-6, fast_mode=True)


def test_second_derivatives_are_zero():
    scores, truth, _ = draw((3, 6), seed=12)
    scores.requires_grad_()
    (first,) = torch.autograd.grad(set_loss(scores, truth, operator="bd").square(), scores, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), scores)
    (slope,) = torch.autograd.grad(set_loss(scores, truth, operator="bd"), scores)
    # d/dx of 2 B B' is 2 B'^2, as B'' = 0.
    assert_close(second, 2 * slope * slope.sum())


# ---------------------------------------------------------------- ties and zeros


@on_both
def test_one_score_everywhere(path, name, operator):
    _, truth, valid = (rows.repeat(5, 1) for rows in draw((5, 5), seed=13))
    constants = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5], dtype=torch.float64)
    scores = constants.repeat_interleave(5)[:, None].expand(25, 5)
    values, gradients = PATHS[path](CASES[name].loss, operator, scores, truth, valid, 2.0)
    arrays = scores.numpy(), truth.numpy(), valid.numpy()
    assert_close(values, gradient_by_definition(CASES[name], operator, *arrays, 2.0)[0])
    assert torch.isfinite(gradients).all()


@pytest.mark.parametrize(("name", "operator"), PAIRS)
def test_perfect_scores_cost_nothing(name, operator):
    _, truth, valid = draw((5, 7), seed=14)
    values, gradients = by_loss(CASES[name].loss, operator, torch.where(truth, 1.0, -1.0), truth, valid, 2.0)
    assert torch.all(values == 0)
    assert torch.all(gradients == 0)


# ---------------------------------------------------------------- huge scores


@on_both
def test_huge_scores(path, name, operator):
    for size, dtype in ((1e30, torch.float32), (1e30, torch.float64), (1e200, torch.float64)):
        tolerance = 1e-6 if dtype == torch.float32 else 1e-12
        scores, truth, valid = draw((5, 5), seed=15, spread=size, dtype=dtype)
        got = PATHS[path](CASES[name].loss, operator, scores, truth, valid, 2.0)
        arrays = scores.double().numpy(), truth.numpy(), valid.numpy()
        expected = gradient_by_definition(CASES[name], operator, *arrays, 2.0)
        np.testing.assert_allclose(got[0].double(), expected[0], rtol=tolerance, atol=tolerance * size)
        assert_close(got[1], expected[1], tolerance)


# ---------------------------------------------------------------- broken scores


@every_path
@every_dice
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("p", [6, 40, 2000])
def test_a_broken_score_breaks_its_own_set_only(path, operator, bad, p):
    scores, truth, valid = draw((6, p), seed=17)
    valid[4, :3] = torch.tensor([True, False, True])
    clean = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    scores[4, 0] = bad
    values, gradients = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    assert values[4].isnan()
    assert gradients[4, valid[4]].isnan().all()
    assert torch.all(gradients[4, ~valid[4]] == 0)
    others = torch.arange(6) != 4
    assert torch.equal(values[others], clean[0][others])
    assert torch.equal(gradients[others], clean[1][others])


@every_path
@every_dice
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_broken_score_that_is_masked_does_not_show(path, operator, bad):
    scores, truth, valid = draw((6, 9), seed=18)
    clean = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    broken = torch.where(valid, scores, bad)
    values, gradients = PATHS[path](CASES["Dice"].loss, operator, broken, truth, valid, 2.0)
    assert torch.equal(values, clean[0])
    assert torch.equal(gradients, clean[1])


@pytest.mark.parametrize("name", ["curve1", "lucky"])
def test_a_broken_score_with_a_table(name):
    scores, truth, _ = draw((4, 6), seed=20)
    scores[3, 5] = torch.inf
    values, gradients = by_loss(CASES[name].loss, "bd", scores, truth, None, 2.0)
    assert values.isnan().tolist() == [False, False, False, True]
    assert gradients.isnan().all(1).tolist() == gradients.isnan().any(1).tolist() == [False, False, False, True]


# ---------------------------------------------------------------- empty and full


@on_both
@pytest.mark.parametrize("full", [True, False])
def test_empty_and_full_masks_of_truth_are_finite(path, name, operator, full):
    for shape in ((2, 1), (2, 5), (2, 1500)):
        scores, _, _ = draw(shape, seed=21)
        values, gradients = PATHS[path](CASES[name].loss, operator, scores, torch.full(shape, full), None, 2.0)
        assert torch.isfinite(values).all()
        assert torch.isfinite(gradients).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("over", ["image", "batch", "class"])
@pytest.mark.parametrize("how", ["mask", "ignore_index"])
@pytest.mark.parametrize(("name", "operator"), [("Dice", "bd"), ("Jaccard", "lovasz"), ("curve1", "slack")])
def test_an_all_ignored_batch_is_zero_and_attached(name, operator, how, over, reduction):
    logits = torch.randn(2, 3, 4, 4, requires_grad=True)
    module = SetLoss(CASES[name].loss, operator, mode="multiclass", over=over, reduction=reduction, ignore_index=255)
    if how == "mask":
        value = module(logits, torch.zeros(2, 4, 4, dtype=torch.int64), mask=torch.zeros(2, 4, 4, dtype=torch.bool))
    else:
        value = module(logits, torch.full((2, 4, 4), 255))
    assert torch.all(value == 0)
    value.sum().backward()
    assert torch.all(logits.grad == 0)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("mode", "shape", "over", "sets"),
    [
        ("binary", (0, 4), "image", (0,)),
        ("binary", (0,), "image", (0,)),
        ("binary", (0, 1, 4, 4), "batch", (1,)),
        ("binary", (3, 0), "image", (3,)),
        ("multilabel", (0, 5), "class", (5,)),
        ("multiclass", (0, 5, 4), "image", (0, 5)),
        ("multiclass", (0, 5, 4), "class", (5,)),
    ],
)
@pytest.mark.parametrize("absent", ["keep", "skip"])
def test_an_empty_batch_is_zero_and_attached(mode, shape, over, sets, reduction, absent):
    logits = torch.zeros(shape, requires_grad=True)
    target = torch.zeros(shape[:1] + shape[2:] if mode == "multiclass" else shape, dtype=torch.int64)
    value = set_loss(logits, target, mode=mode, over=over, reduction=reduction, absent=absent)
    assert value.shape == (sets if reduction == "none" else ())
    assert torch.all(value == 0)
    value.sum().backward()
    assert logits.grad.shape == shape
    assert torch.all(logits.grad == 0)


@every_path
def test_no_elements_at_all(path):
    for shape in ((0, 4), (4, 0), (0, 0)):
        scores = torch.zeros(shape)
        values, gradients = PATHS[path](CASES["Dice"].loss, "slack", scores, scores > 0, None, 2.0)
        assert values.shape == shape[:1]
        assert gradients.shape == shape
        assert torch.all(values == 0)


# ---------------------------------------------------------------- any floats at all

anything = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, st.booleans(), st.booleans()), min_size=1, max_size=30), st.sampled_from(DICE))
def test_host_and_device_agree_on_anything(elements, operator):
    scores, truth, valid = (torch.tensor([column]) for column in zip(*elements, strict=True))
    host, device = (PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0) for path in PATHS)
    torch.testing.assert_close(host[0], device[0], equal_nan=True, rtol=1e-6, atol=0)
    torch.testing.assert_close(host[1], device[1], equal_nan=True, rtol=1e-6, atol=1e-7)
