"""What to predict from the scores of a network, and how predictions are judged: Dice and Jaccard by image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.images.data import NO_LABEL, Labels
from setloss.nn import calibrate_pixels, component_groups, decide_images, fit_threshold

Logits = NDArray[np.float32]
Predicted = NDArray[np.generic]
Decide = Callable[[Logits], Predicted]


@dataclass(frozen=True)
class Scores:
    """Per image, the mean over the classes on it (for masks, the one); `overall` is the mean Jaccard of the classes
    over all pixels of the part: the mIoU of the field.
    """

    dice: NDArray[np.floating]
    jaccard: NDArray[np.floating]
    overall: float


def score(predicted: Predicted, labels: Labels, classes: int) -> Scores:
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


def dice_of_objects(predicted: Predicted, labels: Labels) -> tuple[NDArray[np.floating], Labels]:
    """For every connected component of a mask the Dice of it and the background nearest to it, and its area."""
    dice, sizes = [], []
    for found, truth in zip(predicted == 1, labels == 1, strict=True):
        if truth.any():
            near = component_groups(torch.as_tensor(truth)[None]).numpy().ravel() - 1
            both, taken, area = (np.bincount(near, one.ravel()) for one in (found & truth, found, truth))
            dice.append(2 * both / (taken + area))
            sizes.append(area.astype(np.int64))
    return np.concatenate(dice), np.concatenate(sizes)


def cut(logits: Logits) -> Predicted:
    """The sign for masks, the argmax for classes."""
    return logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(1)


def rules(known: Logits, labels: Labels) -> dict[str, Decide]:
    """Ways to predict by name, learned on validation images: the sign or argmax, and the pixels of least expected
    loss, Dice of masks or Jaccard of classes.
    """
    masks = known.shape[1] == 1
    loss, mode = ("dice", "binary") if masks else ("jaccard", "multiclass")
    scores, truth = torch.as_tensor(known[:, 0] if masks else known), torch.as_tensor(labels)
    learned = calibrate_pixels(scores, truth, mode=mode, ignore_index=NO_LABEL)  # type: ignore[arg-type]
    made: dict[str, Decide] = {"threshold 1/2" if masks else "argmax": cut}
    if masks:
        threshold = float(fit_threshold(scores, truth, loss))
        made["`fit_threshold`"] = lambda logits: logits[:, 0] > threshold

    def best_sets(logits: Logits) -> Predicted:
        scores = torch.as_tensor(logits[:, 0] if masks else logits)
        options: dict[str, Any] = {"mode": mode, "calibration": learned, "scores": "log-odds"}
        return np.asarray(decide_images(scores, loss, **options).sets)

    made["`calibrate_pixels`"] = best_sets
    return made
