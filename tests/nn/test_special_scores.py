"""What may arrive in training: broken scores, empty sets, empty batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.torch_judge import CASES, OPERATORS, PATHS, draw
from setloss.nn import SetLoss, set_loss

DICE = [operator for operator in OPERATORS if operator != "lovasz"]
ON_BOTH = ["bd", "bd-monotone", "hinge"]
every_dice = pytest.mark.parametrize(
    ("path", "operator"), [*(("host", one) for one in DICE), *(("device", one) for one in ON_BOTH)]
)


# ---------------------------------------------------------------- broken scores


@every_dice
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("p", [6, 40, 2000])
def test_a_broken_score_breaks_its_own_set_only_and_none_where_it_is_masked(path, operator, bad, p):
    scores, truth, valid = draw((6, p), seed=17)
    valid[4, :3] = torch.tensor([True, False, True])
    clean = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    scores[4, 0] = bad
    values, gradients = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    assert values[4].isnan()
    assert gradients[4, valid[4]].isnan().all()
    assert torch.all(gradients[4, ~valid[4]] == 0)
    others = torch.arange(6) != 4
    assert all(torch.equal(one[others], other[others]) for one, other in zip((values, gradients), clean, strict=True))
    scores[4, 0] = 0.5
    clean = PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0)
    masked = PATHS[path](CASES["Dice"].loss, operator, torch.where(valid, scores, bad), truth, valid, 2.0)
    assert all(map(torch.equal, masked, clean))


# ---------------------------------------------------------------- empty and full


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("over", ["image", "batch", "class"])
@pytest.mark.parametrize(("name", "operator"), [("Dice", "bd"), ("Jaccard", "lovasz"), ("curve1", "slack")])
def test_an_all_ignored_batch_is_zero_and_attached(name, operator, over, reduction):
    module = SetLoss(CASES[name].loss, operator, mode="multiclass", over=over, reduction=reduction, ignore_index=255)
    nothing = torch.zeros(2, 4, 4, dtype=torch.bool)
    for target, mask in ((torch.zeros(2, 4, 4, dtype=torch.int64), nothing), (torch.full((2, 4, 4), 255), None)):
        logits = torch.randn(2, 3, 4, 4, requires_grad=True)
        value = module(logits, target, mask=mask)
        value.sum().backward()
        assert torch.all(value == 0)
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


# ---------------------------------------------------------------- any floats at all

anything = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, st.booleans(), st.booleans()), min_size=1, max_size=30), st.sampled_from(ON_BOTH))
def test_host_and_device_agree_on_anything(elements, operator):
    scores, truth, valid = (torch.tensor([column]) for column in zip(*elements, strict=True))
    host, device = (PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0) for path in PATHS)
    torch.testing.assert_close(host[0], device[0], equal_nan=True, rtol=1e-6, atol=0)
    torch.testing.assert_close(host[1], device[1], equal_nan=True, rtol=1e-6, atol=1e-7)
