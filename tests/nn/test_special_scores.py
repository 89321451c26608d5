"""What may arrive in training: broken scores, empty sets, empty batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.torch_judge import CASES, OPERATORS, PATHS, draw
from setloss.nn import SetLoss

ON_BOTH = ["bd", "bd-monotone", "hinge"]


# ---------------------------------------------------------------- broken scores


@pytest.mark.parametrize(
    ("path", "operator"),
    [*(("host", one) for one in OPERATORS if one != "lovasz"), *(("device", one) for one in ON_BOTH)],
)
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
@pytest.mark.parametrize(
    ("mode", "shape", "over", "sets"),
    [
        ("binary", (0, 4), "image", (0,)),
        ("binary", (0,), "image", (0,)),
        ("binary", (0, 1, 4, 4), "batch", (1,)),
        ("binary", (3, 0), "image", (3,)),
        ("binary", (0, 4), "groups", (0,)),
        ("multilabel", (0, 5), "class", (5,)),
        ("multiclass", (0, 5, 4), "image", (0, 5)),
        ("multiclass", (0, 5, 4), "class", (5,)),
        ("multiclass", (2, 3, 4, 4), "image", (2, 3)),
        ("multiclass", (2, 3, 4, 4), "batch", (3,)),
    ],
)
@pytest.mark.parametrize("absent", ["keep", "skip"])
@pytest.mark.parametrize("names", [{}, {"loss": "dice", "operator": "bd"}, {"loss": "curve1", "operator": "slack"}])
def test_a_batch_where_nothing_counts_is_zero_and_attached(mode, shape, over, sets, reduction, absent, names):
    logits = torch.randn(shape, requires_grad=True)
    target = torch.full(shape[:1] + shape[2:] if mode == "multiclass" else shape, 255)
    loss = SetLoss(mode=mode, over=over, reduction=reduction, absent=absent, ignore_index=255, **names)
    groups, nothing = (
        torch.ones_like(target) if over == "groups" else None,
        torch.zeros_like(target, dtype=torch.bool),
    )
    for value in (loss(logits, target, groups=groups), loss(logits, 0 * target, groups=groups, mask=nothing)):
        assert value.shape == (sets if reduction == "none" else ())
        assert torch.all(value == 0)
        (slope,) = torch.autograd.grad(value.sum(), logits)
        assert slope.shape == shape
        assert torch.all(slope == 0)


# ---------------------------------------------------------------- any floats at all

anything = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, st.booleans(), st.booleans()), min_size=1, max_size=30), st.sampled_from(ON_BOTH))
def test_host_and_device_agree_on_anything(elements, operator):
    scores, truth, valid = (torch.tensor([column]) for column in zip(*elements, strict=True))
    host, device = (PATHS[path](CASES["Dice"].loss, operator, scores, truth, valid, 2.0) for path in PATHS)
    torch.testing.assert_close(host[0], device[0], equal_nan=True, rtol=1e-6, atol=0)
    torch.testing.assert_close(host[1], device[1], equal_nan=True, rtol=1e-6, atol=1e-7)
