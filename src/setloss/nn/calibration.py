"""Learned from validation images: a temperature, the best cut, and when leaving the cut at 1/2 is worth it.

Three ways to turn logits into masks, from the simplest: cut at 1/2; cut where validation images score best
(`fit_threshold`); decide image by image (`calibrate_pixels`, then `setloss.nn.decide_pixels`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setloss.losses import CountLoss, Loss, as_loss
from setloss.nn.decisions import Images, PixelCalibration, empty_features, tversky_loss
from setloss.nn.reduction import mean_cross_entropy
from setloss.nn.targets import Decisions, Mode, decisions

TEMPERATURES = (0.05, 20.0)
"""Least and largest temperature that is tried."""

FEWEST_EMPTY = 3
"""Fewest empty, and fewest other validation images from which the probability of an empty image is learned."""


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
    return _temperature(decisions(logits, target, mask, mode, ignore_index), mode)


def _temperature(given: Decisions, mode: Mode) -> float:
    def cost(log_t: float) -> float:
        return float(mean_cross_entropy(replace(given, logits=given.logits / float(np.exp(log_t))), mode))

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


@torch.no_grad()
def fit_threshold(
    logits: Tensor,
    target: Tensor,
    loss: str | Loss = "dice",
    *,
    mode: Literal["binary", "multilabel"] = "binary",
    over: Literal["image", "batch"] = "image",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The cut of least mean loss on validation images: predict ``logits > cut``.

    Every cut is tried: between two neighbouring logits the prediction does not change, so one sort of all pixels
    gives the loss of all cuts. Where several are best, the one nearest to 0.

    Parameters
    ----------
    logits, target, ignore_index, mask
        As for `SetLoss`; of validation images, which the network was not trained on.
    loss
        Any loss of counts, or the name of one.
    mode
        "binary" for one cut, "multilabel" for one a label. Classes by argmax have none: see `calibrate_pixels`.
    over
        The loss is the mean over images, or that of all images as one set.

    Returns
    -------
    Tensor
        A logit, ``()`` or ``(C,)`` with a channel for each label, on the device of the logits, in float64.
    """
    chosen = as_loss(loss)
    if not isinstance(chosen, CountLoss):
        raise ValueError(f"fit_threshold is for losses of the counts of mistakes; got {chosen}")
    if mode not in ("binary", "multilabel") or over not in ("image", "batch"):
        raise ValueError(
            f"mode is 'binary' or 'multilabel' and over is 'image' or 'batch'; got {mode!r} and {over!r}. Classes by "
            "argmax have no cut: use calibrate_pixels and decide_pixels."
        )
    given = decisions(logits, target, mask, mode, ignore_index)
    channels = 1 if mode == "binary" else given.logits.shape[1]
    parts = [given.logits, given.truth, torch.ones_like(given.truth) if given.valid is None else given.valid]
    scores, truth, valid = (one.reshape(len(one), channels, -1).movedim(1, 0).cpu().numpy() for one in parts)
    cuts = [
        best_cut(*one, chosen, over == "batch") for one in zip(scores.astype(np.float64), truth, valid, strict=True)
    ]
    wide = torch.float32 if logits.device.type == "mps" else torch.float64
    return torch.tensor(cuts[0] if mode == "binary" else cuts, dtype=wide, device=logits.device)


def best_cut(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], valid: NDArray[np.bool_], loss: CountLoss, together: bool
) -> float:
    """The cut of least mean loss over the rows, or of all of them as one set; 0 where it makes no difference."""
    if together:
        scores, truth, valid = scores.reshape(1, -1), truth.reshape(1, -1), valid.reshape(1, -1)
    values, changes, start = [], [], 0.0
    for row, positive, inside in zip(scores, truth, valid, strict=True):
        order = np.argsort(-row[inside], kind="stable")
        hits = np.concatenate(([0], np.cumsum(positive[inside][order])))
        taken, m = np.arange(len(hits)), hits[-1]
        losses = np.asarray(
            loss.value(m - hits, taken - hits, np.full_like(hits, m), taken[-1] - m), dtype=np.float64
        )
        start += float(losses[0])
        values.append(row[inside][order])
        changes.append(np.diff(losses))
    flat, change = np.concatenate(values), np.concatenate(changes)
    order = np.argsort(-flat, kind="stable")
    flat, totals = flat[order], np.concatenate(([start], start + np.cumsum(change[order])))
    # A cut lies above all pixels, between two different logits, or below all: never between equal ones.
    edges = np.concatenate(([np.inf], flat, [-np.inf]))
    high, low = edges[:-1], edges[1:]
    open_ = high > low
    best = open_ & (totals <= totals[open_].min() + 1e-12 * len(scores))
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isinf(high), low + 1, np.where(np.isinf(low), high - 1, (high + low) / 2))
    middle = np.where((low < 0) & (high > 0), 0.0, middle)
    middle = np.where(np.isfinite(middle), middle, 0.0)
    return float(middle[best][np.argmin(np.abs(middle[best]))])


