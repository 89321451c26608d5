"""Adapters: other libraries' constructor lines, on our losses."""

import pytest
import torch

from setloss import Tversky
from setloss.nn import SetLoss, set_loss
from setloss.nn.compat import mmseg, monai, nnunet, smp


def masks():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 1, 5, 6, generator=generator), (torch.rand(2, 1, 5, 6, generator=generator) < 0.4).float()


def classes():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 4, 5, 6, generator=generator), torch.randint(0, 4, (2, 5, 6), generator=generator)


def one_hot(target):
    return torch.nn.functional.one_hot(target, 4).movedim(-1, 1)


# ---------------------------------------------------------------- segmentation-models-pytorch


def test_smp_lovasz():
    expected = set_loss(*masks(), operator="lovasz", over="batch")
    assert torch.equal(smp.LovaszLoss("binary")(*masks()), expected)
    per_image = set_loss(*masks(), operator="lovasz")
    assert torch.equal(smp.LovaszLoss("binary", per_image=True)(*masks()), per_image)
    softmax = {"operator": "lovasz", "mode": "multiclass", "margins": "softmax", "absent": "skip"}
    logits, target = classes()
    target[0, 0] = 255
    expected = set_loss(logits, target, over="batch", ignore_index=255, **softmax)
    assert torch.equal(smp.LovaszLoss("multiclass", ignore_index=255)(logits, target), expected)
    logits, labels = torch.randn(2, 3, 4, 4), (torch.rand(2, 3, 4, 4) < 0.5).float()
    expected = set_loss(logits.flatten(1), labels.flatten(1), operator="lovasz", over="batch")
    assert torch.equal(smp.LovaszLoss("multilabel")(logits, labels), expected)


def test_smp_overlaps():
    expected = set_loss(*masks(), loss="dice", over="batch", absent="skip", with_cross_entropy=0.0)
    assert torch.equal(smp.DiceLoss("binary")(*masks()), expected)
    multiclass = {"mode": "multiclass", "over": "batch", "absent": "skip", "with_cross_entropy": 0.0}
    assert torch.equal(smp.JaccardLoss("multiclass")(*classes()), set_loss(*classes(), loss="jaccard", **multiclass))
    found = smp.TverskyLoss("multiclass", classes=[1, 2], alpha=0.3, beta=0.7)(*classes())
    assert torch.equal(found, set_loss(*classes(), loss=Tversky(0.3, 0.7), classes=[1, 2], **multiclass))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: smp.LovaszLoss("binary", from_logits=False), "LovaszLoss: from_logits=False has no counterpart"),
        (lambda: smp.DiceLoss("binary", smooth=1.0), r"DiceLoss: smooth=1.0 has no counterpart in setloss; leave it"),
        (lambda: smp.JaccardLoss("binary", log_loss=True), "JaccardLoss: log_loss=True has no counterpart"),
        (lambda: smp.TverskyLoss("binary", gamma=2.0), "TverskyLoss: gamma=2.0 has no counterpart"),
        (lambda: smp.DiceLoss("panoptic"), "mode is one of 'binary', 'multilabel', 'multiclass'; got 'panoptic'"),
        (lambda: smp.DiceLoss("binary", classes=[0]), "classes is for mode='multiclass'"),
        (lambda: monai.DiceLoss(), "inputs are logits here, so set sigmoid=True or softmax=True"),
        (lambda: monai.DiceLoss(sigmoid=True, squared_pred=True), "DiceLoss: squared_pred=True has no counterpart"),
        (lambda: monai.DiceLoss(sigmoid=True, weight=[1.0]), "weight is for softmax=True"),
        (lambda: monai.DiceCELoss(softmax=False), "softmax=True here"),
        (lambda: nnunet.RegionAndCELoss({}, {"label_smoothing": 0.1}), "cross-entropy is plain here"),
        (lambda: mmseg.MMSegSetLoss()(*classes(), avg_factor=3), "a set loss is a mean over sets"),
    ],
)
def test_what_has_no_counterpart_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---------------------------------------------------------------- MONAI


