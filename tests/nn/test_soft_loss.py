"""The loss at expected counts: an extension of the loss, exact gradients, every kind of set."""

import pytest
import torch

from setloss import Dice, Jaccard, Tversky
from setloss.nn import component_groups, set_loss

LOSSES = [Dice(), Jaccard(), Tversky(0.3, 0.7)]
SOFT = {"margins": "probabilities", "soft_share": 1.0, "operator": "slack", "reduction": "none"}


def problem():
    truth = torch.rand(5, 7) < 0.4
    truth[:, 0] = True
    return torch.randn(5, 7, dtype=torch.float64, requires_grad=True), truth


def soft_loss(p, y, loss):
    """1 - TP / (TP + a FP + b FN) at expected counts."""
    b, a = loss.weights
    right, alarms, missed = (p * y).sum(-1), (p * (1 - y)).sum(-1), ((1 - p) * y).sum(-1)
    return 1 - right / (right + a * alarms + b * missed)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_is_the_formula_at_expected_counts(loss):
    logits, truth = problem()
    found = set_loss(logits, truth, loss=loss, **SOFT)
    torch.testing.assert_close(found, soft_loss(logits.sigmoid(), truth.double(), loss))
    halves = set_loss(logits, truth, loss=loss, **SOFT | {"soft_share": 0.5})
    hinge = set_loss(logits, truth, loss=loss, **SOFT | {"soft_share": 0.0})
    torch.testing.assert_close(halves, (found + hinge) / 2)
    nothing = torch.zeros_like(truth)
    of_nothing = [set_loss(logits, nothing, loss=loss, **SOFT | {"soft_share": share}) for share in (1.0, 0.0)]
    torch.testing.assert_close(*of_nothing)  # sets without positives have the value of the surrogate


def test_masks_and_weights_and_soft_labels_count_elements_by_their_weight():
    logits = torch.randn(3, 6, dtype=torch.float64)
    shares, weight = torch.rand(2, 3, 6, dtype=torch.float64)
    options = SOFT | {"operator": "lovasz"}
    found = set_loss(logits, shares, element_weight=weight, **options)
    p = logits.sigmoid()
    right, wrong = (weight * p * shares).sum(1), (weight * (p + shares - 2 * p * shares)).sum(1)
    torch.testing.assert_close(found, wrong / (right + wrong))
    seen = torch.arange(6) < 4
    hard = shares > 0.3
    masked = set_loss(logits, hard, mask=seen.expand(3, 6), **options)
    torch.testing.assert_close(masked, set_loss(logits[:, :4], hard[:, :4], **options))


@pytest.mark.parametrize("loss", [Tversky(0.0, 0.0), Tversky(1.0, 0.0), Dice()], ids=str)
@pytest.mark.parametrize("size", [200.0, float("inf")])
def test_saturated_logits_give_numbers(loss, size):
    """0/0 where no mistake has a weight and nothing is found: the loss is 0 there."""
    truth = torch.tensor([[True, True, False], [True, False, False]])
    for logits in (torch.where(truth, -size, size), torch.full(truth.shape, -size), torch.where(truth, size, -size)):
        leaf = logits.requires_grad_()
        value = set_loss(leaf, truth, loss=loss, **SOFT)
        value.sum().backward()
        assert torch.isfinite(value).all()
        assert torch.isfinite(leaf.grad).all()


# ---------------------------------------------------------------- each set its own share

ADAPTIVE = {"margins": "probabilities", "soft_share": "adaptive", "operator": "lovasz", "reduction": "none"}


@pytest.mark.parametrize("kind", ["masks", "soft labels", "objects", "classes"])
def test_the_share_is_the_soft_loss_as_a_constant(kind):
    """(1 - s) B + s l with s = l, set by set; l is soft Dice."""
    (logits, target), sets = problem(), {}
    if kind == "soft labels":
        target = target.double() * 0.7 + 0.1
    elif kind == "objects":
        logits, target = logits.detach().view(1, 5, 7).requires_grad_(), target.view(1, 5, 7)
        sets = {"over": "groups", "groups": component_groups(target)}
    elif kind == "classes":
        logits, target = torch.randn(2, 3, 9, requires_grad=True), torch.arange(18).view(2, 9) % 3
        sets = {"mode": "multiclass", "over": "batch"}
    found, hinge, soft = (
        set_loss(logits, target, **ADAPTIVE | {"soft_share": share} | sets) for share in ("adaptive", 0.0, 1.0)
    )
    soft = soft / (2 - soft)  # from Jaccard to Dice
    expected = (1 - soft.detach()) * hinge + soft.detach() * soft
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(values.sum(), logits)[0] for values in (found, expected)))


def test_the_slope_of_sets_without_positives_comes_in_as_objects_are_found():
    """Their value is the largest probability; its slope has the square of half the mean of 1 - l."""
    logits, truth = problem()
    truth[:2] = False
    values = set_loss(logits, truth, **ADAPTIVE)
    largest = logits[:2].sigmoid().amax(1)
    torch.testing.assert_close(values[:2], largest)
    (slopes,) = torch.autograd.grad(values[:2].sum(), logits)
    (of_largest,) = torch.autograd.grad(largest.sum(), logits)
    overlap = 1 - soft_loss(logits[2:].sigmoid(), truth[2:].double(), Dice()).detach()
    torch.testing.assert_close(slopes, (overlap.mean() / 2) ** 2 * of_largest)
    (alone,) = torch.autograd.grad(set_loss(logits, torch.zeros_like(truth), **ADAPTIVE).sum(), logits)
    assert torch.equal(alone, torch.zeros_like(alone))
