"""The surrogates by definition, over all 2^p sets: what `setloss.nn` is judged by.

Losses are written again here, from their definitions; only the decomposition is the core's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from helpers.definitions import lovasz_cut, margin_cut, slack_cut
from helpers.reference import masks
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Loss, Tversky, decompose, from_counts
from setloss.losses import PAPER_CURVES
from setloss.nn import set_loss
from setloss.nn.cuts import device_cuts, make_plan

# ---------------------------------------------------------------- losses by definition


@dataclass(frozen=True)
class Case:
    """A loss of the library, and its cost for n of m positives missed and q of r negatives taken."""

    loss: Loss
    cost: Callable[[int, int, int, int], float]


def tversky(loss, a, b):
    def cost(n, q, m, r):
        total = (m - n) + a * q + b * n
        return 0.0 if total == 0 else 1 - (m - n) / total

    return Case(loss, cost)


def curve(loss):
    return Case(loss, lambda n, q, m, r: float(np.interp((n + q) / (m + r), *np.transpose(loss.knots))))


def shortfall(n, q, m, r):
    """False positives saturate at two: a user's loss of the counts, submodular."""
    return 0.5 * n + np.minimum(q, 2)


def lucky(n, q, m, r):
    """A user's loss that is neither submodular nor supermodular: false negatives hurt more and more."""
    return 0.1 * n**2 + np.sqrt(q)


CASES = {
    "Dice": tversky(Dice(), 0.5, 0.5),
    "Jaccard": tversky(Jaccard(), 1, 1),
    "Tversky(0.3, 0.7)": tversky(Tversky(0.3, 0.7), 0.3, 0.7),
    "Tversky(0.2, 1.5)": tversky(Tversky(0.2, 1.5), 0.2, 1.5),
    "Tversky(0, 0.6)": tversky(Tversky(0.0, 0.6), 0.0, 0.6),
    "Tversky(2, 0)": tversky(Tversky(2.0, 0.0), 2.0, 0.0),
    "FBeta(2)": tversky(FBeta(2.0), 0.2, 0.8),
    "FBeta(1/2)": tversky(FBeta(0.5), 0.8, 0.2),
    "Hamming": Case(Hamming(), lambda n, q, m, r: (n + q) / (m + r)),
    "Hamming(0.3, 0.7)": Case(Hamming(False, 0.3, 0.7), lambda n, q, m, r: 0.3 * n + 0.7 * q),
    "free start": curve(CostCurve([(0, 0), (0.3, 0), (1, 1)])),
    "shortfall": Case(from_counts(shortfall), shortfall),
    "lucky": Case(from_counts(lucky), lucky),
    **{name: curve(loss) for name, loss in PAPER_CURVES.items()},
}
SUBMODULAR = {"Jaccard", "Tversky(0.2, 1.5)", "Hamming", "Hamming(0.3, 0.7)", "shortfall"}
NEGATIVE_F = {"curve3", "curve4", "free start", "Tversky(2, 0)", "FBeta(1/2)"}
"""Their f has negative values, so there is no monotone closure."""

OPERATORS = ("bd", "bd-monotone", "slack", "margin", "lovasz", "hinge")
PAIRS = [
    (name, operator)
    for name in CASES
    for operator in OPERATORS
    if (operator != "lovasz" or name in SUBMODULAR) and (operator != "bd-monotone" or name not in NEGATIVE_F)
]


def plan_of(name, operator, scale=2.0):
    """The loss and the operator, ready for any batch."""
    return make_plan(CASES[name].loss, operator, scale)


# ---------------------------------------------------------------- operators by definition


@cache
def values_of(name, truth):
    """The losses of all sets of mistakes, in the order of `reference.masks`; `truth` is a tuple."""
    positive, sets = np.array(truth, dtype=bool), masks(len(truth))
    n, q = (sets & positive).sum(1), (sets & ~positive).sum(1)
    m, r = int(positive.sum()), int((~positive).sum())
    return np.array([float(CASES[name].cost(int(i), int(j), m, r)) for i, j in zip(n, q, strict=True)])


@cache
def parts_of(name, truth):
    """The values of f and g, by the core, and of the monotone closure of f; f and g add up to those of the loss."""
    parts, sets = decompose(CASES[name].loss.set_function(np.array(truth, dtype=bool))), masks(len(truth))
    f, g = parts.submodular(sets), parts.supermodular(sets)
    np.testing.assert_allclose(f + g, values_of(name, truth), atol=1e-9)
    closed = f.reshape((2,) * len(truth))
    for axis in range(len(truth)):
        closed = np.minimum(closed, closed.take([1, 1], axis))
    return f, g, closed.ravel()


def surrogate(name, operator, truth, m, c):
    """(value, slope) of B at the margins m: B(m') >= value - <slope, m' - m>."""
    if len(m) == 0:
        return 0.0, np.zeros(0)
    c, truth = 2 / len(m) if c == "mean" else c, tuple(map(bool, truth))
    if operator == "hinge":
        return np.maximum(1 - m, 0).sum(), (m < 1).astype(float)
    if operator in ("slack", "margin"):
        return (slack_cut if operator == "slack" else margin_cut)(values_of(name, truth), m, c)
    if operator == "lovasz":
        return lovasz_cut(values_of(name, truth), m)
    f, g, closed = parts_of(name, truth)
    hinge, rescaled = lovasz_cut(closed if operator == "bd-monotone" else f, m), slack_cut(g, m, c)
    return hinge[0] + rescaled[0], hinge[1] + rescaled[1]


# ---------------------------------------------------------------- what is judged


def by_loss(loss, operator, scores, truth, valid, scale):
    """(values, gradients) of the public function."""
    leaf = scores.detach().clone().requires_grad_()
    values = set_loss(leaf, truth, loss=loss, operator=operator, scale=scale, mask=valid, reduction="none")
    values.sum().backward()
    return values.detach(), leaf.grad


def by_device(loss, operator, scores, truth, valid, scale):
    """(values, gradients) of the tensor operations that other devices run."""
    return device_cuts(scores, truth, valid, make_plan(loss, operator, scale))


PATHS = {"host": by_loss, "device": by_device}


def draw(shape, seed=0, spread=1.0, dtype=torch.float64, share=0.4):
    """Scores, truth and a mask; the first row is all positive, the second all negative, the third all masked."""
    generator = np.random.default_rng(seed)
    scores = torch.as_tensor(spread * generator.normal(size=shape)).to(dtype)
    truth = torch.as_tensor(generator.random(shape) < share)
    valid = torch.as_tensor(generator.random(shape) < 0.8)
    truth[0], truth[1:2], valid[2:3] = True, False, False
    return scores, truth, valid


def assert_close(got, expected, tolerance=1e-12):
    expected = np.asarray(expected, dtype=np.float64)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), expected, rtol=tolerance, atol=tolerance * scale)
