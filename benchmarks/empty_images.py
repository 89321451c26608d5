"""Masks from logits where some images are empty: ``python -m benchmarks.empty_images`` prints mean Dice by rule."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor

from setloss.nn import PixelCalibration, calibrate_pixels, decide_images, fit_threshold

SIDE = 32


def images(n: int, empty: float, sharp: float, bias: float, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Discs, or something faint on empty images, and the logits of a network that sees them through noise."""
    y, x = np.mgrid[:SIDE, :SIDE]
    logits, truth = np.empty((n, SIDE, SIDE)), np.zeros((n, SIDE, SIDE), dtype=bool)
    for i in range(n):
        field, there = np.full((SIDE, SIDE), -4.0), rng.random() >= empty
        for _ in range(rng.integers(1, 3) if there else rng.integers(0, 2)):
            centre, radius = rng.uniform(4, SIDE - 4, 2), rng.uniform(*((1.5, 5) if there else (1, 3)))
            depth = radius - np.hypot(y - centre[0], x - centre[1])
            truth[i] |= there & (depth > 0)
            field = np.maximum(field, np.clip(depth + (rng.normal() if there else -2.5), -4, 3))
        logits[i] = sharp * (field + 3 * gaussian_filter(rng.normal(size=(SIDE, SIDE)), 1.5)) + bias
    return torch.as_tensor(logits), torch.as_tensor(truth)


def dice(sets: Tensor, truth: Tensor) -> Tensor:
    """Of every image; 1 where nothing is there and nothing is found."""
    total = (sets.sum((1, 2)) + truth.sum((1, 2))).double()
    return torch.where(total > 0, 2 * (sets & truth).sum((1, 2)) / total.clamp(min=1), 1.0)


def main() -> None:
    print("| empty | logits | threshold 1/2 | `fit_threshold` | temperature only | `calibrate_pixels` |")
    print("|---|---|---:|---:|---:|---:|")
    for empty, (sharp, bias) in product((0.0, 0.4, 0.8), ((1.0, 0.0), (4.0, -1.5), (0.3, -1.5))):
        rng = np.random.default_rng(0)
        seen, (logits, truth) = images(60, empty, sharp, bias, rng), images(300, empty, sharp, bias, rng)
        known = calibrate_pixels(*seen)
        alone = PixelCalibration(known.temperature)
        rules = [logits > 0, logits > fit_threshold(*seen, "dice")]
        rules += [decide_images(logits, calibration=which).sets for which in (alone, known)]
        name = f"{sharp:g} x" + (f" - {-bias:g}" if bias else "")
        print(f"| {empty:.0%} | {name} | " + " | ".join(f"{dice(sets, truth).mean():.3f}" for sets in rules) + " |")


if __name__ == "__main__":
    main()
