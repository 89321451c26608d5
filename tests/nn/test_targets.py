"""Logits, targets and masks of any rank and dtype that fit together, and those that do not."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from setloss.nn import SetLoss, set_loss


def problem(*shape):
    return torch.randn(shape), (torch.rand(shape) < 0.4).to(torch.int64)


def labels(*shape):
    return torch.zeros(shape, dtype=torch.int64)


@pytest.mark.parametrize(
    ("logits", "target"),
    [((3, 1, 4, 5), (3, 4, 5)), ((3, 4, 5), (3, 1, 4, 5)), ((3, 1), (3,)), ((3,), (3, 1)), ((3, 1, 7), (3, 7))],
)
def test_a_channel_of_one_may_be_left_out_on_either_side(logits, target):
    scores, truth = torch.randn(logits), torch.rand(target) < 0.5
    assert torch.equal(set_loss(scores, truth), set_loss(scores.reshape(target), truth))
    for mask_shape in {logits, target}:
        mask = torch.rand(mask_shape) < 0.5
        expected = set_loss(scores.reshape(target), truth, mask=mask.reshape(target))
        assert torch.equal(set_loss(scores, truth, mask=mask), expected)


def test_class_ids_may_have_a_channel_of_one():
    logits, target = torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5))
    mask = torch.rand(2, 4, 5) < 0.7
    expected = set_loss(logits, target, mode="multiclass", mask=mask)
    assert torch.equal(set_loss(logits, target.unsqueeze(1), mode="multiclass", mask=mask.unsqueeze(1)), expected)


def test_a_mask_broadcasts_and_without_channels_is_for_all_labels():
    logits, target = problem(3, 4, 5)
    mask = torch.rand(4, 5) < 0.5
    assert torch.equal(set_loss(logits, target, mask=mask), set_loss(logits, target, mask=mask.expand(3, 4, 5)))
    for mask in (torch.rand(3, 1, 5) < 0.5, torch.rand(3, 5) < 0.5):
        spread = mask.reshape(3, 1, 5).expand(3, 4, 5)
        expected = set_loss(logits, target, mode="multilabel", mask=spread)
        assert torch.equal(set_loss(logits, target, mode="multilabel", mask=mask), expected)
    with pytest.raises(ValueError, match=r"does not fit a target .2, 4, 5.; without channels it is .N, ...."):
        set_loss(logits[:2], target[:2], mode="multilabel", mask=torch.rand(3, 5) < 0.5)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.float32, torch.float16], ids=str
)
def test_targets_of_any_dtype_and_ignored_values_that_do_not_occur(dtype):
    """Torch compares a uint8 with the lowest eight bits of 256, which are 0."""
    logits, target = problem(3, 4, 5)
    for ignored in (None, 255, -100, 256, -256, 1000, -1):
        assert torch.equal(set_loss(logits, target.to(dtype), ignore_index=ignored), set_loss(logits, target))


@pytest.mark.parametrize("classes", [256, 257, 300])
def test_more_classes_than_a_byte_holds(classes):
    logits, target = torch.randn(2, classes, 6), torch.tensor([[0, 1, 156, 200, 255, 3]] * 2)
    expected = set_loss(logits, target, mode="multiclass")
    for ignored in (None, -100):
        found = set_loss(logits, target.to(torch.uint8), mode="multiclass", ignore_index=ignored)
        assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", [{}, {"loss": "dice", "operator": "bd"}, {"loss": "curve1", "operator": "bd"}])
def test_half_precision_gives_the_float32_result_of_the_rounded_logits(options, dtype):
    """More pixels than the 65504 that float16 can count to."""
    logits, target = problem(2, 320, 320)
    narrow = (3 * logits).to(dtype).requires_grad_()
    wide = narrow.detach().float().requires_grad_()
    value, expected = (set_loss(leaf, target, **options) for leaf in (narrow, wide))
    value.backward()
    expected.backward()
    assert value.dtype == torch.float32
    assert torch.equal(value, expected)
    assert torch.equal(narrow.grad, wide.grad.to(dtype))
    assert torch.isfinite(narrow.grad).all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(set_loss(narrow, target, **options), value)


# ---------------------------------------------------------------- ignored pixels of one-hot targets


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.uint8, torch.bool])
@pytest.mark.parametrize("ignored", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"loss": "dice", "operator": "bd"}], ids=str)
def test_one_hot_targets_are_ignored_as_class_ids_are(ignored, dtype, options):
    logits, ids = torch.randn(2, 3, 20), torch.randint(0, 3, (2, 20))
    hot = one_hot(ids, 3).movedim(-1, 1)
    leaves = [logits.clone().requires_grad_() for _ in range(2)]
    loss = SetLoss(mode="multiclass", ignore_index=ignored, **options)
    values = [loss(leaf, target) for leaf, target in zip(leaves, (ids, hot.to(dtype)), strict=True)]
    torch.testing.assert_close(*values)
    for value in values:
        value.backward()
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad)
    assert not torch.isclose(values[0], SetLoss(mode="multiclass", **options)(logits, ids))


# ---------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("mode", "logits", "target"),
    [
        *[("binary", *shapes) for shapes in (((3, 4), (3, 5)), ((3, 4), (4, 3)), ((3, 2, 4), (3, 4)), ((3,), (2,)))],
        *[("multilabel", *shapes) for shapes in (((3, 4), (3,)), ((3,), (3,)), ((3, 1, 4), (3, 4)))],
        *[("multiclass", *shapes) for shapes in (((3, 4), (3, 5)), ((3,), (3,)), ((3, 4, 5, 6), (3, 6, 5)))],
    ],
)
def test_shapes_that_do_not_fit_are_both_named(mode, logits, target):
    with pytest.raises(ValueError, match=mode) as refusal:
        set_loss(torch.zeros(logits), labels(*target), mode=mode)
    assert f"got {logits} and {target}" in str(refusal.value)


@pytest.mark.parametrize(
    ("logits", "target", "options", "error", "words"),
    [
        (torch.tensor(1.0), torch.tensor(1), {}, ValueError, "the batch as their first dimension"),
        ([1.0], labels(1), {}, TypeError, "logits must be a tensor; got list"),
        (torch.zeros(1), np.zeros(1), {}, TypeError, "target must be a tensor; got ndarray"),
        (labels(2, 3), labels(2, 3), {}, TypeError, "logits are real scores; got torch.int64"),
        (torch.zeros(2, 3).cfloat(), labels(2, 3), {}, TypeError, "logits are real scores; got torch.complex64"),
        (torch.zeros(2, 3), labels(2, 3).to("meta"), {}, ValueError, "logits are on cpu, the target is on meta"),
        (torch.zeros(2, 3, 4), torch.zeros(2, 4), {"mode": "multiclass"}, TypeError, "class ids of an integer dtype"),
        *[
            (torch.zeros(2, 3), labels(2, 3), {"ignore_index": wrong}, TypeError, "ignore_index is an integer")
            for wrong in ("255", 1.5, (0, 255))
        ],
        *[
            (torch.zeros(2, 3), labels(2, 3), {"mask": wrong}, TypeError, "the mask is a bool tensor")
            for wrong in (labels(2, 3), torch.zeros(2, 3), [[True]])
        ],
        *[
            (torch.zeros(2, 3), labels(2, 3), {"mask": labels(*shape).bool()}, ValueError, "does not fit a target")
            for shape in ((2, 4), (3, 2), (5, 2, 3), (2,))
        ],
    ],
)
def test_what_is_refused(logits, target, options, error, words):
    with pytest.raises(error, match=words):
        set_loss(logits, target, **options)
