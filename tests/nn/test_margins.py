"""Margins of probabilities and of the argmax: published values, bounds and convexity, by enumeration."""

import itertools

import numpy as np
import pytest
import torch

from helpers.torch_judge import CASES, assert_close, closure, parts_of, surrogate, values_of
from setloss.nn import set_loss


def published_lovasz(errors, truth):
    """The extension of the Jaccard loss at the errors, by its definition: an integral over thresholds.

    The Lovász extension of l at e is the mean over t in [0, max e] of l({i : e_i >= t}), times max e.
    """
    levels = np.unique(np.concatenate([[0.0], errors]))
    total = 0.0
    for low, high in itertools.pairwise(levels):
        mistakes = errors >= high
        union = truth.sum() + (mistakes & ~truth).sum()
        total += (high - low) * mistakes.sum() / max(union, 1)
    return total


def classes_problem(seed, n=2, classes=4, pixels=6):
    rng = np.random.default_rng(seed)
    logits = torch.as_tensor(2 * rng.normal(size=(n, classes, pixels)))
    target = torch.as_tensor(rng.integers(0, classes - 1, (n, pixels)))  # the last class is never there
    return logits, target


@pytest.mark.parametrize("seed", range(5))
def test_softmax_margins_give_the_published_lovasz_softmax(seed):
    logits, target = classes_problem(seed)
    p, y = logits.softmax(1).numpy(), target.numpy()
    for over in ("image", "batch"):
        got = set_loss(
            logits, target, loss="jaccard", operator="lovasz", mode="multiclass", margins="probabilities", over=over,
            absent="skip", reduction="none",
        )  # fmt: skip
        for c in range(p.shape[1]):
            rows = zip(p[:, c], y == c, strict=True) if over == "image" else [(p[:, c].ravel(), (y == c).ravel())]
            expected = [published_lovasz(np.abs(t - q), t) if t.any() else 0.0 for q, t in rows]
            np.testing.assert_allclose(got[:, c] if over == "image" else got[c : c + 1], expected, atol=1e-12)


@pytest.mark.parametrize("operator", ["slack", "margin", "bd", "bd-monotone"])
def test_every_operator_of_probabilities_is_the_definition_at_their_margins(operator):
    rng = np.random.default_rng(3)
    logits, truth = torch.as_tensor(rng.normal(size=(1, 6))), rng.random(6) < 0.5
    p = logits.sigmoid().numpy()[0]
    expected = surrogate(CASES["Dice"], operator, truth, np.where(truth, p, 1 - p), 2.0)[0]
    options = {"loss": "dice", "operator": operator, "scale": 2.0, "margins": "probabilities"}
    assert_close(set_loss(logits, torch.as_tensor(truth)[None], **options), expected)


# ---------------------------------------------------------------- argmax


def argmax_slacks(h, y, c):
    """1 + max_{k != c} h_k - h_c on pixels of class c, 1 + h_c - h_y on the others; written out pixel by pixel."""
    slacks = []
    for i, label in enumerate(y):
        others = [h[k, i] for k in range(len(h)) if k != c]
        slacks.append(1 + max(others) - h[c, i] if label == c else 1 + h[c, i] - h[label, i])
    return np.array(slacks)


BOUNDING = [("Jaccard", "lovasz"), ("Dice", "slack"), ("Jaccard", "slack"), ("Dice", "margin"), ("Jaccard", "margin")]


def bounded(name, operator, truth):
    """The loss of every set of mistakes; of B_D monotone what is bounded is f_up + g."""
    if operator != "bd-monotone":
        return values_of(CASES[name], truth)
    f, g = parts_of(CASES[name].loss.set_function(truth), values_of(CASES[name], truth))
    return closure(f) + g


@pytest.mark.parametrize(("name", "operator"), [*BOUNDING, ("Dice", "bd-monotone")])
@pytest.mark.parametrize("seed", range(4))
def test_argmax_margins_are_the_definition_and_bound_the_loss_of_the_argmax(name, operator, seed):
    logits, target = classes_problem(seed, n=1, classes=3, pixels=6)
    options = {"loss": CASES[name].loss, "operator": operator, "scale": 1.0, "margins": "argmax"}
    got = set_loss(logits, target, mode="multiclass", reduction="none", **options)[0]
    h, y = logits[0].numpy(), target[0].numpy()
    predicted = h.argmax(0)
    for c in range(3):
        truth = y == c
        assert_close(got[c], surrogate(CASES[name], operator, truth, 1 - argmax_slacks(h, y, c), 1.0)[0])
        index = int((((predicted == c) != truth) * 2 ** np.arange(6)).sum())
        assert got[c] >= bounded(name, operator, truth)[index] - 1e-12


@pytest.mark.parametrize(("name", "operator"), BOUNDING)
def test_argmax_margins_are_convex_in_the_logits(name, operator):
    options = {"loss": CASES[name].loss, "operator": operator, "mode": "multiclass", "margins": "argmax"}
    for seed in range(20):
        left, target = classes_problem(seed)
        right, _ = classes_problem(seed + 100)
        ends = [set_loss(h, target, scale=1.0, reduction="none", **options) for h in (left, right)]
        middle = set_loss(0.3 * left + 0.7 * right, target, scale=1.0, reduction="none", **options)
        assert torch.all(middle <= 0.3 * ends[0] + 0.7 * ends[1] + 1e-9)


@pytest.mark.parametrize("margins", ["argmax", "probabilities", "logits"])
def test_gradients_agree_with_differences(margins):
    logits, target = classes_problem(5)
    options = {"operator": "lovasz", "mode": "multiclass", "margins": margins, "with_cross_entropy": 0.5}
    torch.autograd.gradcheck(lambda h: set_loss(h, target, **options), logits.requires_grad_(), fast_mode=True)


def test_one_class_has_no_argmax():
    with pytest.raises(ValueError, match="compares classes; the logits have one only"):
        set_loss(torch.zeros(1, 1, 3), torch.zeros(1, 3, dtype=torch.int64), operator="slack", mode="multiclass",
                 margins="argmax")  # fmt: skip
