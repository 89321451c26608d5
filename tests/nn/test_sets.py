"""Sets of every layout, mode and reduction against loops written by hand; objects."""

import itertools

import numpy as np
import pytest
import torch

from helpers.torch_judge import CASES, assert_close, surrogate
from setloss.nn import SetLoss, component_groups, set_loss

BINARY = [(6,), (3, 5), (3, 4, 5), (3, 1, 4, 5), (3, 1), (2, 2, 3, 4), (2, 2, 3, 2, 2)]
CHANNELS = [(3, 4), (3, 4, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2), (2, 1, 4)]
LAYOUTS = [("binary", shape) for shape in BINARY] + [
    (mode, shape) for mode in ("multilabel", "multiclass") for shape in CHANNELS
]
every_layout = pytest.mark.parametrize(("mode", "shape"), LAYOUTS)
every_over = pytest.mark.parametrize("over", ["image", "batch", "class"])


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


def sets_by_hand(mode, over, shape):
    """{place in the result: the indices of the logits of that set}, and the shape of the result."""
    cells = list(itertools.product(*map(range, shape)))
    if mode == "multiclass":
        place = {"image": lambda i: i[:2], "batch": lambda i: i[1:2], "class": lambda i: i[1:2]}[over]
        result = shape[:2] if over == "image" else shape[1:2]
    elif mode == "multilabel" and over == "class":
        place, result = lambda i: i[1:2], shape[1:2]
    else:
        place, result = (lambda i: i[:1], shape[:1]) if over == "image" else (lambda i: (0,), (1,))
    sets = {}
    for cell in cells:
        sets.setdefault(place(cell), []).append(cell)
    return sets, result


def by_hand(mode, over, logits, truth, valid, **options):
    """One call per set: its value, whether it has elements, whether it has positives."""
    sets, shape = sets_by_hand(mode, over, tuple(logits.shape))
    filled, present = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    values = {}
    for place, cells in sets.items():
        where = tuple(
            torch.tensor([cell for cell in cells if valid[cell]], dtype=torch.int64).view(-1, len(cells[0])).T
        )
        filled[place], present[place] = len(where[0]) > 0, truth[where].any()
        values[place] = set_loss(logits[where][None], truth[where][None], **options)
    return torch.stack([values[place] for place in sorted(values)]).view(shape), filled, present


def spread_out(mode, valid, shape):
    """A mask of the targets for every logit."""
    return valid.unsqueeze(1).expand(shape) if mode == "multiclass" else valid