def test_monai_softmax():
    logits, target = classes()
    expected = set_loss(
        logits, target, loss="dice", mode="multiclass", over="image", include_background=False, with_cross_entropy=0.0
    )
    loss = monai.DiceLoss(include_background=False, to_onehot_y=True, softmax=True)
    assert torch.equal(loss(logits, target.unsqueeze(1)), expected)
    assert torch.equal(monai.DiceLoss(include_background=False, softmax=True)(logits, one_hot(target)), expected)


@pytest.mark.parametrize("batch", [False, True])
def test_monai_sigmoid_has_a_set_per_channel(batch):
    logits, target = classes()
    found = monai.DiceLoss(sigmoid=True, to_onehot_y=True, jaccard=True, batch=batch, include_background=False)(
        logits, target.unsqueeze(1)
    )
    each = [
        set_loss(logits[:, c], target == c, over="batch" if batch else "image", with_cross_entropy=0.0)
        for c in (1, 2, 3)
    ]
    torch.testing.assert_close(found, torch.stack(each).mean())


def test_monai_sum_with_cross_entropy():
    logits, target = classes()
    loss = monai.DiceCELoss(to_onehot_y=True, lambda_dice=2.0, lambda_ce=0.5)
    part = set_loss(logits, target, loss="dice", mode="multiclass", over="image", with_cross_entropy=0.0)
    expected = 2 * part + 0.5 * torch.nn.functional.cross_entropy(logits, target)
    torch.testing.assert_close(loss(logits, target.unsqueeze(1)), expected)


# ---------------------------------------------------------------- MMSegmentation, nnU-Net


def test_mmseg_calls_and_registry():
    logits, target = classes()
    target[1, 1] = 255
    loss = mmseg.MMSegSetLoss(loss_weight=0.5, class_weight=[1.0, 2.0, 1.0, 0.0])
    options = {"mode": "multiclass", "ignore_index": 255, "class_weight": torch.tensor([1.0, 2.0, 1.0, 0.0])}
    torch.testing.assert_close(loss(logits, target, ignore_index=255), 0.5 * set_loss(logits, target, **options))
    seen = torch.ones(2, 5, 6)
    seen[:, :2] = 0
    masked = set_loss(logits, target, mask=seen > 0, **options)
    torch.testing.assert_close(loss(logits, target, weight=seen), 0.5 * masked)
    assert loss.loss_name == "loss_set"

    class Registry(dict):
        def register_module(self, name, module):
            self[name] = module

    registry = Registry()
    mmseg.register(registry)
    assert registry["SetLoss"] is mmseg.MMSegSetLoss


def test_nnunet_calls():
    logits, target = classes()
    mask = (torch.rand(2, 1, 5, 6) < 0.8).float()
    loss = nnunet.RegionLoss(batch_dice=True, do_bg=False)
    expected = set_loss(
        logits, target, mode="multiclass", include_background=False, with_cross_entropy=0.0, mask=mask.bool()
    )
    assert torch.equal(loss(logits, target.unsqueeze(1).float(), mask), expected)
    both = nnunet.RegionAndCELoss({"batch_dice": True}, {}, weight_ce=1.0, weight_dice=1.0, ignore_label=3)
    plain = SetLoss(mode="multiclass", ignore_index=3, with_cross_entropy=1.0)(logits, target)
    torch.testing.assert_close(both(logits, target.unsqueeze(1)), plain)


def test_nnunet_line_of_the_trainer():
    logits, target = classes()
    loss = nnunet.RegionAndCELoss(
        {"batch_dice": True, "smooth": 1e-5, "do_bg": False, "ddp": False}, {}, weight_ce=1, weight_dice=1,
        ignore_label=None, dice_class=nnunet.RegionLoss, loss="dice", soft_share=1.0,
    )  # fmt: skip
    p, y = logits.softmax(1)[:, 1:], one_hot(target)[:, 1:]
    overlap, total = (p * y).sum((0, 2, 3)), (p + y).sum((0, 2, 3))
    expected = torch.nn.functional.cross_entropy(logits, target) + 1 - (2 * overlap / total).mean()
    torch.testing.assert_close(loss(logits, target.unsqueeze(1)), expected)
