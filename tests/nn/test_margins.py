"""Margins of probabilities: published values, by enumeration."""

import itertools

import numpy as np
import pytest
import torch

from helpers.torch_judge import CASES, assert_close, surrogate
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


def test_gradients_agree_with_differences():
    logits, target = classes_problem(5)
    options = {"operator": "lovasz", "mode": "multiclass", "margins": "probabilities", "with_cross_entropy": 0.5}

    def loss(h):
        return set_loss(h, target, **options)

    torch.testing.assert_close(torch.func.grad(loss)(logits), torch.autograd.functional.jacobian(loss, logits))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        check(loss, logits.requires_grad_(), fast_mode=True)
