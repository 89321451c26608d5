"""Training of one network: what is the same for every loss."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from experiments.images.data import ImagePart, ImageProblem
from experiments.images.methods import criterion
from experiments.images.network import UNet


@dataclass(frozen=True)
class TrainingSettings:
    """What all methods share; `rates` is the grid from which the validation part chooses, with the first seed."""

    steps: int = 150
    batch: int = 8
    clip: float = 1.0
    width: int = 8
    rates: tuple[float, ...] = (3e-3, 1e-2, 3e-2)
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True)
class NetworkRun:
    """One network to train; the seed sets its first weights and the order of the images."""

    method: str
    rate: float
    seed: int

    def __str__(self) -> str:
        return f"{self.method}, rate {self.rate:g}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """A network, the values of its loss step by step, and the CPU seconds that training took."""

    network: UNet
    values: NDArray[np.float64]
    seconds: float


def train(run: NetworkRun, problem: ImageProblem, settings: TrainingSettings) -> Trained:
    """Adam with a cosine schedule and clipped gradients."""
    torch.manual_seed(run.seed)
    net = _network(problem, settings)
    loss = criterion(run.method, problem.classes)
    optimiser = torch.optim.Adam(net.parameters(), lr=run.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    started, values = time.process_time(), []
    for images, labels in _batches(problem, settings, run.seed):
        optimiser.zero_grad()
        value = loss(net(images), labels)
        value.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(net.parameters(), settings.clip)
        optimiser.step()
        schedule.step()
        values.append(value.item())
    return Trained(net.eval(), np.array(values), time.process_time() - started)


def train_once(run: NetworkRun, problem: ImageProblem, settings: TrainingSettings, folder: Path | None) -> Trained:
    """As `train`; with a folder the weights are kept there, and a network that is there is not trained again."""
    if folder is None:
        return train(run, problem, settings)
    file = folder / f"{problem.name}-{run.method}-{run.rate:g}-{run.seed}-{settings.steps}.npz"
    if file.exists():
        return _restored(file, problem, settings)
    trained = train(run, problem, settings)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"weights.{name}": value.numpy() for name, value in trained.network.state_dict().items()}
    np.savez(file, allow_pickle=False, values=trained.values, seconds=trained.seconds, **weights)
    return trained


def _restored(file: Path, problem: ImageProblem, settings: TrainingSettings) -> Trained:
    net = _network(problem, settings)
    with np.load(file) as arrays:
        weights = {name[8:]: torch.as_tensor(arrays[name]) for name in arrays if name.startswith("weights.")}
        net.load_state_dict(weights)
        return Trained(net.eval(), arrays["values"], float(arrays["seconds"]))


def _network(problem: ImageProblem, settings: TrainingSettings) -> UNet:
    net = UNet(problem.train.images.shape[1], problem.classes, settings.width)
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _batches(problem: ImageProblem, settings: TrainingSettings, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled passes over the images, whole or a random square of each."""
    rng = np.random.default_rng(seed)
    part, visits = problem.train, settings.steps * settings.batch
    passes = [rng.permutation(len(part)) for _ in range(-(-visits // len(part)))]
    for chosen in np.concatenate(passes)[:visits].reshape(settings.steps, settings.batch):
        images, labels = part.images[chosen], part.labels[chosen]
        if problem.crop is not None:
            images, labels = _cropped(images, labels, problem.crop, rng)
        yield torch.as_tensor(images), torch.as_tensor(labels)


def _cropped(
    images: NDArray[np.float32], labels: NDArray[np.int64], side: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    height, width = labels.shape[1:]
    tops, lefts = rng.integers(0, height - side + 1, len(images)), rng.integers(0, width - side + 1, len(images))
    windows = [np.s_[..., top : top + side, left : left + side] for top, left in zip(tops, lefts, strict=True)]
    cut = [(one[window], truth[window]) for one, truth, window in zip(images, labels, windows, strict=True)]
    return np.stack([one for one, _ in cut]), np.stack([truth for _, truth in cut])


@torch.no_grad()
def predict(net: UNet, part: ImagePart) -> NDArray[np.float32]:
    """The scores of all pixels of all images, ``(n, classes, height, width)``."""
    scores: NDArray[np.float32] = torch.cat(
        [net(one) for one in torch.split(torch.as_tensor(part.images), 8)]
    ).numpy()
    return scores
