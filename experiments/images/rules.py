"""What to predict from the scores of a network: cuts, and the set of least expected loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.images.data import NO_LABEL, Labels
from experiments.images.scores import score
from setloss.decisions.pixels import moment_bounds
from setloss.nn import PixelCalibration, decide_pixels, fit_temperature

Logits = NDArray[np.float32]
Predicted = NDArray[np.generic]

VALUED_IMAGES = 40
"""Expected losses of decisions are averaged over this many images."""

RANKSEG = ({"": 0.0}, {"": 0.5, ", nothing pruned": 0.0})
"""The prunings of the peer that are compared, for masks and for classes; 0.5 is its own."""


@dataclass(frozen=True)
class ImageRule:
    """What to predict; where an expected loss is made small, `temperature` is that of its probabilities."""

    decide: Callable[[Logits], Predicted]
    temperature: float | None = None


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
        scores = torch.as_tensor(self.logits)
        return fit_temperature(scores, target, mode=mode, ignore_index=NO_LABEL)  # type: ignore[arg-type]


def cut(logits: Logits) -> Predicted:
    """The sign for masks, the argmax for classes."""
    return logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(1)


def chosen_threshold(tuning: Tuning) -> Callable[[Logits], Predicted]:
    """For masks: the threshold of best mean Dice on the validation images, of probabilities 0.05, 0.1, ..., 0.95."""
    grid = np.log(np.linspace(0.05, 0.95, 19) / (1 - np.linspace(0.05, 0.95, 19)))
    best = max(grid, key=lambda t: float(score(tuning.logits[:, 0] > t, tuning.labels, 1).dice.mean()))
    return lambda logits: logits[:, 0] > best


def best_sets(temperature: float, loss: str, logits: Logits) -> Predicted:
    """The pixels of least expected loss, image by image."""
    mode = "multiclass" if logits.shape[1] > 1 else "binary"
    found = [
        decide_pixels(torch.as_tensor(one[None]), loss, mode=mode, calibration=PixelCalibration(temperature)).sets  # type: ignore[arg-type]
        for one in logits
    ]
    chosen: Predicted = torch.cat(found).numpy()
    return chosen[:, 0] if mode == "binary" else chosen


def rankseg_sets(temperature: float, metric: str, pruning: float, logits: Logits) -> Predicted:
    """The peer's answer by reciprocal moments; what is nowhere likelier than `pruning` it leaves out."""
    from rankseg import RankSEG

    scores = torch.as_tensor(logits) / temperature
    if logits.shape[1] == 1:
        solver = RankSEG(metric, output_mode="multilabel", solver="RMA", pruning_prob=pruning)
        masks: Predicted = solver.predict(scores.sigmoid()).numpy()[:, 0]
        return masks
    solver = RankSEG("iou", output_mode="multiclass", solver="RMA", pruning_prob=pruning)
    classes: Predicted = solver.predict(scores.softmax(1)).numpy()
    return classes


def rules(tuning: Tuning) -> dict[str, ImageRule]:
    """By name; what is chosen is chosen on the validation images. `rankseg` is among them where it is installed."""
    loss = "dice" if tuning.classes == 1 else "jaccard"
    made = {"cut at 1/2" if tuning.classes == 1 else "argmax": ImageRule(cut)}
    if tuning.classes == 1:
        made["threshold chosen on validation images"] = ImageRule(chosen_threshold(tuning))
    for named, temperature in (("", 1.0), (", temperature", tuning.temperature)):
        made[f"least expected loss{named}"] = ImageRule(partial(best_sets, temperature, loss), temperature)
        if find_spec("rankseg") is not None:
            for words, pruning in RANKSEG[tuning.classes > 1].items():
                peer = partial(rankseg_sets, temperature, loss, pruning)
                made[f"rankseg (RMA){words}{named}"] = ImageRule(peer, temperature)
    return made


def expected_loss(predicted: Predicted, logits: Logits, temperature: float) -> float:
    """The mean expected loss of sets, Dice of masks or Jaccard of classes, for independent pixels; by moments."""
    scores = torch.as_tensor(logits[:VALUED_IMAGES], dtype=torch.float64) / temperature
    masks = logits.shape[1] == 1
    p = (scores.sigmoid() if masks else scores.softmax(1)).flatten(2).numpy()
    flat = np.reshape(predicted[:VALUED_IMAGES], (len(p), 1, -1))
    chosen = np.asarray(flat == (True if masks else np.arange(p.shape[1])[:, None]), dtype=bool)
    first = np.argsort(~chosen, axis=2, kind="stable")
    bounds = moment_bounds(np.take_along_axis(p, first, 2), *((0.5, 0.5) if masks else (1.0, 1.0)), np)
    middle = (bounds.low + bounds.high) / 2
    return float(1 - np.take_along_axis(middle, chosen.sum(2, keepdims=True), 2).mean())
