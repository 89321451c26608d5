"""Sets by group, and the helper that makes groups of connected components."""

import pytest
import torch

from setloss.nn import SetLoss, component_groups, set_loss


def test_every_group_is_a_set_of_its_own():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64)
    target = torch.rand(2, 3, 4, generator=generator) < 0.5
    groups = torch.randint(0, 4, (2, 3, 4), generator=generator)
    leaf = logits.clone().requires_grad_()
    got = set_loss(leaf, target, loss="dice", operator="slack", over="groups", groups=groups, reduction="none")
    got.sum().backward()
    expected, other = [], logits.clone().requires_grad_()
    for n in range(2):
        for number in (1, 2, 3):
            members = groups[n] == number
            if members.any():
                one = set_loss(other[n][members][None], target[n][members][None], loss="dice", operator="slack")
                expected.append(one)
    torch.stack(expected).sum().backward()
    torch.testing.assert_close(got, torch.stack(expected))
    torch.testing.assert_close(leaf.grad, other.grad)


def test_masks_take_pixels_out_of_groups():
    logits, target = torch.randn(1, 6), torch.rand(1, 6) < 0.5
    groups = torch.tensor([[1, 1, 1, 2, 2, 2]])
    mask = torch.tensor([[True, True, True, False, False, False]])
    got = set_loss(logits, target, operator="lovasz", over="groups", groups=groups, mask=mask, reduction="none")
    torch.testing.assert_close(got, set_loss(logits[:, :3], target[:, :3], operator="lovasz", reduction="none"))


def test_components_share_out_the_background_by_distance():
    mask = torch.tensor([[[1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]]], dtype=torch.bool)
    assert component_groups(mask).tolist() == [[[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2]]]
    assert component_groups(torch.zeros(1, 1, 2, 2)).tolist() == [[[[1, 1], [1, 1]]]]
    assert component_groups(mask.unsqueeze(1)).shape == (1, 1, 2, 6)


def test_a_missed_small_component_costs_as_much_as_a_large_one():
    mask = torch.zeros(1, 8, 20, dtype=torch.bool)
    mask[0, :6, :6] = mask[0, 6:, 19:] = True
    logits = torch.where(mask, 5.0, -5.0)
    logits[0, 6:, 19:] = -5.0
    by_component = SetLoss(operator="lovasz", margins="sigmoid", over="groups", reduction="none")
    values = by_component(logits, mask, groups=component_groups(mask))
    assert values[0] < 0.1
    assert values[1] > 0.9


def test_no_group_at_all_costs_nothing():
    value = SetLoss(operator="lovasz", over="groups")(torch.randn(1, 4, requires_grad=True), torch.ones(1, 4),
                                                      groups=torch.zeros(1, 4, dtype=torch.int64))  # fmt: skip
    assert value == 0


@pytest.mark.parametrize(
    ("options", "groups", "error", "message"),
    [
        (
            {},
            None,
            ValueError,
            "over='groups' needs groups=, an integer per pixel; setloss.nn.component_groups makes",
        ),
        ({}, torch.ones(2, 4), TypeError, "groups is an integer tensor, 0 for pixels of no group; got torch.float32"),
        ({}, torch.ones(2, 3, dtype=torch.int64), ValueError, "one group number per pixel"),
        ({}, -torch.ones(2, 4, dtype=torch.int64), ValueError, "group numbers are 0 .no group. or positive; got -1"),
        ({"over": "image"}, torch.ones(2, 4, dtype=torch.int64), ValueError, "groups= is for over='groups'"),
        ({"mode": "multilabel"}, None, ValueError, "over='groups' is for mode='binary'"),
        ({"sync": True}, None, ValueError, "sets over an image lie in one process"),
    ],
)
def test_what_is_refused(options, groups, error, message):
    with pytest.raises(error, match=message):
        set_loss(
            torch.randn(2, 4), torch.zeros(2, 4), groups=groups, operator="slack", **{"over": "groups"} | options
        )


def test_masks_need_a_spatial_dimension():
    with pytest.raises(ValueError, match="with at least one spatial dimension"):
        component_groups(torch.zeros(3))
