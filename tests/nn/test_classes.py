"""Which classes have sets, and what they weigh."""

import pytest
import torch

from setloss.nn import SetLoss, set_loss


def problem():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, 4, 5, generator=generator, dtype=torch.float64), torch.randint(
        0, 3, (2, 5), generator=generator
    )


def every(**options):
    return set_loss(*problem(), operator="slack", mode="multiclass", **options)


@pytest.mark.parametrize("over", ["image", "batch"])
def test_chosen_classes_are_columns_of_all(over):
    whole = every(over=over, reduction="none")
    assert torch.equal(every(over=over, reduction="none", classes=[2, 0]), whole[..., [2, 0]])
    assert torch.equal(every(over=over, reduction="none", include_background=False), whole[..., 1:])
    assert torch.equal(every(over=over, reduction="none", classes=(0, 3), include_background=False), whole[..., 3:])


def test_present_classes_are_those_that_occur():
    assert torch.equal(every(classes="present"), every(absent="skip"))
    torch.testing.assert_close(
        every(classes="present", over="batch"), every(over="batch", reduction="none")[:3].mean()
    )


def test_class_weights_make_a_weighted_mean():
    factors = torch.tensor([0.0, 1.0, 2.0, 0.5])
    whole = every(reduction="none")
    expected = (whole * factors).sum() / (2 * factors.sum())
    torch.testing.assert_close(every(class_weight=factors), expected)
    both = torch.rand(2, 4, dtype=torch.float64)
    torch.testing.assert_close(
        every(class_weight=factors, weight=both), (whole * factors * both).sum() / (factors * both).sum()
    )
    chosen = every(class_weight=factors, classes=[2, 1], over="batch", reduction="none")
    torch.testing.assert_close(chosen, every(over="batch", reduction="none")[[2, 1]] * torch.tensor([2.0, 1.0]))


def test_the_module_keeps_class_weights_and_no_state():
    module = SetLoss("dice", "slack", mode="multiclass", class_weight=[1.0, 2.0, 3.0, 4.0])
    assert module.state_dict() == {}
    torch.testing.assert_close(
        module(*problem()), every(loss="dice", class_weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": [0, 4]}, r"classes are different numbers from 0 to 3; got \[0, 4\]"),
        ({"classes": [1, 1]}, r"classes are different numbers from 0 to 3; got \[1, 1\]"),
        ({"classes": "all"}, "classes is a list of class numbers, 'present' or None; got 'all'"),
        ({"class_weight": torch.ones(3)}, r"one class_weight per class: expected shape \(4,\); got \(3,\)"),
        ({"class_weight": -torch.ones(4)}, "class_weight holds factors from 0 on; got -1.0"),
        ({"weight": -torch.ones(2, 4)}, "weight holds factors from 0 on; got -1.0"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        every(**options)


@pytest.mark.parametrize(
    "options", [{"classes": [1]}, {"include_background": False}, {"class_weight": torch.ones(1)}]
)
def test_classes_are_for_multiclass(options):
    with pytest.raises(ValueError, match="for mode='multiclass'; the mode is 'binary'"):
        set_loss(torch.randn(2, 4), torch.zeros(2, 4), **options)
