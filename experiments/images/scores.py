"""Dice and Jaccard of predictions, image by image and over a whole part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.images.data import NO_LABEL, Labels
from setloss.nn.sets import component_regions

Values = NDArray[np.floating]


@dataclass(frozen=True)
class Scores:
    """Per image, the mean over the classes on it (for masks, the one); `overall` is the mean Jaccard of the classes
    over all pixels of the part: the mIoU of the field.
    """

    dice: Values
    jaccard: Values
    overall: float


@dataclass(frozen=True)
class ObjectScores:
    """Of every connected component of the true masks: its number of pixels, and the Dice score of its surroundings.

    The surroundings are the pixels that are nearer to this component than to others; 0 where nothing of it is found.
    """

    sizes: Values
    dice: Values


def object_scores(predicted: NDArray[np.generic], labels: Labels) -> ObjectScores:
    """Of masks; images without an object have none to score."""
    sizes: list[Values] = []
    dice: list[Values] = []
    for found, truth in zip(predicted.astype(bool), labels == 1, strict=True):
        if not truth.any():
            continue
        nearest = component_regions(truth)
        parts = (nearest[part] for part in (truth, found, found & truth))
        positives, marked, both = (np.bincount(part, minlength=nearest.max() + 1)[1:] for part in parts)
        sizes.append(positives.astype(np.float64))
        dice.append(2 * both / (positives + marked))
    return ObjectScores(np.concatenate(sizes), np.concatenate(dice))


def score(predicted: NDArray[np.generic], labels: Labels, classes: int) -> Scores:
    """Of masks (bool) or class ids; an image with nothing to find on which nothing is found scores 1."""
    kinds = [1] if classes == 1 else range(classes)
    counted = labels != NO_LABEL
    found = np.stack([(predicted == kind) & counted for kind in kinds], 1)
    truth = np.stack([labels == kind for kind in kinds], 1)
    both, total = (found & truth).sum((2, 3)), found.sum((2, 3)) + truth.sum((2, 3))
    dice = np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)
    jaccard = np.where(total > 0, both / np.maximum(total - both, 1), 1.0)
    there = np.ones(both.shape, dtype=bool) if classes == 1 else truth.any((2, 3))
    each = there.sum(1)
    overall = both.sum(0) / np.maximum((total - both).sum(0), 1)
    return Scores((dice * there).sum(1) / each, (jaccard * there).sum(1) / each, float(overall.mean()))
