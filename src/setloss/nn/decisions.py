"""Decisions on tensors: the label set, or the set of pixels, of least expected loss instead of a cut at one half.

The mathematics and its error bounds are those of `setloss.decisions`. Pixels are taken as independent and the most
probable ones compete; expectations are exact for small sets and bounded by moments beyond, O(p log p), on the device
of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from setloss.decisions import decide as decide_arrays
from setloss.decisions import pixels as numpy_pixels
from setloss.losses import Loss, TverskyFamily, as_loss
from setloss.nn.reduction import mean_cross_entropy
from setloss.nn.targets import Mode, decisions

Scores = Literal["auto", "log-odds", "probabilities"]

TEMPERATURES = (0.05, 20.0)
"""Least and largest temperature that is tried."""


@dataclass(frozen=True)
class LabelDecisions:
    """Chosen sets, bool (N, C); the expected loss of each, and how many labels each has, both (N,)."""

    sets: Tensor
    expected_loss: Tensor
    sizes: Tensor


@torch.no_grad()
def decide(logits: Tensor, loss: str | Loss, *, counts: Tensor | None = None) -> LabelDecisions:
    """The label set of least expected loss for every example, on the device of the logits.

    Parameters
    ----------
    logits
        Log-odds ``(N, C)``.
    loss
        Any loss of counts, or the name of one.
    counts
        Log-potentials ``(K + 1,)`` or ``(N, K + 1)`` of the number of positives; None for independent labels.
        Decisions for images are `setloss.nn.decide_pixels`.
    """
    if logits.ndim != 2:
        raise ValueError(f"logits of label sets are (N, C); got {tuple(logits.shape)}. For images: decide_pixels")
    potentials = None if counts is None else counts.detach().cpu().double().numpy()
    found = decide_arrays(logits.detach().cpu().double().numpy(), loss, counts=potentials)
    device = logits.device
    expected = torch.from_numpy(found.expected_loss)
    return LabelDecisions(
        torch.from_numpy(found.sets).to(device),
        (expected.float() if device.type == "mps" else expected).to(device),
        torch.from_numpy(found.sizes).to(device),
    )


@dataclass(frozen=True)
class ImageDecisions:
    """What to predict, and for every set its expected loss with the bound of the error of that number.

    `sets` is bool in the shape of the logits, and class ids ``(N, ...)`` in multiclass mode; `expected_loss` and
    `error` are ``(N,)`` or ``(N, C)``. In multiclass mode these are of the best set of each class alone, before
    pixels wanted twice are shared out.
    """

    sets: Tensor
    expected_loss: Tensor
    error: Tensor


@torch.no_grad()
def decide_pixels(
    logits: Tensor,
    loss: str | Loss = "dice",
    *,
    mode: Mode = "binary",
    mask: Tensor | None = None,
    temperature: float = 1.0,
) -> ImageDecisions:
    """The set of pixels of least expected loss on every image.

    Parameters
    ----------
    logits
        Binary: ``(N, ...)`` or ``(N, 1, ...)``. Multiclass: ``(N, C, ...)``; every class has its best set under its
        probabilities, and a pixel goes to the class whose probability is largest relative to the least one that this
        class takes: sets do not overlap and leave nothing out.
    loss
        Dice, Jaccard, Tversky or F-beta.
    mask
        Which pixels count, bool ``(N, ...)``; others are not chosen (class 0 in multiclass mode).
    temperature
        What logits are divided by, from `fit_temperature`. Decisions are as good as the probabilities are.
    """
    family = as_loss(loss)
    if not isinstance(family, TverskyFamily):
        raise ValueError(f"decisions for pixels are for Dice, Jaccard, Tversky and F-beta; got {family}")
    if mode not in ("binary", "multiclass"):
        raise ValueError(f"mode is 'binary' or 'multiclass'; got {mode!r}")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"the temperature is a positive number; got {temperature!r}")
    scores = logits.to(torch.float32 if logits.device.type == "mps" else torch.float64) / temperature
    p = _rows(scores.sigmoid().unsqueeze(1) if mode == "binary" else scores.softmax(1))
    kept = None if mask is None else mask.reshape(len(p), 1, p.shape[2]).expand(p.shape)
    p = p if kept is None else p * kept
    best = _best_sets(p.flatten(0, 1), None if kept is None else kept.flatten(0, 1), family)
    sets, expected, error = (one.view(p.shape[: one.ndim + 1]) for one in best)
    least = torch.where(sets, p, 2.0).amin(2) if p.shape[2] else p.new_full(p.shape[:2], 2.0)
    if mode == "binary":
        return ImageDecisions(sets.view(logits.shape), 1 - expected[:, 0], error[:, 0])
    shares = (p / least.unsqueeze(2)).argmax(1)
    return ImageDecisions(shares.view(logits.shape[0], *logits.shape[2:]), 1 - expected, error)


def _rows(p: Tensor) -> Tensor:
    """(N, C, pixels)."""
    return p.unsqueeze(2) if p.ndim == 2 else p.flatten(2)


def _best_sets(rows: Tensor, mask: Tensor | None, family: TverskyFamily) -> tuple[Tensor, Tensor, Tensor]:
    """For every row of probabilities its best set, the expected score of that and the error of this number."""
    zero_division, alone = float(family.zero_division), replace(family, zero_division=0.0)
    find = _best_on_host if rows.device.type == "cpu" else _best_by_moments
    sets, score, error = find(rows, mask, alone)
    # Nothing taken: 0/0 where nothing is there, and without a cost of misses in any case.
    empty = zero_division * ((1 - rows).prod(1) if float(family.weights[1]) > 0 else torch.ones_like(score))
    nothing = empty >= score
    return sets & ~nothing.unsqueeze(1), torch.where(nothing, empty, score), torch.where(nothing, 0.0, error)


def _best_on_host(rows: Tensor, mask: Tensor | None, family: TverskyFamily) -> tuple[Tensor, Tensor, Tensor]:
    kept = np.ones(rows.shape, dtype=bool) if mask is None else mask.numpy()
    pairs = zip(rows.numpy(), kept, strict=True)
    found = [numpy_pixels.decide_pixels(row, family, scores="probabilities", mask=inside) for row, inside in pairs]
    sets = np.stack([one.sets for one in found]) if found else np.zeros(rows.shape, dtype=bool)
    numbers = np.array([(1 - one.expected_loss, one.error) for one in found]).reshape(-1, 2)
    return torch.from_numpy(sets), *torch.from_numpy(numbers).unbind(1)


def _best_by_moments(rows: Tensor, mask: Tensor | None, family: TverskyFamily) -> tuple[Tensor, Tensor, Tensor]:
    """The same by tensor operations; pixels that do not count have probability 0."""
    ordered, order = rows.sort(dim=1, descending=True, stable=True)
    low, high = numpy_pixels.moment_bounds(ordered, *map(float, family.weights), torch, 0.0)
    best = low.argmax(1, keepdim=True)
    taken = torch.arange(rows.shape[1], device=rows.device) < best
    low, high = low.gather(1, best)[:, 0], high.gather(1, best)[:, 0]
    return torch.zeros_like(taken).scatter(1, order, taken), (low + high) / 2, (high - low) / 2


@torch.no_grad()
def fit_temperature(
    logits: Tensor,
    target: Tensor,
    *,
    mode: Mode = "binary",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> float:
    """The temperature t of least cross-entropy of logits / t on validation images.

    Cross-entropy is convex in 1/t, so a golden-section search in log t finds it, between 1/20 and 20.
    """
    given = decisions(logits, target, mask, mode, ignore_index, soft=False)

    def cost(log_t: float) -> float:
        scaled = type(given)(given.logits / float(np.exp(log_t)), given.truth, given.labels, given.valid)
        return float(mean_cross_entropy(scaled, mode))

    low, high = map(float, np.log(TEMPERATURES))
    golden = (5**0.5 - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    costs = [cost(left), cost(right)]
    while high - low > 1e-3:
        if costs[0] <= costs[1]:
            high, right, left = right, left, right - golden * (right - low)
            costs = [cost(left), costs[0]]
        else:
            low, left, right = left, right, left + golden * (high - left)
            costs = [costs[1], cost(right)]
    return float(np.exp((low + high) / 2))
