"""Training of one network for `segment_nuclei.py`: the methods compared, and what is the same for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from nuclei_data import Nuclei, Split
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils import clip_grad_norm_
from unet import UNet

from setloss.nn import SetLoss

Criterion = Callable[[Tensor, Tensor], Tensor]


def soft_dice(scores: Tensor, truth: Tensor) -> Tensor:
    """1 - 2 <p, y> / (|p| + |y|) of every image, p the sigmoid of the scores; the usual loss of segmentation."""
    p, y = scores.sigmoid().flatten(1), truth.flatten(1)
    overlap, total = 2 * (p * y).sum(1), p.sum(1) + y.sum(1)
    return (1 - overlap / total.clamp(min=1e-6)).mean()


@dataclass(frozen=True)
class Method:
    """A loss to train with."""

    label: str
    criterion: Criterion


METHODS = {
    "bce": Method("cross-entropy", binary_cross_entropy_with_logits),
    "soft-dice": Method("soft Dice", soft_dice),
    "lovasz": Method("L Jaccard", SetLoss("jaccard", "lovasz")),
    "bd": Method("B_D Dice, c = 2", SetLoss("dice", "bd", scale=2.0)),
    "bd-monotone": Method("B_D monotone Dice, c = 2", SetLoss("dice", "bd-monotone", scale=2.0)),
    "slack": Method("S Dice, c = 2", SetLoss("dice", "slack", scale=2.0)),
    "bd-pixel": Method("B_D Dice, c = 2/p", SetLoss("dice", "bd", scale="mean")),
    "bd-monotone-pixel": Method("B_D monotone Dice, c = 2/p", SetLoss("dice", "bd-monotone", scale="mean")),
    "slack-pixel": Method("S Dice, c = 2/p", SetLoss("dice", "slack", scale="mean")),
    "slack-1": Method("S Dice, c = 1", SetLoss("dice", "slack", scale=1.0)),
    "margin-pixel": Method("M Dice, c = 2/p", SetLoss("dice", "margin", scale="mean")),
}
"""p is the number of pixels of an image."""

COMPARED = tuple(METHODS)[:9]


@dataclass(frozen=True)
class Settings:
    """What all methods share; `rates` is the grid that each chooses its learning rate from on the validation part."""

    size: int = 96
    steps: int = 120
    batch: int = 8
    clip: float = 1.0
    rates: tuple[float, ...] = (3e-3, 1e-2, 3e-2)
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True)
class Run:
    """One network to train; the seed sets its first weights and the order of the images."""

    method: str
    rate: float
    seed: int

    def __str__(self) -> str:
        return f"{METHODS[self.method].label}, rate {self.rate:g}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """Scores of all pixels of the validation and test images, and the norms of the gradients before clipping."""

    validation: NDArray[np.float32]
    test: NDArray[np.float32]
    gradient_norms: NDArray[np.float64]
    seconds: float


def train(run: Run, data: Split, settings: Settings) -> Trained:
    """Adam with a cosine schedule and clipped gradients, on batches of whole images."""
    torch.manual_seed(run.seed)
    net = UNet().to(memory_format=torch.channels_last)
    criterion = METHODS[run.method].criterion
    optimiser = torch.optim.Adam(net.parameters(), lr=run.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    images, truth = _tensors(data.train)
    started, norms = time.process_time(), []
    for chosen in _batches(len(images), settings, run.seed):
        optimiser.zero_grad()
        criterion(net(images[chosen]), truth[chosen]).backward()
        norms.append(clip_grad_norm_(net.parameters(), settings.clip).item())
        optimiser.step()
        schedule.step()
    seconds = time.process_time() - started
    return Trained(predict(net, data.validation), predict(net, data.test), np.array(norms), seconds)


def _batches(n: int, settings: Settings, seed: int) -> Tensor:
    """Shuffled passes over the images, cut into one row of indices a step."""
    rng = torch.Generator().manual_seed(seed)
    visits = settings.steps * settings.batch
    passes = [torch.randperm(n, generator=rng) for _ in range(-(-visits // n))]
    return torch.cat(passes)[:visits].view(settings.steps, settings.batch)


def _tensors(data: Nuclei) -> tuple[Tensor, Tensor]:
    return torch.as_tensor(data.images).unsqueeze(1), torch.as_tensor(data.masks).unsqueeze(1).float()


@torch.no_grad()
def predict(net: UNet, data: Nuclei) -> NDArray[np.float32]:
    """The scores of all pixels of all images."""
    net.eval()
    parts = [net(part).squeeze(1) for part in _tensors(data)[0].split(16)]
    scores: NDArray[np.float32] = torch.cat(parts).numpy()
    return scores
