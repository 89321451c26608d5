"""Sets of every layout, mode and reduction, and objects; `benchmarks.judge` enumerates which elements a set has."""

import itertools

import pytest
import torch

from setloss.nn import component_groups, set_loss

BINARY = [(6,), (3, 5), (3, 4, 5), (3, 1, 4, 5), (3, 1), (2, 2, 3, 4), (2, 2, 3, 2, 2)]
CHANNELS = [(3, 4), (3, 4, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2), (2, 1, 4)]


def problem(mode, shape, seed=0):
    """Logits, targets as the mode wants them, truth per logit, and a mask of the shape of the targets."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    if mode == "multiclass":
        target = torch.randint(0, shape[1], shape[:1] + shape[2:], generator=generator)
        target[target == 1] = 0
        truth = torch.stack([target == c for c in range(shape[1])], 1)
    else:
        target = (torch.rand(shape, generator=generator) < 0.4).to(torch.int64)
        target[0] = 0
        truth = target == 1
    mask = torch.rand(target.shape, generator=generator) < 0.7
    return logits, target, truth, mask


@pytest.mark.parametrize("over", ["image", "batch", "class", "groups"])
@pytest.mark.parametrize(
    ("mode", "shape"),
    [("binary", shape) for shape in BINARY]
    + [(mode, shape) for mode in ("multilabel", "multiclass") for shape in CHANNELS],
)
def test_sets_of_any_rank_are_those_of_rows_of_pixels(mode, shape, over):
    """Those of labels are sets of a mask, with a row for every image, label, or both."""
    logits, target, _, mask = problem(mode, shape)
    groups = torch.randint(0, 4, shape)
    options = {"operator": "slack", "reduction": "none"}
    parts = {"mask": mask, "groups": groups if over == "groups" else None}
    found = set_loss(logits, target, mode=mode, over=over, **parts, **options)

    def row(tensor):
        if mode == "multilabel":
            tensor = {"class": tensor.movedim(1, 0), "groups": tensor.flatten(0, 1)}.get(over, tensor)
        return tensor.unsqueeze(-1).flatten(2 if mode == "multiclass" and tensor.shape == shape else 1)

    if mode == "multilabel":
        options |= {"mode": "binary", "over": "image" if over == "class" else over}
    else:
        options |= {"mode": mode, "over": over}
    parts = {name: None if part is None else row(part) for name, part in parts.items()}
    torch.testing.assert_close(found, set_loss(row(logits), row(target), **parts, **options))


@pytest.mark.parametrize("over", ["image", "batch", "class"])
@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
@pytest.mark.parametrize("masked", [False, True])
def test_values_of_sets_that_count_are_added_up(mode, over, masked):
    logits, target, truth, mask = problem(mode, (3, 4, 5))
    mask[1] = False
    valid = (mask if masked else torch.ones_like(mask)).view(3, -1, 5).expand(truth.shape)
    options = {"loss": "dice", "operator": "bd", "mode": mode, "over": over, "mask": mask if masked else None}
    values = set_loss(logits, target, reduction="none", **options)
    by_class = mode == "multiclass" or (mode, over) == ("multilabel", "class")
    dims = {True: (2,) if over == "image" else (0, 2), False: (1, 2) if over == "image" else (0, 1, 2)}[by_class]
    for reduction, absent in itertools.product(("mean", "sum", "none"), ("keep", "skip")):
        counted = (truth & valid if absent == "skip" else valid).sum(dims).view(values.shape) > 0
        for weight in (None, torch.rand(values.shape, dtype=torch.float64) + 0.5):
            factors = counted * (torch.ones_like(values) if weight is None else weight)
            expected = factors * values if reduction == "none" else (factors * values).sum()
            expected = expected / factors.sum() if reduction == "mean" else expected
            found = set_loss(logits, target, reduction=reduction, absent=absent, weight=weight, **options)
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_ignored_elements_are_masked_elements(mode):
    logits, target, _, mask = problem(mode, (3, 4, 5), seed=1)
    ignored = torch.rand(target.shape) < 0.3
    options = {"loss": "jaccard", "operator": "lovasz", "mode": mode, "over": "image", "reduction": "none"}
    got = set_loss(logits, target.masked_fill(ignored, 255), mask=mask, ignore_index=255, **options)
    assert torch.equal(got, set_loss(logits, target, mask=mask & ~ignored, **options))


# ---------------------------------------------------------------- objects


def test_objects_of_chosen_classes_have_the_weight_of_their_class():
    logits, target, _, _ = problem("multiclass", (2, 3, 4, 5))
    groups = component_groups(target, mode="multiclass", classes=3)
    options = {"operator": "slack", "mode": "multiclass", "over": "groups", "groups": groups}
    each = set_loss(logits, target, reduction="none", **options)
    last = set_loss(logits, target, reduction="none", classes=[2], **options)
    assert torch.equal(last, each[torch.isin(each, last)])
    weights = set_loss(logits, target, class_weight=torch.tensor([0.0, 0.0, 2.0]), **options)
    torch.testing.assert_close(weights, last.mean())


def test_components_share_out_the_background_by_distance():
    mask = torch.tensor([[[1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]]], dtype=torch.bool)
    assert component_groups(mask).tolist() == [[[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2]]]
    assert component_groups(torch.zeros(1, 1, 2, 2)).tolist() == [[[[1, 1], [1, 1]]]]
    ids = 2 * mask.long()
    groups = component_groups(ids.unsqueeze(1), mode="multiclass", classes=3)
    assert groups.shape == (1, 3, 2, 6)
    assert torch.equal(groups[:, 2], component_groups(mask))
    assert torch.equal(groups[:, :2], torch.ones_like(groups[:, :2]))  # one background, and an absent class
    assert torch.equal(component_groups(torch.stack([~mask, mask], 1), mode="multilabel"), groups[:, [0, 2]])


@pytest.mark.parametrize(
    ("options", "groups", "error", "words"),
    [
        ({}, None, ValueError, "over='groups' needs groups=.*setloss.nn.component_groups makes"),
        ({}, torch.ones(2, 4), TypeError, "groups is an integer tensor, 0 for pixels of no group; got torch.float32"),
        ({}, torch.ones(2, 3, dtype=torch.int64), ValueError, "one group number per decision.*2, 4.*2, 3"),
        ({}, -torch.ones(2, 4, dtype=torch.int64), ValueError, "numbers are 0 .no group. or positive .*; got -1"),
        ({}, torch.full((2, 4), 2**31), ValueError, "below 2.31; got 2147483648"),
        ({"over": "image"}, torch.ones(2, 4, dtype=torch.int64), ValueError, "groups= is for over='groups'"),
    ],
)
def test_groups_that_are_refused(options, groups, error, words):
    options = {"over": "groups", "operator": "slack"} | options
    with pytest.raises(error, match=words):
        set_loss(torch.randn(2, 4), torch.zeros(2, 4), groups=groups, **options)


@pytest.mark.parametrize(
    ("shape", "mode", "words"),
    [
        ((3,), "binary", "one spatial dimension"),
        ((3, 2), "multilabel", "one spatial dimension"),
        ((3, 2, 2), "multiclass", "needs classes="),
    ],
)
def test_masks_that_are_refused(shape, mode, words):
    with pytest.raises(ValueError, match=words):
        component_groups(torch.zeros(shape), mode=mode)


# ---------------------------------------------------------------- memory layouts


def copies(tensor):
    """The same numbers in other memory: transposed, strided, channels last, with an offset."""
    yield tensor.transpose(1, -1).contiguous().transpose(1, -1)
    yield torch.stack([tensor, tensor], -1)[..., 0]
    yield tensor.contiguous(memory_format=torch.channels_last)
    yield torch.cat([tensor, tensor])[len(tensor) :]


@pytest.mark.parametrize("over", ["image", "batch", "class"])
@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_memory_layout_does_not_matter(mode, over):
    logits, target, _, mask = problem(mode, (2, 3, 4, 5))
    leaf = logits.clone().requires_grad_()
    expected = set_loss(leaf, target, operator="slack", mode=mode, over=over, mask=mask)
    expected.backward()
    for strided in copies(logits):
        other = strided.detach().requires_grad_()
        labels, counted = target.mT.contiguous().mT, mask.mT.contiguous().mT
        got = set_loss(other, labels, operator="slack", mode=mode, over=over, mask=counted)
        got.backward()
        assert torch.equal(got, expected)
        assert torch.equal(other.grad, leaf.grad)


@pytest.mark.parametrize("margins", ["logits", "probabilities"])
def test_gradients_agree_with_differences(margins):
    """Of sets with different factors."""
    logits = 2 * torch.randn(2, 4, 5, dtype=torch.float64)
    target = torch.randint(0, 3, (2, 5))  # the last class is never there
    options = {"operator": "lovasz", "mode": "multiclass", "margins": margins, "with_cross_entropy": 0.5}
    options |= {"class_weight": [1.0, 2.0, 3.0, 4.0], "over": "image", "absent": "keep"}

    def loss(h):
        return set_loss(h, target, **options)

    torch.testing.assert_close(torch.func.grad(loss)(logits), torch.autograd.functional.jacobian(loss, logits))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        check(loss, logits.requires_grad_(), fast_mode=True)
