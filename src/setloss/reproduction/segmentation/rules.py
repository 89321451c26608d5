"""What to predict from the scores of a network: cuts, and the set of least expected loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray

from setloss.nn.pixels import decide_pixels, fit_temperature
from setloss.reproduction.segmentation.data import NO_LABEL, Labels
from setloss.reproduction.segmentation.scores import score

Logits = NDArray[np.float32]
Predicted = NDArray[np.generic]
Rule = Callable[[Logits], Predicted]


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


def chosen_threshold(tuning: Tuning) -> Rule:
    """For masks: the threshold of best mean Dice on the validation images, of probabilities 0.05, 0.1, ..., 0.95."""
    grid = np.log(np.linspace(0.05, 0.95, 19) / (1 - np.linspace(0.05, 0.95, 19)))
    best = max(grid, key=lambda t: float(score(tuning.logits[:, 0] > t, tuning.labels, 1).dice.mean()))
    return lambda logits: logits[:, 0] > best


def best_sets(temperature: float, loss: str, logits: Logits) -> Predicted:
    """The pixels of least expected loss, image by image."""
    mode = "multiclass" if logits.shape[1] > 1 else "binary"
    found = [
        decide_pixels(torch.as_tensor(one[None]), loss, mode=mode, temperature=temperature).chosen  # type: ignore[arg-type]
        for one in logits
    ]
    chosen: Predicted = torch.cat(found).numpy()
    return chosen[:, 0] if mode == "binary" else chosen


def rankseg_sets(temperature: float, metric: str, logits: Logits) -> Predicted:
    """The peer's answer by reciprocal moments; for masks without its pruning, which empties unlikely ones."""
    from rankseg import RankSEG

    scores = torch.as_tensor(logits) / temperature
    if logits.shape[1] == 1:
        solver = RankSEG(metric, output_mode="multilabel", solver="RMA", pruning_prob=0.0)
        masks: Predicted = solver.predict(scores.sigmoid()).numpy()[:, 0]
        return masks
    solver = RankSEG("iou", output_mode="multiclass", solver="RMA")
    classes: Predicted = solver.predict(scores.softmax(1)).numpy()
    return classes


def rules(tuning: Tuning) -> dict[str, Rule]:
    """By name; what is chosen is chosen on the validation images. `rankseg` is among them where it is installed."""
    loss = "dice" if tuning.classes == 1 else "jaccard"
    made: dict[str, Rule] = {"cut at 1/2" if tuning.classes == 1 else "argmax": cut}
    if tuning.classes == 1:
        made["threshold chosen on validation images"] = chosen_threshold(tuning)
    made["least expected loss"] = partial(best_sets, 1.0, loss)
    made["least expected loss, temperature"] = partial(best_sets, tuning.temperature, loss)
    if find_spec("rankseg") is not None:
        made["rankseg (RMA)"] = partial(rankseg_sets, 1.0, loss)
        made["rankseg (RMA), temperature"] = partial(rankseg_sets, tuning.temperature, loss)
    return made
