"""Decisions on tensors: the label set, or the set of pixels, of least expected loss instead of a cut at one half.

The mathematics and its error bounds are those of `setloss.decisions`. Pixels are taken as independent and the most
probable ones compete; expectations are exact for small sets and bounded by moments beyond, O(p log p), on the device
of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    if mask is not None:
        p = p * mask.reshape(len(p), 1, p.shape[2])
    found = [_best_sets(rows, family) for rows in p]
    sets, least, expected, error = (
        torch.stack([one[i] for one in found]) if found else p.new_zeros(p.shape[: 3 - (i > 0)]) for i in range(4)
    )
    if mode == "binary":
        return ImageDecisions(sets.bool().view(logits.shape), 1 - expected[:, 0], error[:, 0])
    shares = (p / least.unsqueeze(2)).argmax(1)
    return ImageDecisions(shares.view(logits.shape[0], *logits.shape[2:]), 1 - expected, error)


def _rows(p: Tensor) -> Tensor:
    """(N, C, pixels)."""
    return p.unsqueeze(2) if p.ndim == 2 else p.flatten(2)


def _best_sets(rows: Tensor, family: TverskyFamily) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For every row its best set, the least probability in it (2 for none), the expected score and its error."""
    a, b = map(float, family.weights)
    ordered, order = rows.sort(dim=1, descending=True, stable=True)
    if rows.shape[1] <= numpy_pixels.EXACT_PIXELS and rows.device.type == "cpu":
        found = [numpy_pixels.expected_scores(row, a, b)[0] for row in ordered.numpy().astype(np.float64)]
        low, high = (torch.as_tensor(np.stack([getattr(one, side) for one in found])) for side in ("low", "high"))
    else:
        low, high = numpy_pixels.moment_bounds(ordered, a, b, torch)
    # Nothing taken: 0/0 where nothing is there, and for b = 0 in any case.
    empty = float(family.zero_division) * ((1 - rows).prod(1) if b > 0 else torch.ones_like(low[:, 0]))
    low[:, 0], high[:, 0] = empty, empty
    best = low.argmax(1, keepdim=True)
    taken = torch.arange(rows.shape[1], device=rows.device) < best
    sets = torch.zeros_like(taken).scatter(1, order, taken)
    last = ordered.gather(1, (best - 1).clamp(min=0)) if rows.shape[1] else torch.ones_like(low[:, :1])
    least = torch.where(best > 0, last.clamp(min=torch.finfo(last.dtype).tiny), 2.0)
    ends = low.gather(1, best), high.gather(1, best)
    return sets, least[:, 0], ((ends[0] + ends[1]) / 2)[:, 0], ((ends[1] - ends[0]) / 2)[:, 0]


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
