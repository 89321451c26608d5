"""Images with masks for `segment_nuclei.py`: a folder of PNG files, or generated blobs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

Images = NDArray[np.float32]
Masks = NDArray[np.bool_]


class InputError(Exception):
    """What is wrong with the input and what to do, in one sentence."""


@dataclass(frozen=True)
class Nuclei:
    """Images ``(n, size, size)``, each of mean 0 and variance 1, and which pixels are nuclei."""

    images: Images
    masks: Masks

    def __getitem__(self, chosen: NDArray[np.intp]) -> Nuclei:
        return Nuclei(self.images[chosen], self.masks[chosen])

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Split:
    """Parts of one data set, by image: to learn from, to choose with, to report on."""

    train: Nuclei
    validation: Nuclei
    test: Nuclei


def split(data: Nuclei, seed: int) -> Split:
    """60 % of the images to train on, 15 % to choose with, the rest to report on."""
    order = np.random.default_rng(seed).permutation(len(data))
    first, second = round(0.6 * len(data)), round(0.75 * len(data))
    return Split(data[order[:first]], data[order[first:second]], data[order[second:]])


def read_folder(folder: Path, size: int) -> Nuclei:
    """``images/*.png`` with a mask of the same name in ``masks/``, averaged down to ``size x size``."""
    for part in (folder, folder / "images", folder / "masks"):
        if not part.is_dir():
            raise InputError(f"{part} is not a folder; --data takes a folder with images/*.png and masks/*.png")
    found = sorted((folder / "images").glob("*.png"))
    if len(found) < 10:
        raise InputError(f"{folder / 'images'} has {len(found)} PNG files; at least 10 are needed for three parts")
    bare = [path.name for path in found if not (folder / "masks" / path.name).is_file()]
    if bare:
        raise InputError(
            f"{len(bare)} of {len(found)} images have no mask of the same name in masks/, first {bare[0]}"
        )
    images = np.stack([_read(path, size) for path in found])
    masks = np.stack([_read(folder / "masks" / path.name, size) for path in found]) > 127
    return Nuclei(_standard(images), masks)


def _read(path: Path, size: int) -> Images:
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L").resize((size, size), Image.Resampling.BOX), dtype=np.float32)
    except (OSError, UnidentifiedImageError) as error:
        raise InputError(f"{path} cannot be read as an image ({error}); replace or remove it") from None


def _standard(images: NDArray[np.floating]) -> Images:
    flat = images.reshape(len(images), -1)
    centred = (flat - flat.mean(1, keepdims=True)) / (flat.std(1, keepdims=True) + 1e-6)
    return centred.reshape(images.shape).astype(np.float32)


def generate(n: int, size: int, seed: int) -> Nuclei:
    """Bright ellipses of many sizes under uneven light, dim ones among them, with noise."""
    rng = np.random.default_rng(seed)
    made = [_generate_one(size, rng) for _ in range(n)]
    return Nuclei(_standard(np.stack([image for image, _ in made])), np.stack([mask for _, mask in made]))


def _generate_one(size: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], Masks]:
    y, x = np.mgrid[:size, :size] / size
    light, mask = 0.3 * rng.uniform() * x + 0.3 * rng.uniform() * y, np.zeros((size, size), dtype=bool)
    for _ in range(rng.integers(1, 25)):
        centre, radii, turn = rng.uniform(size=2), rng.uniform(0.02, 0.09, 2), rng.uniform(0, np.pi)
        along = (x - centre[0]) * np.cos(turn) + (y - centre[1]) * np.sin(turn)
        across = (y - centre[1]) * np.cos(turn) - (x - centre[0]) * np.sin(turn)
        inside = (along / radii[0]) ** 2 + (across / radii[1]) ** 2
        light = light + rng.uniform(0.15, 0.8) * np.exp(-(inside**2))
        mask |= inside < 1
    return light + rng.normal(0, 0.08, light.shape), mask
