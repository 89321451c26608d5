"""The loss at expected counts: an extension of the loss, exact gradients, every kind of set."""

import itertools

import pytest
import torch

from setloss import CostCurve, Dice, Jaccard, Tversky
from setloss.nn import SetLoss, component_groups, set_loss

LOSSES = [Dice(), Jaccard(), Tversky(0.3, 0.7)]
SOFT = {"margins": "probabilities", "soft_share": 1.0, "operator": "slack", "reduction": "none"}


def soft_loss(p, y, loss):
    """1 - TP / (TP + a FP + b FN) at expected counts."""
    a, b = loss.weights
    right, alarms, missed = (p * y).sum(-1), (p * (1 - y)).sum(-1), ((1 - p) * y).sum(-1)
    return 1 - right / (right + a * alarms + b * missed)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_is_the_loss_where_every_decision_is_certain(loss):
    cube = torch.tensor(list(itertools.product([0.0, 1.0], repeat=4)))
    for truth in cube[1:]:
        found = set_loss(torch.where(cube > 0, torch.inf, -torch.inf), truth.expand(cube.shape), loss=loss, **SOFT)
        expected = [loss(truth.bool().numpy(), predicted.bool().numpy()) for predicted in cube]
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_is_the_formula_at_expected_counts(loss):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 7, generator=generator, dtype=torch.float64)
    truth = torch.rand(5, 7, generator=generator) < 0.5
    truth[:, 0] = True
    found = set_loss(logits, truth, loss=loss, **SOFT)
    torch.testing.assert_close(found, soft_loss(logits.sigmoid(), truth.double(), loss))
    halves = set_loss(logits, truth, loss=loss, **SOFT | {"soft_share": 0.5})
    hinge = set_loss(logits, truth, loss=loss, **SOFT | {"soft_share": 0.0})
    torch.testing.assert_close(halves, (found + hinge) / 2)


def test_masks_and_weights_and_soft_labels_count_elements_by_their_weight():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    shares = torch.rand(3, 6, generator=generator, dtype=torch.float64)
    weight = torch.rand(3, 6, generator=generator, dtype=torch.float64)
    options = SOFT | {"operator": "lovasz"}
    found = set_loss(logits, shares, element_weight=weight, **options)
    p = logits.sigmoid()
    right, wrong = (weight * p * shares).sum(1), (weight * (p + shares - 2 * p * shares)).sum(1)
    torch.testing.assert_close(found, wrong / (right + wrong))
    seen = torch.arange(6) < 4
    hard = shares > 0.3
    masked = set_loss(logits, hard, mask=seen.expand(3, 6), **options)
    torch.testing.assert_close(masked, set_loss(logits[:, :4], hard[:, :4], **options))


def test_second_derivatives_are_those_of_the_formula():
    logits = torch.randn(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    truth = torch.tensor([[True, False, True, False, False]]).expand(2, 5)
    loss = SetLoss("dice", "slack", margins="probabilities", soft_share=1.0)
    torch.autograd.gradcheck(lambda h: loss(h, truth), logits)
    torch.autograd.gradgradcheck(lambda h: loss(h, truth), logits)


def test_sets_without_positives_are_left_to_the_surrogate():
    logits, empty = torch.tensor([[-1.0, 0.5, -2.0]]), torch.zeros(1, 3, dtype=torch.bool)
    hinge = SetLoss("jaccard", "lovasz", margins="probabilities")(logits, empty)
    torch.testing.assert_close(SetLoss(with_cross_entropy=0)(logits, empty), hinge)


def test_objects_are_sets_too():
    generator = torch.Generator().manual_seed(3)
    logits, truth = torch.randn(2, 8, 8, generator=generator), torch.zeros(2, 8, 8, dtype=torch.bool)
    truth[:, :2, :3], truth[0, 5:, 5:] = True, True
    groups = component_groups(truth)
    found = set_loss(logits, truth, over="groups", groups=groups, **SOFT)
    expected = [
        soft_loss(logits[i][groups[i] == g].sigmoid(), truth[i][groups[i] == g].float(), Jaccard())
        for i, g in ((0, 1), (0, 2), (1, 1))
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_what_has_no_expected_counts_is_refused():
    with pytest.raises(ValueError, match="soft_share is for Dice, Jaccard, Tversky and F-beta with margins='proba"):
        SetLoss("dice", "bd", soft_share=0.5)
    with pytest.raises(ValueError, match="soft_share is for Dice, Jaccard, Tversky and F-beta"):
        SetLoss(CostCurve([(0, 0), (1, 1)]), margins="probabilities", soft_share=0.5)
    for wrong in (-0.1, 1.5, True, "half"):
        with pytest.raises(ValueError, match="soft_share is the share of the loss at expected counts, from 0 to 1"):
            SetLoss(soft_share=wrong)
