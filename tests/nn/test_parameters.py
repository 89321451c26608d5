"""Recommended values for parameters that are not given, and parameters that mean nothing."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot

from setloss import Dice, FBeta
from setloss.nn import SetLoss, set_loss


def masks():
    return torch.randn(3, 1, 6, 6), torch.rand(3, 1, 6, 6) < 0.3


def classes():
    return torch.randn(3, 5, 6, 6), torch.randint(0, 4, (3, 6, 6))


def soft_jaccard(p, y, dims):
    """1 - <p, y> / (|p| + |y| - <p, y>), a mean over sets that have positives."""
    both = (p * y).sum(dims)
    return (1 - both / ((p + y).sum(dims) - both))[y.sum(dims) > 0].mean()


def test_the_default_for_masks_is_l_of_jaccard_and_soft_dice_of_sigmoids_and_cross_entropy():
    logits, target = masks()
    hinges = set_loss(logits, target, loss="jaccard", operator="lovasz", margins="probabilities", reduction="none")
    p, y = logits.sigmoid(), target.float()
    soft = torch.stack([soft_jaccard(p[i : i + 1], y[i : i + 1], (1, 2, 3)) for i in range(3)])
    dice = soft / (2 - soft)
    sets = ((1 - dice) * hinges + dice * dice).mean()
    torch.testing.assert_close(SetLoss()(logits, target), sets + binary_cross_entropy_with_logits(logits, y))
    equal = (hinges.mean() + soft.mean()) / 2 + binary_cross_entropy_with_logits(logits, y)
    torch.testing.assert_close(SetLoss(soft_share=0.5)(logits, target), equal)


def test_the_default_for_classes_has_a_set_for_every_class_in_the_batch():
    logits, target = classes()
    options = {"loss": "jaccard", "operator": "lovasz", "margins": "probabilities", "mode": "multiclass"}
    hinge = set_loss(logits, target, over="batch", absent="skip", **options)
    soft = soft_jaccard(logits.softmax(1), one_hot(target, 5).movedim(-1, 1), (0, 2, 3))
    expected = (hinge + soft + cross_entropy(logits, target)) / 2
    torch.testing.assert_close(SetLoss(mode="multiclass")(logits, target), expected)


def test_naming_an_operator_gives_that_operator_alone():
    settings = SetLoss("dice", "bd", mode="multiclass")
    assert (settings.margins, settings.over, settings.absent) == ("logits", "image", "keep")
    assert settings.soft_share == settings.with_cross_entropy == 0


def test_naming_a_loss_keeps_the_recommended_way():
    settings = SetLoss("dice")
    assert (settings.operator, settings.margins, settings.with_cross_entropy) == ("bd-monotone", "probabilities", 1.0)
    assert (settings.soft_share, SetLoss("dice", mode="multiclass").soft_share) == ("adaptive", 0.5)
    assert SetLoss("curve1").soft_share == SetLoss("dice", mode="multilabel").soft_share == 0
    assert SetLoss("iou").operator == SetLoss("jaccard").operator == "lovasz"
    assert SetLoss(reduction="none").with_cross_entropy == 0


def test_there_is_a_slope_where_all_scores_are_zero():
    """No plateau at the start: the gradient is not 0 where a network begins."""
    for mode, target in (("binary", masks()[1]), ("multiclass", classes()[1])):
        logits = torch.zeros(target.shape if mode == "binary" else (3, 5, 6, 6), requires_grad=True)
        SetLoss(mode=mode)(logits, target).backward()
        assert torch.count_nonzero(logits.grad) > logits.numel() // 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "multi"}, "mode is one of 'binary', 'multilabel', 'multiclass'; got 'multi'"),
        ({"over": "pixel"}, "over is one of .*'groups'; got 'pixel'"),
        ({"absent": "drop"}, "absent is one of 'keep', 'skip'; got 'drop'"),
        ({"reduction": None}, "reduction is one of 'mean', 'sum', 'none'; got None"),
        ({"operator": "best"}, "no operator 'best'.*bd-monotone"),
        ({"loss": "lou"}, "no loss 'lou'.*dice"),
        *[({"scale": scale}, "scale c must be a positive") for scale in (0, -1.0, float("inf"), "2", True)],
        ({"margins": "relu"}, "margins is one of 'logits', 'probabilities'; got 'relu'"),
        ({"with_cross_entropy": 1.0, "reduction": "sum"}, "cross-entropy is a mean.*with_cross_entropy=0"),
        *[
            ({"with_cross_entropy": wrong}, "with_cross_entropy is a factor.*from 0 on")
            for wrong in (-1.0, True, "yes")
        ],
        *[({"soft_share": wrong}, 'from 0 to 1, or "adaptive"; got') for wrong in (-0.1, 1.5, True, "half")],
        ({"loss": "dice", "operator": "bd", "soft_share": 0.5}, "soft_share is for .*margins='probabilities'"),
        ({"loss": "curve1", "margins": "probabilities", "soft_share": 0.5}, "soft_share is for Dice"),
        ({"loss": FBeta(0.5), "operator": "lovasz"}, "LovaszHinge needs a submodular function.*adding .* gains"),
        ({"loss": "curve1", "operator": "lovasz"}, "LovaszHinge needs a submodular function.*adding .* gains"),
        ({"loss": Dice(zero_division=0.0)}, r"needs l\(empty\) = 0. Train with zero_division=1"),
        *[({"loss": loss}, "use the operator without the closure") for loss in ("curve3", "curve4", FBeta(0.5))],
    ],
    ids=str,
)
def test_what_is_refused_when_the_module_is_made_and_when_the_function_is_called(options, words):
    with pytest.raises(ValueError, match=words):
        SetLoss(**options)
    with pytest.raises(ValueError, match=words):
        set_loss(torch.randn(2, 3), torch.zeros(2, 3), **options)
