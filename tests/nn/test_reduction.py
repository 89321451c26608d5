"""Chosen classes, weights of sets and classes, sets that are left out, and the cross-entropy that is added."""

import re

import pytest
import torch
from torch.nn.functional import cross_entropy

from setloss.nn import SetLoss, set_loss


def problem(classes=4):
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(2, classes, 5, generator=generator, dtype=torch.float64)
    return logits, torch.randint(0, 3, (2, 5), generator=generator)


def every(**options):
    return set_loss(*problem(), operator="slack", mode="multiclass", **options)


@pytest.mark.parametrize("over", ["image", "batch"])
def test_chosen_classes_are_columns_of_all(over):
    whole = every(over=over, reduction="none")
    assert torch.equal(every(over=over, reduction="none", classes=[2, 0]), whole[..., [2, 0]])
    assert torch.equal(every(over=over, reduction="none", include_background=False), whole[..., 1:])
    assert torch.equal(every(over=over, reduction="none", classes=(0, 3), include_background=False), whole[..., 3:])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": [0, 4]}, r"classes are different numbers from 0 to 3; got \[0, 4\]"),
        ({"classes": [1, 1]}, r"classes are different numbers from 0 to 3; got \[1, 1\]"),
        ({"classes": "all"}, "classes are different numbers from 0 to 3; got 'all'.*absent='skip'"),
        ({"classes": [1], "mode": "multilabel"}, "for mode='multiclass'; the mode is 'multilabel'"),
        ({"include_background": False, "mode": "multilabel"}, "for mode='multiclass'; the mode is 'multilabel'"),
        ({"class_weight": torch.ones(4), "mode": "multilabel"}, "for mode='multiclass'; the mode is 'multilabel'"),
    ],
)
def test_classes_that_are_refused(options, words):
    target = torch.zeros((2, 4, 5) if "mode" in options else (2, 5), dtype=torch.int64)
    with pytest.raises(ValueError, match=words):
        set_loss(torch.randn(2, 4, 5), target, **{"mode": "multiclass", "operator": "slack"} | options)


def test_class_weights_make_a_weighted_mean():
    factors = torch.tensor([0.0, 1.0, 2.0, 0.5])
    whole = every(reduction="none")
    torch.testing.assert_close(every(class_weight=factors), (whole * factors).sum() / (2 * factors.sum()))
    both = torch.rand(2, 4, dtype=torch.float64)
    expected = (whole * factors * both).sum() / (factors * both).sum()
    torch.testing.assert_close(every(class_weight=factors, weight=both), expected)
    chosen = every(class_weight=factors, classes=[2, 1], over="batch", reduction="none")
    torch.testing.assert_close(chosen, every(over="batch", reduction="none")[[2, 1]] * torch.tensor([2.0, 1.0]))
    module = SetLoss(operator="slack", mode="multiclass", class_weight=factors.tolist())
    assert module.state_dict() == {}
    torch.testing.assert_close(module(*problem()), every(class_weight=factors))


def test_gradients_flow_into_what_made_the_logits_and_the_weights():
    logits, target = problem()[0][:, 0], problem()[1] > 0
    factor, weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True), torch.ones(2, requires_grad=True)
    set_loss(factor * logits, target, weight=weight, reduction="sum").backward()
    assert factor.grad != 0
    expected = set_loss(0.7 * logits, target, reduction="none")
    torch.testing.assert_close(weight.grad.double(), expected, rtol=1e-6, atol=0)
    assert set_loss(logits, target, operator="bd", weight=torch.zeros(2)) == 0


PER_SET = "one weight per set, as reduction='none' returns: expected shape {}; got {}"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"weight": [1.0, 2.0]}, TypeError, "weight must be a tensor; got list"),
        ({"weight": -torch.ones(2, 4)}, ValueError, "weight holds finite factors from 0 on; got -1"),
        ({"class_weight": torch.ones(3)}, ValueError, "one class_weight per class: expected shape (4,); got (3,)"),
        ({"class_weight": -torch.ones(4)}, ValueError, "class_weight holds finite factors from 0 on; got -1"),
        ({"weight": torch.ones(4)}, ValueError, PER_SET.format("(2, 4)", "(4,)")),
        ({"weight": torch.ones(())}, ValueError, PER_SET.format("(2, 4)", "()")),
        ({"weight": torch.ones(2, 4), "over": "batch"}, ValueError, PER_SET.format("(4,)", "(2, 4)")),
    ],
)
def test_weights_that_are_refused(options, error, words):
    with pytest.raises(error, match=re.escape(words)):
        every(**options)


def test_cross_entropy_is_a_factor_and_leaves_out_what_does_not_count():
    logits, target = problem(3)
    target[0, :3] = 255
    both = {"mode": "multiclass", "ignore_index": 255}
    parts = [set_loss(logits, target, with_cross_entropy=factor, **both) for factor in (0.0, 0.5, 1.0)]
    torch.testing.assert_close(parts[1], (parts[0] + parts[2]) / 2)
    torch.testing.assert_close(parts[2] - parts[0], cross_entropy(logits, target, ignore_index=255))
    assert set_loss(logits, torch.full_like(target, 255), **both) == 0
    weight = torch.rand(2, 5, dtype=torch.float64) * (target != 255)
    parts = [set_loss(logits, target, with_cross_entropy=k, element_weight=weight, **both) for k in (0, 1)]
    each = cross_entropy(logits, target, ignore_index=255, reduction="none")
    torch.testing.assert_close(parts[1] - parts[0], (weight * each).sum() / weight.sum())


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("margins", ["logits", "probabilities"])
def test_sets_and_pixels_that_are_left_out_have_gradient_zero(margins, infinite):
    mode = "binary" if margins == "logits" else "multiclass"
    logits = torch.randn(2, 4) if mode == "binary" else torch.randn(2, 3, 4)
    target = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0]])
    mask = torch.ones(2, 4, dtype=torch.bool)
    logits[1, ..., 2], mask[1, 2] = infinite, mode == "binary"
    leaf = logits.requires_grad_()
    loss = set_loss(leaf, target, operator="slack", margins=margins, mode=mode, mask=mask, absent="skip")
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(leaf.grad).all()
    assert torch.count_nonzero(leaf.grad[1, ..., 2]) == 0
