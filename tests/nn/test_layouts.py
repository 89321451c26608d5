"""Every layout, mode, set and reduction, against loops over images and classes written by hand."""

import itertools

import numpy as np
import pytest
import torch

from setloss import Dice, Jaccard
from setloss.nn import SetLoss, set_loss
from setloss.operators import operator_named

BINARY = [(6,), (3, 5), (3, 4, 5), (3, 1, 4, 5), (3, 1), (2, 2, 3, 4), (2, 2, 3, 2, 2)]
CHANNELS = [(3, 4), (3, 4, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2), (2, 1, 4)]
LAYOUTS = [("binary", shape) for shape in BINARY] + [
    (mode, shape) for mode in ("multilabel", "multiclass") for shape in CHANNELS
]
every_layout = pytest.mark.parametrize(("mode", "shape"), LAYOUTS)
every_over = pytest.mark.parametrize("over", ["image", "batch", "class"])


def problem(mode, shape, seed=0):
    """Logits, targets as the mode wants them, truth per logit, and a mask of the shape of the targets."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    if mode == "multiclass":
        target = torch.randint(0, shape[1], shape[:1] + shape[2:], generator=generator)
        target[target == 1] = 0
        truth = torch.stack([target == c for c in range(shape[1])], 1)
    else:
        target = (torch.rand(shape, generator=generator) < 0.4).to(torch.int64)
        target[0] = 0
        truth = target == 1
    mask = torch.rand(target.shape, generator=generator) < 0.7
    return logits, target, truth, mask


def sets_by_hand(mode, over, shape):
    """{place in the result: the indices of the logits of that set}, and the shape of the result."""
    cells = list(itertools.product(*map(range, shape)))
    if mode == "multiclass":
        place = {"image": lambda i: i[:2], "batch": lambda i: i[1:2], "class": lambda i: i[1:2]}[over]
        result = shape[:2] if over == "image" else shape[1:2]
    elif mode == "multilabel" and over == "class":
        place, result = lambda i: i[1:2], shape[1:2]
    else:
        place, result = (lambda i: i[:1], shape[:1]) if over == "image" else (lambda i: (0,), (1,))
    sets = {}
    for cell in cells:
        sets.setdefault(place(cell), []).append(cell)
    return sets, result


def by_hand(mode, over, logits, truth, valid, loss, operator):
    """One reference operator per set: its value, its gradient, whether it has elements, whether it has positives."""
    sets, shape = sets_by_hand(mode, over, tuple(logits.shape))
    logits, truth, valid = logits.numpy(), truth.numpy(), valid.numpy()
    values, filled, present = np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    gradients = {}
    for place, cells in sets.items():
        kept = [cell for cell in cells if valid[cell]]
        if not kept:
            continue
        labels = np.array([bool(truth[cell]) for cell in kept])
        sign = np.where(labels, 1.0, -1.0)
        margins = sign * np.array([float(logits[cell]) for cell in kept])
        cut = operator_named(operator)(loss.set_function(labels)).cut(margins)
        values[place], filled[place], present[place] = cut(margins), True, labels.any()
        gradients[place] = dict(zip(kept, -cut.slope * sign, strict=True))
    return values, gradients, filled, present


def spread_out(mode, valid, shape):
    """A mask of the targets for every logit."""
    return valid.unsqueeze(1).expand(shape) if mode == "multiclass" else valid


def expected_gradient(gradients, factors, shape):
    total = np.zeros(shape)
    for place, of_set in gradients.items():
        for cell, slope in of_set.items():
            total[cell] += factors[place] * slope
    return total


@every_over
@every_layout
@pytest.mark.parametrize("masked", [False, True])
def test_sets_are_those_of_the_loops(mode, shape, over, masked):
    """Half of the twelve ways to add up with a mask, and the other half without."""
    logits, target, truth, mask = problem(mode, shape)
    mask = mask if masked else None
    valid = spread_out(mode, torch.ones_like(target, dtype=torch.bool) if mask is None else mask, shape)
    values, gradients, filled, present = by_hand(mode, over, logits, truth, valid, Dice(), "bd")
    weights = np.random.default_rng(0).random(values.shape) + 0.5
    for k, (reduction, absent) in enumerate(itertools.product(("mean", "sum", "none"), ("keep", "skip"))):
        weighted = (k + k // 2) % 2 == masked
        factors = np.where(present if absent == "skip" else filled, weights if weighted else 1.0, 0.0)
        if reduction == "mean":
            factors = factors / max(factors.sum(), 1e-300)
        expected = factors * values if reduction == "none" else (factors * values).sum()

        leaf = logits.clone().requires_grad_()
        module = SetLoss("dice", "bd", scale=2.0, mode=mode, over=over, reduction=reduction, absent=absent)
        got = module(leaf, target, mask=mask, weight=torch.as_tensor(weights) if weighted else None)
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got.detach(), expected, rtol=1e-12, atol=1e-12)
        got.sum().backward()
        slopes = expected_gradient(gradients, factors, shape)
        np.testing.assert_allclose(leaf.grad, slopes, rtol=1e-12, atol=1e-12)


@every_over
@pytest.mark.parametrize(
    ("mode", "shape"), [("binary", (3, 4, 5)), ("multilabel", (3, 4, 5)), ("multiclass", (3, 4, 5))]
)
def test_ignore_index_and_mask_together(mode, shape, over):
    logits, target, truth, mask = problem(mode, shape, seed=1)
    ignored = torch.rand(target.shape, generator=torch.Generator().manual_seed(2)) < 0.3
    valid = spread_out(mode, mask & ~ignored, shape)
    values, _, _, _ = by_hand(mode, over, logits, truth, valid, Jaccard(), "lovasz")
    got = set_loss(
        logits,
        target.masked_fill(ignored, 255),
        loss="jaccard",
        operator="lovasz",
        mode=mode,
        over=over,
        mask=mask,
        ignore_index=255,
        reduction="none",
    )
    np.testing.assert_allclose(got, values, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- shapes that fit together


@pytest.mark.parametrize(
    ("logits", "target"),
    [((3, 1, 4, 5), (3, 4, 5)), ((3, 4, 5), (3, 1, 4, 5)), ((3, 1), (3,)), ((3,), (3, 1)), ((3, 1, 7), (3, 7))],
)
def test_a_channel_of_one_may_be_left_out_on_either_side(logits, target):
    scores = torch.randn(logits)
    truth = torch.rand(target) < 0.5
    full = set_loss(scores.reshape(target), truth)
    assert torch.equal(set_loss(scores, truth), full)
    for mask_shape in {logits, target}:
        mask = torch.rand(mask_shape) < 0.5
        expected = set_loss(scores.reshape(target), truth, mask=mask.reshape(target))
        assert torch.equal(set_loss(scores, truth, mask=mask), expected)


def test_class_ids_may_have_a_channel_of_one():
    logits, target, _, mask = problem("multiclass", (2, 3, 4, 5))
    expected = set_loss(logits, target, mode="multiclass", mask=mask)
    assert torch.equal(set_loss(logits, target.unsqueeze(1), mode="multiclass", mask=mask.unsqueeze(1)), expected)


def test_a_mask_broadcasts():
    logits, target, _, _ = problem("binary", (3, 4, 5))
    mask = torch.rand(4, 5) < 0.5
    assert torch.equal(set_loss(logits, target, mask=mask), set_loss(logits, target, mask=mask.expand(3, 4, 5)))
    logits, target, _, _ = problem("multilabel", (3, 4, 5))
    mask = torch.rand(3, 1, 5) < 0.5
    expected = set_loss(logits, target, mode="multilabel", mask=mask.expand(3, 4, 5))
    assert torch.equal(set_loss(logits, target, mode="multilabel", mask=mask), expected)
    whole = set_loss(logits[0, 0], target[0, 0])
    assert torch.equal(set_loss(logits[0, 0], target[0, 0], mask=torch.tensor(True)), whole)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int8, torch.int32, torch.float32, torch.float16], ids=str
)
def test_targets_of_any_dtype(dtype):
    logits, target, _, _ = problem("binary", (3, 4, 5))
    assert torch.equal(set_loss(logits, target.to(dtype)), set_loss(logits, target))


@pytest.mark.parametrize("ignored", [255, -100, 256, -256, 1000, -1])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.float32], ids=str)
def test_an_ignore_index_that_does_not_occur_changes_nothing(dtype, ignored):
    """Torch compares a uint8 with the lowest eight bits of 256, which are 0."""
    logits, target, _, _ = problem("binary", (3, 4, 5))
    assert torch.equal(set_loss(logits, target.to(dtype), ignore_index=ignored), set_loss(logits, target))


@pytest.mark.parametrize("classes", [256, 257, 300])
def test_more_classes_than_a_byte_holds(classes):
    logits = torch.randn(2, classes, 6)
    target = torch.tensor([[0, 1, 156, 200, 255, 3]] * 2)
    expected = set_loss(logits, target, mode="multiclass")
    assert torch.equal(set_loss(logits, target.to(torch.uint8), mode="multiclass"), expected)
    ignoring = set_loss(logits, target.to(torch.uint8), mode="multiclass", ignore_index=-100)
    assert torch.equal(ignoring, expected)


# ---------------------------------------------------------------- memory layouts


def copies(tensor):
    """The same numbers in other memory: transposed, strided, channels last, with an offset."""
    yield tensor.transpose(1, -1).contiguous().transpose(1, -1)
    yield torch.stack([tensor, tensor], -1)[..., 0]
    yield tensor.contiguous(memory_format=torch.channels_last)
    yield torch.cat([tensor, tensor])[len(tensor) :]


@every_over
@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_memory_layout_does_not_matter(mode, over):
    logits, target, _, mask = problem(mode, (2, 3, 4, 5))
    leaf = logits.clone().requires_grad_()
    expected = set_loss(leaf, target, operator="slack", mode=mode, over=over, mask=mask)
    expected.backward()
    for strided in copies(logits):
        other = strided.detach().requires_grad_()
        labels, counted = target.mT.contiguous().mT, mask.mT.contiguous().mT
        got = set_loss(other, labels, operator="slack", mode=mode, over=over, mask=counted)
        got.backward()
        assert torch.equal(got, expected)
        assert torch.equal(other.grad, leaf.grad)


def test_expanded_logits_gather_the_gradients_of_their_copies():
    row = torch.randn(1, 6, dtype=torch.float64, requires_grad=True)
    truth = torch.rand(4, 6) < 0.5
    set_loss(row.expand(4, 6), truth).backward()
    separate = row.detach().repeat(4, 1).requires_grad_()
    set_loss(separate, truth).backward()
    torch.testing.assert_close(row.grad, separate.grad.sum(0, keepdim=True), rtol=1e-12, atol=1e-15)


def test_expanded_targets():
    logits = torch.randn(4, 6)
    target = torch.tensor([[1, 0, 0, 1, 1, 0]])
    assert torch.equal(set_loss(logits, target.expand(4, 6)), set_loss(logits, target.repeat(4, 1)))


def test_without_gradients():
    logits, target, _, _ = problem("binary", (3, 4, 5))
    value = set_loss(logits, target)
    assert not value.requires_grad
    with torch.no_grad():
        assert torch.equal(set_loss(logits.clone().requires_grad_(), target), value)
    with torch.inference_mode():
        assert torch.equal(set_loss(logits.clone(), target), value)


def test_gradients_flow_into_what_made_the_logits_and_the_weights():
    logits, target, _, _ = problem("binary", (3, 4, 5))
    factor, weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True), torch.ones(3, requires_grad=True)
    set_loss(factor * logits, target, weight=weight, reduction="sum").backward()
    assert factor.grad != 0
    expected = set_loss(0.7 * logits, target, reduction="none")
    torch.testing.assert_close(weight.grad.double(), expected, rtol=1e-6, atol=0)


def test_weights_that_sum_to_zero_give_zero():
    logits, target, _, _ = problem("binary", (3, 4, 5))
    assert set_loss(logits.requires_grad_(), target, operator="bd", weight=torch.zeros(3)) == 0
