"""Soft labels and weights of elements for L of Jaccard: hard labels, masks; orders: `benchmarks.judge`."""

import pytest
import torch

from setloss.nn import SetLoss, set_loss

OPTIONS = {"loss": "jaccard", "operator": "lovasz"}


@pytest.mark.parametrize("margins", ["logits", "probabilities"])
def test_hard_labels_take_the_same_value_and_gradient_either_way(margins):
    h, y = torch.randn(3, 9, dtype=torch.float64), torch.rand(3, 9) < 0.4
    y[1] = False
    found = []
    for weight in (None, torch.ones(3, 9)):
        leaf = h.clone().requires_grad_()
        value = set_loss(leaf, y, element_weight=weight, margins=margins, reduction="none", **OPTIONS)
        value.sum().backward()
        found.append((value.detach(), leaf.grad))
    torch.testing.assert_close(found[0], found[1])


def test_a_share_of_a_positive_is_a_positive_where_sets_need_one():
    logits, target = torch.randn(2, 4), torch.tensor([[0.3, 0.0, 0.2, 0.0], [0.0, 0.0, 0.0, 0.0]])
    skipped, kept = (set_loss(logits, target, absent=way, reduction="none", **OPTIONS) for way in ("skip", "keep"))
    assert torch.equal(skipped, torch.stack([kept[0], torch.tensor(0.0)]))


def test_masked_elements_do_not_count():
    h, t = torch.randn(2, 6), torch.rand(2, 6)
    mask = torch.tensor([[True] * 4 + [False] * 2] * 2)
    other = h.clone()
    other[:, 4:] = float("inf")
    leaf = other.requires_grad_()
    value = SetLoss()(leaf, t, mask=mask)
    value.backward()
    torch.testing.assert_close(value.detach(), SetLoss()(h[:, :4], t[:, :4]))
    assert torch.count_nonzero(leaf.grad[:, 4:]) == 0
    weight = torch.rand(2, 6)
    expected = SetLoss()(h[:, :4], t[:, :4], element_weight=weight[:, :4])
    torch.testing.assert_close(SetLoss()(h, t, mask=mask, element_weight=weight), expected)


def test_soft_labels_over_classes():
    h = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([[0, 1, 2, 0, 1], [2, 2, 0, 1, 0]])  # every class in every image: absent ones are left out
    hot = torch.nn.functional.one_hot(y, 3).movedim(-1, 1)
    for options in ({}, {"operator": "lovasz", "margins": "probabilities", "over": "image"}):
        hard = set_loss(h, y, mode="multiclass", **options)
        torch.testing.assert_close(set_loss(h, hot, mode="multiclass", **options), hard)
        torch.testing.assert_close(set_loss(h, hot.bool(), mode="multiclass", **options), hard)
        near = 0.999999 * hot.double() + 0.000001 / 3
        torch.testing.assert_close(set_loss(h, near, mode="multiclass", **options), hard, atol=1e-4, rtol=0)


def test_compiled_real_targets_are_taken_as_shares():
    h, t = torch.randn(2, 6), torch.rand(2, 6)
    compiled = torch.compile(SetLoss(), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(h, t), SetLoss()(h, t))
    torch.testing.assert_close(compiled(h, (t > 0.5).float()), SetLoss()(h, t > 0.5))


JACCARD_ONLY = "element_weight is for L of Jaccard"


@pytest.mark.parametrize(
    ("weight", "options", "error", "words"),
    [
        (torch.ones(2, 4), {"loss": "dice"}, ValueError, JACCARD_ONLY),
        (torch.ones(2, 4), {"operator": "slack"}, ValueError, JACCARD_ONLY),
        (torch.ones(2, 4), {"over": "groups"}, ValueError, JACCARD_ONLY),
        (torch.ones(2, 3), {}, ValueError, r"one element_weight per element: expected shape \(2, 4\); got \(2, 3\)"),
        (-torch.ones(2, 4), {}, ValueError, "element_weight holds finite factors from 0 on; got -1 to -1"),
        (torch.full((2, 4), torch.inf), {}, ValueError, "element_weight holds finite factors from 0 on; got inf"),
        (torch.ones(2, 4).long(), {}, TypeError, "element_weight is a tensor of real factors; got torch.int64"),
        ([1.0], {}, TypeError, "element_weight must be a tensor; got list"),
    ],
)
def test_weights_that_are_refused(weight, options, error, words):
    with pytest.raises(error, match=words):
        set_loss(torch.randn(2, 4), torch.zeros(2, 4), element_weight=weight, **options)
