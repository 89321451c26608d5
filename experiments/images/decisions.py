"""What to predict from the scores of a network, and how predictions are judged: Dice and Jaccard by image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.images.data import NO_LABEL, Labels
from setloss.nn import PixelCalibration, decide_pixels, fit_temperature

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


@dataclass(frozen=True)
class Tuning:
    """The validation images: their scores and labels, and the number of classes."""

    logits: Logits
    labels: Labels
    classes: int

    @property
    def temperature(self) -> float:
        """Of least cross-entropy."""
        mode, target = "multiclass" if self.classes > 1 else "binary", torch.as_tensor(self.labels)
        return fit_temperature(torch.as_tensor(self.logits), target, mode=mode, ignore_index=NO_LABEL)  # type: ignore[arg-type]


def cut(logits: Logits) -> Predicted:
    """The sign for masks, the argmax for classes."""
    return logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(1)


def chosen_threshold(tuning: Tuning) -> Decide:
    """For masks: the threshold of best mean Dice on the validation images, of probabilities 0.05, 0.1, ..., 0.95."""
    grid = np.log(np.linspace(0.05, 0.95, 19) / (1 - np.linspace(0.05, 0.95, 19)))
    best = max(grid, key=lambda t: float(score(tuning.logits[:, 0] > t, tuning.labels, 1).dice.mean()))
    return lambda logits: logits[:, 0] > best


def best_sets(temperature: float, logits: Logits) -> Predicted:
    """The pixels of least expected loss, Dice of masks or Jaccard of classes, image by image."""
    masks = logits.shape[1] == 1
    loss, mode = ("dice", "binary") if masks else ("jaccard", "multiclass")
    known: dict[str, Any] = {"mode": mode, "calibration": PixelCalibration(temperature), "scores": "log-odds"}
    found = [decide_pixels(torch.as_tensor(one[None]), loss, **known).sets for one in logits]
    chosen: Predicted = torch.cat(found).numpy()
    return chosen[:, 0] if masks else chosen


def rankseg_sets(temperature: float, logits: Logits) -> Predicted:
    """The answer of the peer RankSEG by reciprocal moments."""
    from rankseg import RankSEG

    scores, masks = torch.as_tensor(logits) / temperature, logits.shape[1] == 1
    mode, metric = ("multilabel", "dice") if masks else ("multiclass", "iou")
    solver = RankSEG(metric, output_mode=mode, solver="RMA", pruning_prob=0.0)
    found: Predicted = solver.predict(scores.sigmoid() if masks else scores.softmax(1)).numpy()
    return found[:, 0] if masks else found


def rules(tuning: Tuning) -> dict[str, Decide]:
    """By name; what is chosen is chosen on the validation images. `rankseg` is among them where it is installed."""
    made: dict[str, Decide] = {"cut at 1/2" if tuning.classes == 1 else "argmax": cut}
    if tuning.classes == 1:
        made["threshold chosen on validation images"] = chosen_threshold(tuning)
    for named, temperature in (("", 1.0), (", temperature", tuning.temperature)):
        made[f"least expected loss{named}"] = partial(best_sets, temperature)
        if find_spec("rankseg") is not None:
            made[f"rankseg (RMA){named}"] = partial(rankseg_sets, temperature)
    return made
