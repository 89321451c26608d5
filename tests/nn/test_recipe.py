"""What `SetLoss` does when it is not told, and slips that are caught."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot

from setloss.nn import SetLoss, SetLossWarning, set_loss


def masks():
    generator = torch.Generator().manual_seed(2)
    return torch.randn(3, 1, 6, 6, generator=generator), torch.rand(3, 1, 6, 6, generator=generator) < 0.3


def classes():
    generator = torch.Generator().manual_seed(2)
    return torch.randn(3, 5, 6, 6, generator=generator), torch.randint(0, 4, (3, 6, 6), generator=generator)


def soft_jaccard(p, y, dims):
    """1 - <p, y> / (|p| + |y| - <p, y>), a mean over sets that have positives."""
    both = (p * y).sum(dims)
    return (1 - both / ((p + y).sum(dims) - both))[y.sum(dims) > 0].mean()


def test_the_default_for_masks_is_l_and_soft_jaccard_of_sigmoids_and_half_of_cross_entropy():
    logits, target = masks()
    hinges = set_loss(logits, target, loss="jaccard", operator="lovasz", margins="sigmoid", reduction="none")
    p, y = logits.sigmoid(), target.float()
    soft = torch.stack([soft_jaccard(p[i : i + 1], y[i : i + 1], (1, 2, 3)) for i in range(3)])
    sets = ((1 - soft) * hinges + soft * soft).mean()
    torch.testing.assert_close(SetLoss()(logits, target), sets + binary_cross_entropy_with_logits(logits, y) / 2)
    equal = (hinges.mean() + soft.mean() + binary_cross_entropy_with_logits(logits, y)) / 2
    torch.testing.assert_close(SetLoss(soft_share=0.5)(logits, target), equal)


def test_the_default_for_classes_has_a_set_for_every_class_in_the_batch():
    logits, target = classes()
    options = {"loss": "jaccard", "operator": "lovasz", "margins": "softmax", "mode": "multiclass"}
    hinge = set_loss(logits, target, over="batch", absent="skip", **options)
    soft = soft_jaccard(logits.softmax(1), one_hot(target, 5).movedim(-1, 1), (0, 2, 3))
    expected = (hinge + soft + cross_entropy(logits, target)) / 2
    torch.testing.assert_close(SetLoss(mode="multiclass")(logits, target), expected)


def test_naming_an_operator_gives_that_operator_alone():
    module = SetLoss("dice", "bd")
    assert (module.margins, module.with_cross_entropy, module.over, module.absent) == ("logits", 0, "image", "keep")
    assert module.soft_share == SetLoss("jaccard", "lovasz", margins="probabilities").soft_share == 0
    multiclass = SetLoss("dice", "bd", mode="multiclass")
    assert (multiclass.margins, multiclass.over, multiclass.absent) == ("one-vs-rest", "image", "keep")


def test_naming_a_loss_keeps_the_recommended_way():
    module = SetLoss("dice")
    assert (module.operator, module.margins, module.with_cross_entropy) == ("bd-monotone", "sigmoid", 0.5)
    assert (module.soft_share, SetLoss("dice", mode="multiclass").soft_share) == ("adaptive", 0.5)
    assert SetLoss("curve1").soft_share == SetLoss("dice", mode="multilabel").soft_share == 0
    assert SetLoss("iou").operator == SetLoss("jaccard").operator == "lovasz"


def test_cross_entropy_is_a_factor_of_a_mean():
    logits, target = masks()
    parts = [SetLoss(with_cross_entropy=factor)(logits, target) for factor in (0.0, 0.5, 1.0)]
    torch.testing.assert_close(parts[1], (parts[0] + parts[2]) / 2)
    assert SetLoss(reduction="none").with_cross_entropy == 0
    with pytest.raises(ValueError, match="cross-entropy is a mean over elements and reduction='sum' is over sets"):
        SetLoss(with_cross_entropy=1.0, reduction="sum")
    for wrong in (-1.0, True, float("inf"), "yes"):
        with pytest.raises(ValueError, match="with_cross_entropy is the factor of cross-entropy, a number from 0 on"):
            SetLoss(with_cross_entropy=wrong)


def test_cross_entropy_leaves_out_what_does_not_count():
    logits, target = classes()
    target[0, :3] = 255
    expected = cross_entropy(logits, target, ignore_index=255)
    both = {"mode": "multiclass", "ignore_index": 255}
    found = set_loss(logits, target, **both) - set_loss(logits, target, with_cross_entropy=0.0, **both)
    torch.testing.assert_close(2 * found, expected)
    nothing = torch.full_like(target, 255)
    assert set_loss(logits, nothing, **both) == 0


def test_there_is_a_slope_where_all_scores_are_zero():
    """No plateau at the start: the gradient is not 0 where a network begins."""
    for mode, target in (("binary", masks()[1]), ("multiclass", classes()[1])):
        shape = target.shape if mode == "binary" else (3, 5, 6, 6)
        logits = torch.zeros(shape, requires_grad=True)
        SetLoss(mode=mode)(logits, target).backward()
        assert torch.count_nonzero(logits.grad) > logits.numel() // 2


# ---------------------------------------------------------------- slips


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_a_mode_in_the_place_of_the_loss(mode):
    with pytest.raises(
        ValueError, match=f"'{mode}' is a mode, and the first argument is the loss: write mode='{mode}'"
    ):
        SetLoss(mode)


def test_true_is_no_scale():
    with pytest.raises(ValueError, match='the scale c must be a positive number or "mean"; got True'):
        SetLoss(scale=True)


def test_a_forgotten_mode_is_said():
    with pytest.warns(SetLossWarning, match="judges all 3 channels of logits .2, 3, 16, 16. as one set of pixels"):
        set_loss(torch.randn(2, 3, 16, 16), torch.zeros(2, 3, 16, 16))


def test_probabilities_are_not_logits():
    with pytest.warns(SetLossWarning, match="all logits lie in .0, 1., as probabilities do"):
        set_loss(torch.rand(2, 40, requires_grad=True), torch.zeros(2, 40))
    set_loss(torch.rand(2, 40) - 0.5, torch.zeros(2, 40))
    set_loss(torch.zeros(2, 40), torch.zeros(2, 40))


def test_volumes_are_no_channels():
    set_loss(torch.randn(2, 12, 16, 16), torch.zeros(2, 12, 16, 16))


# ---------------------------------------------------------------- targets that cannot be looked at


@pytest.mark.parametrize(
    ("mode", "shape", "wrong", "words"),
    [
        ("binary", (2, 6), (255, -1), "targets are 0 and 1"),
        ("multilabel", (2, 6), (2,), "targets are 0 and 1"),
        ("multiclass", (2, 3, 6), (7, -1), "targets are class ids from 0 to 2"),
    ],
)
def test_compiled_graphs_refuse_labels_outside_of_the_alphabet(mode, shape, wrong, words):
    logits, target = torch.randn(shape), torch.zeros((2, 6), dtype=torch.int64)
    compiled = torch.compile(SetLoss("dice", "slack", mode=mode), fullgraph=True, backend="aot_eager")
    assert torch.isfinite(compiled(logits, target))
    for label in wrong:
        target[1, 2] = label
        with pytest.raises(RuntimeError, match=words):
            compiled(logits, target)


def test_one_hot_targets_have_one_class():
    logits = torch.randn(1, 3, 2)
    with pytest.raises(ValueError, match=r"have one 1 among the classes of a pixel; those at \(0, 1\) sum to 2"):
        set_loss(logits, torch.tensor([[[1, 1], [0, 1], [0, 0]]]), mode="multiclass")
    mask = torch.tensor([[True, False]])
    assert torch.isfinite(set_loss(logits, torch.tensor([[[1, 0], [0, 0], [0, 0]]]), mode="multiclass", mask=mask))


def test_a_mask_without_channels_is_for_all_labels():
    logits, target = torch.randn(3, 3, 3, 4), torch.rand(3, 3, 3, 4) < 0.5
    mask = torch.rand(3, 3, 4) < 0.5
    got = set_loss(logits, target, operator="slack", mode="multilabel", mask=mask)
    spread = mask.unsqueeze(1).expand(3, 3, 3, 4)
    assert torch.equal(got, set_loss(logits, target, operator="slack", mode="multilabel", mask=spread))
    with pytest.raises(ValueError, match=r"does not fit a target .2, 3, 3, 4.; without channels it is .N, ...."):
        set_loss(logits[:2], target[:2], mode="multilabel", mask=mask)


def test_sync_cannot_be_compiled():
    module = SetLoss("dice", "slack", over="batch", sync=True)
    with pytest.raises(Exception, match="sync=True waits for other processes, which cannot be compiled"):
        torch.compile(module, fullgraph=True, backend="eager")(torch.randn(2, 3), torch.zeros(2, 3))