@every_over
@every_layout
@pytest.mark.parametrize("masked", [False, True])
def test_sets_are_those_of_the_loops(mode, shape, over, masked):
    """Half of the twelve ways to add up with a mask, and the other half without."""
    logits, target, truth, mask = problem(mode, shape)
    mask = mask if masked else None
    valid = spread_out(mode, torch.ones_like(target, dtype=torch.bool) if mask is None else mask, shape)
    leaf, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    options = {"loss": "dice", "operator": "bd", "scale": 2.0}
    values, filled, present = by_hand(mode, over, other, truth, valid, **options)
    weights = torch.rand(values.shape, dtype=torch.float64) + 0.5
    for k, (reduction, absent) in enumerate(itertools.product(("mean", "sum", "none"), ("keep", "skip"))):
        weighted = (k + k // 2) % 2 == masked
        factors = (present if absent == "skip" else filled) * (weights if weighted else torch.ones_like(weights))
        if reduction == "mean":
            factors = factors / factors.sum().clamp(min=1e-300)
        expected = factors * values if reduction == "none" else (factors * values).sum()
        module = SetLoss(mode=mode, over=over, reduction=reduction, absent=absent, **options)
        got = module(leaf, target, mask=mask, weight=weights if weighted else None)
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)
        slopes = (
            torch.autograd.grad(one.sum(), at, retain_graph=True)[0] for one, at in ((got, leaf), (expected, other))
        )
        torch.testing.assert_close(*slopes, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_ignored_elements_are_masked_elements(mode):
    logits, target, _, mask = problem(mode, (3, 4, 5), seed=1)
    ignored = torch.rand(target.shape) < 0.3
    options = {"loss": "jaccard", "operator": "lovasz", "mode": mode, "over": "image", "reduction": "none"}
    got = set_loss(logits, target.masked_fill(ignored, 255), mask=mask, ignore_index=255, **options)
    assert torch.equal(got, set_loss(logits, target, mask=mask & ~ignored, **options))


# ---------------------------------------------------------------- objects


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
@pytest.mark.parametrize("operator", ["slack", "lovasz"])
def test_every_group_of_a_picture_is_a_set_of_its_own(mode, operator):
    """Written by a loop over images, classes and numbers; a mask takes pixels out of their group."""
    shape = (2, 3, 4) if mode == "binary" else (2, 3, 3, 4)
    logits, target, truth, mask = problem(mode, shape, seed=7)
    groups = torch.randint(0, 4, shape, generator=torch.Generator().manual_seed(8))
    counted, options = spread_out(mode, mask, shape), {"operator": operator, "scale": 1.0}
    leaf, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    got = set_loss(leaf, target, mode=mode, over="groups", groups=groups, mask=mask, reduction="none", **options)
    pictures = [(n,) for n in range(2)] if mode == "binary" else list(itertools.product(range(2), range(3)))
    expected = []
    for picture, number in itertools.product(pictures, (1, 2, 3)):
        members = (groups[picture] == number) & counted[picture]
        if members.any():
            expected.append(set_loss(other[picture][members][None], truth[picture][members][None], **options))
    torch.testing.assert_close(got, torch.stack(expected))
    got.sum().backward()
    torch.stack(expected).sum().backward()
    torch.testing.assert_close(leaf.grad, other.grad)


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


@every_over
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


# ---------------------------------------------------------------- margins of probabilities


def classes_problem(seed, n=2, classes=4, pixels=5):
    rng = np.random.default_rng(seed)
    logits = torch.as_tensor(2 * rng.normal(size=(n, classes, pixels)))
    target = torch.as_tensor(rng.integers(0, classes - 1, (n, pixels)))  # the last class is never there
    return logits, target


OF_DICE = [("Dice", operator) for operator in ("slack", "margin", "bd", "bd-monotone")]


@pytest.mark.parametrize("over", ["image", "batch"])
@pytest.mark.parametrize(("name", "operator"), [("Jaccard", "lovasz"), *OF_DICE])
def test_operators_of_probabilities_are_the_definitions_at_their_margins(name, operator, over):
    """L of Jaccard is then LovaszSoftmax."""
    logits, target = classes_problem(3)
    got = set_loss(
        logits, target, loss=CASES[name].loss, operator=operator, scale=2.0, mode="multiclass",
        margins="probabilities", over=over, absent="skip", reduction="none",
    )  # fmt: skip
    for c, p in enumerate(logits.softmax(1).numpy().swapaxes(0, 1)):
        truth = target.numpy() == c
        rows = [np.where(truth, p, 1 - p), truth]
        rows = [one if over == "image" else one.reshape(1, -1) for one in rows]
        expected = [surrogate(name, operator, t, m, 2.0)[0] if t.any() else 0.0 for m, t in zip(*rows, strict=True)]
        assert_close(got[:, c] if over == "image" else got[c : c + 1], expected)


def test_gradients_agree_with_differences():
    logits, target = classes_problem(5)
    options = {"operator": "lovasz", "mode": "multiclass", "margins": "probabilities", "with_cross_entropy": 0.5}

    def loss(h):
        return set_loss(h, target, **options)

    torch.testing.assert_close(torch.func.grad(loss)(logits), torch.autograd.functional.jacobian(loss, logits))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        check(loss, logits.requires_grad_(), fast_mode=True)
