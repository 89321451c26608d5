"""Decisions for pixels on tensors: the set of pixels of least expected loss, instead of a cut at one half.

The mathematics and its error bounds are those of `setloss.decisions.pixels`: pixels are taken as independent, the
most probable ones compete, expectations are exact for small sets and bounded by moments beyond, O(p log p), on the
device of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from setloss.decisions import pixels as numpy_pixels
from setloss.losses import Loss, TverskyFamily, as_loss
from setloss.nn.cross_entropy import mean_cross_entropy
from setloss.nn.targets import Mode, decisions

TEMPERATURES = (0.05, 20.0)
"""Where temperatures are looked for."""


@dataclass(frozen=True)
class ImageDecisions:
    """What to predict, and for every set its expected loss with the bound of the error of that number.

    `chosen` is bool ``(N, ...)`` for masks and class ids ``(N, ...)`` for classes, `expected_loss` and `error` are
    ``(N,)`` or ``(N, C)``. For classes the sets are those of each class alone, before pixels wanted twice are shared.
    """

    chosen: Tensor
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
    single = mode == "binary"
    p = scores.sigmoid().reshape(len(scores), 1, -1) if single else scores.softmax(1).flatten(2)
    if mask is not None:
        p = p * mask.reshape(len(p), 1, -1)
    found = [_decide_rows(rows, *map(float, family.weights)) for rows in p]
    least, expected, error = (torch.stack([one[i] for one in found]) for i in range(3))
    if mode == "binary":
        return ImageDecisions((p >= least.unsqueeze(2)).view(logits.shape), 1 - expected[:, 0], error[:, 0])
    shares = (p / least.unsqueeze(2)).argmax(1)
    chosen = shares.view(logits.shape[0], *logits.shape[2:])
    return ImageDecisions(chosen, 1 - expected, error)


def _decide_rows(rows: Tensor, a: float, b: float) -> tuple[Tensor, Tensor, Tensor]:
    """For every row the least probability that is taken (2 for none), the expected score and its error."""
    ordered = rows.sort(dim=1, descending=True).values
    if rows.shape[1] <= numpy_pixels.EXACT_PIXELS and rows.device.type == "cpu":
        found = [numpy_pixels.expected_scores(row, a, b)[0] for row in ordered.numpy().astype(np.float64)]
        low, high = (torch.as_tensor(np.stack([getattr(one, side) for one in found])) for side in ("low", "high"))
    else:
        low, high = numpy_pixels.moment_bounds(ordered, a, b, torch)
    best = low.argmax(1, keepdim=True)
    last = ordered.gather(1, (best - 1).clamp(min=0)) if rows.shape[1] else torch.ones_like(low[:, :1])
    least = torch.where(best > 0, last.clamp(min=torch.finfo(last.dtype).tiny), 2.0)
    ends = low.gather(1, best), high.gather(1, best)
    return least[:, 0], ((ends[0] + ends[1]) / 2)[:, 0], ((ends[1] - ends[0]) / 2)[:, 0]


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