@torch.no_grad()
def calibrate_pixels(
    logits: Tensor,
    target: Tensor,
    loss: str | Loss = "dice",
    *,
    mode: Mode = "binary",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> PixelCalibration:
    """What `setloss.nn.decide_pixels` needs to know of a network, from validation images it was not trained on.

    The temperature is that of `fit_temperature`; the probability that an image is empty, class by class, is a
    logistic regression on two numbers of the image. `least_gain` is the expected gain from which on leaving the plain
    cut gained most on the validation images, less one standard error. Parameters are those of `SetLoss`.
    """
    family = tversky_loss(loss)
    given = decisions(logits, target, mask, mode, ignore_index)
    counted = given.counted
    shape = (len(given.truth), 1 if mode == "binary" else given.truth.shape[1], -1)
    truth = (given.truth if counted is None else given.truth & counted).reshape(shape)
    found = PixelCalibration(_temperature(given, mode), loss=family)
    images = Images.of(given.logits, "log-odds", mode, given.valid, found)
    found = replace(found, empty=_fit_empty(images, truth))
    images = Images.of(given.logits, "log-odds", mode, given.valid, found)
    sets = images.exclusive(images.best(family)[0])
    plain, _, expected = images.against_plain(sets, family)
    gained = (_losses(plain, truth, images, family) - _losses(sets, truth, images, family)).mean(1)
    return replace(found, least_gain=_least_gain(expected.cpu().numpy(), gained.cpu().numpy()))


def _fit_empty(images: Images, truth: Tensor) -> tuple[tuple[float, float, float], ...]:
    from sklearn.linear_model import LogisticRegression

    features, empty = empty_features(images.p).cpu().numpy(), (~truth.any(2)).cpu().numpy()
    weights = []
    for x, y in zip(features.transpose(1, 0, 2), empty.T, strict=True):
        if min(y.sum(), (~y).sum()) < FEWEST_EMPTY:
            share = (y.sum() + 0.5) / (len(y) + 1)
            weights.append((float(np.log(share / (1 - share))), 0.0, 0.0))
            continue
        mean, spread = x.mean(0), x.std(0) + 1e-9
        model = LogisticRegression().fit((x - mean) / spread, y)
        slope = model.coef_[0] / spread
        weights.append((float(model.intercept_[0] - slope @ mean), float(slope[0]), float(slope[1])))
    return tuple(weights)


def _losses(sets: Tensor, truth: Tensor, images: Images, loss: CountLoss) -> Tensor:
    """The losses of sets ``(N, C, pixels)``, one for every image and class."""
    sets = sets if images.mask is None else sets & images.mask
    hits, positives, taken = ((one).sum(2).double() for one in (sets & truth, truth, sets))
    negatives = truth.shape[2] - positives
    counts = (positives - hits, taken - hits, positives, negatives)
    return torch.as_tensor(np.asarray(loss.value(*(one.cpu().numpy() for one in counts)), dtype=np.float64))


def _least_gain(expected: NDArray[np.float64], gained: NDArray[np.float64]) -> float:
    """The t for which images with an expected gain above t gained most together, less one standard error."""
    order = np.argsort(-expected, kind="stable")
    expected, gained = expected[order], gained[order]
    number = np.arange(1, len(gained) + 1)
    total = np.cumsum(gained)
    error = np.sqrt(np.maximum(np.cumsum(gained**2) - total**2 / number, 0) * number / np.maximum(number - 1, 1))
    worth = np.where(
        (number > 1) & (expected > 0) & (np.append(expected[1:], -np.inf) < expected), total - error, 0.0
    )
    if not len(worth) or worth.max() <= 0:
        return float("inf")
    last = int(np.argmax(worth))
    below = expected[last + 1] if last + 1 < len(expected) else 0.0
    return float(max(below, 0.0))
