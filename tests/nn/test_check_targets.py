"""Targets that mean nothing are refused, on the CPU in words, elsewhere by an assertion; slips are said."""

import pytest
import torch

from setloss.nn import SetLoss, SetLossWarning, set_loss


def labels(*shape):
    return torch.zeros(shape, dtype=torch.int64)


SOFT = r"labels in \[0, 1\]"


@pytest.mark.parametrize(
    ("options", "shape", "value", "words"),
    [
        ({}, (2, 3), -1, r"0 and 1; the one at \(1, 2\) is -1.*ignore_index.*mask"),
        ({}, (2, 3), 255, r"is 255. If 255 is the foreground of an image file, give target > 0"),
        ({"mode": "multilabel"}, (2, 3), 2, r"0 and 1; the one at \(1, 2\) is 2.*ignore_index"),
        ({"mode": "multiclass"}, (2, 4, 5), -1, r"class ids from 0 to 2; the one at \(1, 2, 0\) is -1.*ignore_index"),
        ({"mode": "multiclass"}, (2, 4, 5), 3, "class ids from 0 to 2; .* is 3"),
        ({"loss": "dice"}, (2, 3), 0.5, "Soft labels need a loss that knows weights of elements: the Lovász hinge"),
        ({"loss": "dice"}, (2, 3), float("nan"), "targets are 0 and 1.*mask"),
        ({"operator": "lovasz"}, (2, 3), -0.1, rf"{SOFT}; the one at \(1, 2\) is -0.1"),
        ({"operator": "lovasz"}, (2, 3), float("nan"), SOFT),
    ],
)
def test_labels_lie_in_their_range(options, shape, value, words):
    target = labels(*shape) if isinstance(value, int) else torch.zeros(shape)
    target[(1, 2, 0)[: len(shape)]] = value
    logits = torch.zeros(2, 3, *shape[1:]) if options.get("mode") == "multiclass" else torch.zeros(shape)
    with pytest.raises(ValueError, match=words):
        set_loss(logits, target, **options)


def test_another_ignored_value_does_not_excuse_a_wrong_one_and_a_mask_does():
    target, mask = labels(2, 3), torch.ones(2, 3, dtype=torch.bool)
    target[0, 0], target[1, 1] = 255, -1
    with pytest.raises(ValueError, match=r"the one at \(1, 1\) is -1"):
        set_loss(torch.zeros(2, 3), target, ignore_index=255)
    mask[1, 1] = False
    assert torch.isfinite(set_loss(torch.zeros(2, 3), target, ignore_index=255, mask=mask))


def test_one_hot_targets_have_one_class_a_pixel():
    logits = torch.randn(1, 3, 2)
    with pytest.raises(ValueError, match=r"one 1 among the classes of a pixel; those at \(0, 1\) sum to 2"):
        set_loss(logits, torch.tensor([[[1, 1], [0, 1], [0, 0]]]), mode="multiclass")
    with pytest.raises(ValueError, match=r"those at \(0, 0\) sum to 1.05"):
        set_loss(logits, torch.tensor([[[0.55, 1], [0.25, 0], [0.25, 0]]]), mode="multiclass")
    for masked in (0, 255):
        mask, target = torch.tensor([[True, False]]), torch.tensor([[[1, masked], [0, masked], [0, masked]]])
        assert torch.isfinite(set_loss(logits, target, mode="multiclass", mask=mask))


@pytest.mark.parametrize(
    ("mode", "shape", "wrong"),
    [("binary", (2, 6), (255, -1)), ("multilabel", (2, 6), (2,)), ("multiclass", (2, 3, 6), (7, -1))],
)
def test_targets_that_cannot_be_read_are_an_index_out_of_range(mode, shape, wrong):
    """In a compiled graph, as on a device."""
    logits, target = torch.randn(shape), labels(2, 6)
    loss = SetLoss("jaccard", "lovasz", mode=mode)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    assert torch.isfinite(compiled(logits, target)).all()
    for value in wrong:
        broken = target.clone()
        broken[1, 2] = value
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            compiled(logits, broken)


# ---------------------------------------------------------------- slips


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_probabilities_are_not_logits(dtype):
    with pytest.warns(SetLossWarning, match="all logits lie in .0, 1., as probabilities do"):
        set_loss(torch.rand(2, 40, requires_grad=True).to(dtype), torch.zeros(2, 40))
    set_loss(torch.rand(2, 40) - 0.5, torch.zeros(2, 40))
    set_loss(torch.zeros(2, 40), torch.zeros(2, 40))


def test_one_hot_classes_are_no_mask():
    classes = torch.nn.functional.one_hot(torch.arange(64) % 3, 3).T.reshape(1, 3, 8, 8)
    logits = torch.zeros(1, 3, 8, 8)
    with pytest.warns(SetLossWarning, match="mode="):
        SetLoss()(logits, classes)
    SetLoss(mode="multiclass")(logits, classes)
    SetLoss()(logits, classes.clone().index_fill_(1, torch.tensor(0), 1))  # no class has every pixel
