"""One small U-Net for all losses: the losses by name, and training, the same for each of them.

Losses take logits ``(N, C, H, W)`` and labels ``(N, H, W)``, -1 for none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot
from torch.nn.utils import clip_grad_norm_

from experiments.images.data import NO_LABEL, ImagePart, ImageProblem
from setloss.nn import SetLoss, component_groups, set_loss

Criterion = Callable[[Tensor, Tensor], Tensor]

# ---------------------------------------------------------------- losses


@dataclass(frozen=True)
class SegmentationLoss:
    """A loss to train with: its name in tables, for masks and for classes."""

    label: str
    binary: Criterion
    classes: Criterion


def pixelwise(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, every pixel for itself."""
    if logits.shape[1] == 1:
        return binary_cross_entropy_with_logits(logits.squeeze(1), labels.to(logits.dtype))
    return cross_entropy(logits, labels, ignore_index=NO_LABEL)


def soft_dice(logits: Tensor, labels: Tensor) -> Tensor:
    """1 - 2 <p, y> / (|p| + |y|): per image for masks, per class over the batch for classes, as people run it."""
    if logits.shape[1] == 1:
        p, y = logits.sigmoid().flatten(1), labels.to(logits.dtype).flatten(1)
        overlap, total = 2 * (p * y).sum(1), p.sum(1) + y.sum(1)
        return (1 - overlap / total.clamp(min=1e-6)).mean()
    counted = (labels != NO_LABEL).unsqueeze(1)
    y = one_hot(labels.clamp(min=0), logits.shape[1]).movedim(-1, 1) * counted
    p = logits.softmax(1) * counted
    overlap, total = 2 * (p * y).sum((0, 2, 3)), (p + y).sum((0, 2, 3))
    return (1 - (overlap + 1e-5) / (total + 1e-5)).mean()


def soft_dice_with_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum of the two, which nnU-Net trains with."""
    return pixelwise(logits, labels) + soft_dice(logits, labels)


def by_object(logits: Tensor, labels: Tensor) -> Tensor:
    """A set for every connected component, of each class but class 0, with the background nearest to it."""
    if logits.shape[1] == 1:
        return set_loss(logits, labels, over="groups", groups=component_groups(labels))
    groups = component_groups(labels, mode="multiclass", classes=logits.shape[1])
    options: dict[str, Any] = {"mode": "multiclass", "include_background": False, "ignore_index": NO_LABEL}
    return set_loss(logits, labels, over="groups", groups=groups, **options)


METHODS = {
    "ce": SegmentationLoss("cross-entropy", pixelwise, pixelwise),
    "ce+soft-dice": SegmentationLoss("cross-entropy + soft Dice", *[soft_dice_with_cross_entropy] * 2),
    "default": SegmentationLoss("`SetLoss()`", SetLoss(), SetLoss(mode="multiclass", ignore_index=NO_LABEL)),
    "objects": SegmentationLoss('`SetLoss(over="groups")`', by_object, by_object),
}
FIRST = "ce+soft-dice"
"""What differences in the tables are taken from."""


# ---------------------------------------------------------------- the network


def _block(inputs: int, outputs: int, layers: int = 2) -> nn.Sequential:
    """3 x 3 convolutions, each normalised over the batch."""
    found: list[nn.Module] = []
    for channels in [inputs, *[outputs] * (layers - 1)]:
        found += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*found)


class UNet(nn.Module):
    """Images ``(N, channels, H, W)`` to scores ``(N, classes, H, W)``; H and W are multiples of 4.

    Three resolutions; the finest, which costs most, has one convolution on the way down and one on the way up.
    """

    def __init__(self, channels: int = 1, classes: int = 1, width: int = 8) -> None:
        super().__init__()
        self.fine = _block(channels, width, 1)
        self.middle = _block(width, 2 * width)
        self.coarse = _block(2 * width, 4 * width)
        self.up = _block(6 * width, 2 * width)
        self.score = nn.Conv2d(3 * width, classes, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, images: Tensor) -> Tensor:
        """One score per pixel and class."""
        fine = self.fine(images)
        middle = self.middle(self.pool(fine))
        coarse = self.coarse(self.pool(middle))
        features = self.up(torch.cat([self.grow(coarse), middle], 1))
        scores: Tensor = self.score(torch.cat([self.grow(features), fine], 1))
        return scores


# ---------------------------------------------------------------- training


@dataclass(frozen=True)
class TrainingSettings:
    """What all methods share."""

    steps: int = 150
    batch: int = 8
    clip: float = 1.0
    width: int = 8
    rate: float = 1e-2
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True)
class Trained:
    """A network, the values of its loss step by step, and the CPU milliseconds of a step."""

    network: UNet
    values: NDArray[np.float64]
    milliseconds: float


def train(method: str, seed: int, problem: ImageProblem, settings: TrainingSettings) -> Trained:
    """Adam with a cosine schedule and clipped gradients; the seed sets first weights and the order of the images."""
    torch.manual_seed(seed)
    net = UNet(problem.train.images.shape[1], problem.classes, settings.width)
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    loss = METHODS[method].binary if problem.classes == 1 else METHODS[method].classes
    optimiser = torch.optim.Adam(net.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    started, values = time.process_time(), []
    for images, labels in _batches(problem, settings, seed):
        optimiser.zero_grad()
        value = loss(net(images), labels)
        value.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(net.parameters(), settings.clip)
        optimiser.step()
        schedule.step()
        values.append(value.item())
    return Trained(net.eval(), np.array(values), 1000 * (time.process_time() - started) / settings.steps)


def _batches(problem: ImageProblem, settings: TrainingSettings, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled passes over the images, whole or a random square of each."""
    rng = np.random.default_rng(seed)
    part, visits = problem.train, settings.steps * settings.batch
    passes = [rng.permutation(len(part)) for _ in range(-(-visits // len(part)))]
    for chosen in np.concatenate(passes)[:visits].reshape(settings.steps, settings.batch):
        images, labels = part.images[chosen], part.labels[chosen]
        if problem.crop is not None:
            side, (height, width) = problem.crop, labels.shape[1:]
            tops = rng.integers(0, height - side + 1, len(images))
            lefts = rng.integers(0, width - side + 1, len(images))
            windows = [np.s_[..., y : y + side, x : x + side] for y, x in zip(tops, lefts, strict=True)]
            images = np.stack([one[window] for one, window in zip(images, windows, strict=True)])
            labels = np.stack([one[window] for one, window in zip(labels, windows, strict=True)])
        yield torch.as_tensor(images), torch.as_tensor(labels)


@torch.no_grad()
def predict(net: UNet, part: ImagePart) -> NDArray[np.float32]:
    """The scores of all pixels of all images, ``(n, classes, height, width)``."""
    pieces = torch.split(torch.as_tensor(part.images), 8)
    scores: NDArray[np.float32] = torch.cat([net(one) for one in pieces]).numpy()
    return scores
