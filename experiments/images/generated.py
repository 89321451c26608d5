"""Generated images: one kind for each thing that makes a loss fail, so that losses are compared without a data set.

All have noise and uneven light. `KINDS` names them: blobs that cover a quarter of the image, ellipses of many sizes,
curves one pixel wide, discs of a few pixels, lesions that half of the images do not have, and five classes of which
the last two are rare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from experiments.images.data import (
    ImageError,
    ImagePart,
    ImageProblem,
    check_size,
    find_problems,
    read_problem,
    standard,
)

Field = NDArray[np.float64]
Drawn = tuple[Field, NDArray[np.int64]]

PARTS = (96, 32, 64)
"""Images to train on, to choose the rate with, and to test."""

CLASSES = 5


SIZES = {"nuclei": 48, "chasedb1": 64, "camvid": 80}
"""The sides of images that are reported; others have 64, generated ones 48."""


def problems_named(
    data: Path | None, names: list[str] | None, size: int | None, split: int | None
) -> list[Callable[[], ImageProblem]]:
    """Readers or generators of the problems asked for: by default all of the folder, or all generated ones."""
    check_size(size or 64)
    folders = {} if data is None else find_problems(data, size or 64)
    known: dict[str, Path | None] = {**dict.fromkeys(KINDS), **folders}
    for name in names or ():
        if name not in known:
            raise ImageError(f"there is no data set {name!r}; the names are {', '.join(known)}")
    wanted = names or list(KINDS if data is None else folders)
    return [partial(_problem, name, known[name], size, split) for name in wanted]


def _problem(name: str, place: Path | None, size: int | None, split: int | None) -> ImageProblem:
    if place is None:
        problem = generated(name, size or 48, seed=split or 0)
    else:
        problem = read_problem(name, place, size or SIZES.get(name, 64), split)
    return problem if split is None else replace(problem, name=f"{name} (split {split})")


def generated(kind: str, size: int = 48, parts: tuple[int, int, int] = PARTS, seed: int = 0) -> ImageProblem:
    """A problem of one of the `KINDS`; the same seed draws the same images."""
    rng, draw = np.random.default_rng(seed), KINDS[kind]
    made = [draw(size, rng) for _ in range(sum(parts))]
    images = standard(np.stack([image for image, _ in made])[:, None].astype(np.float32))
    labels = np.stack([mask for _, mask in made]).astype(np.int64)
    ends = np.cumsum(parts)[:2]
    train, validation, test = map(ImagePart, np.split(images, ends), np.split(labels, ends))
    return ImageProblem(kind, CLASSES if kind == "classes" else 1, train, validation, test)


def _blobs(size: int, rng: np.random.Generator) -> Drawn:
    """A smooth random field, cut where a quarter of the pixels, more or less, lie above."""
    field = gaussian_filter(rng.normal(size=(size, size)), size / 12)
    mask = field > np.quantile(field, 1 - rng.uniform(0.1, 0.42))
    return _seen(0.6 * mask, rng, 0.8), mask.astype(np.int64)


def _ellipses(size: int, rng: np.random.Generator) -> Drawn:
    """Bright ellipses of many sizes, dim ones among them."""
    light, mask = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
    for _ in range(rng.integers(1, 25)):
        inside = _ellipse(size, rng, 0.02, 0.09)
        light += rng.uniform(0.15, 0.8) * np.exp(-(inside**2))
        mask |= inside < 1
    return _seen(light, rng, 0.15), mask.astype(np.int64)


def _curves(size: int, rng: np.random.Generator) -> Drawn:
    """Three walks that turn slowly, one pixel wide."""
    mask = np.zeros((size, size), dtype=bool)
    for _ in range(3):
        place, turn = rng.uniform(0, size, 2), rng.uniform(0, 2 * np.pi)
        for _ in range(2 * size):
            mask[tuple(place.astype(int))] = True
            turn += rng.normal(0, 0.2)
            place = (place + 0.7 * np.array([np.sin(turn), np.cos(turn)])) % size
    return _seen(gaussian_filter(1.0 * mask, 0.5), rng, 0.5), mask.astype(np.int64)


def _discs(size: int, rng: np.random.Generator) -> Drawn:
    """One to six discs of about ten pixels."""
    mask = np.zeros((size, size), dtype=bool)
    y, x = np.mgrid[:size, :size]
    for _ in range(rng.integers(1, 7)):
        centre = rng.uniform(2, size - 2, 2)
        mask |= (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < rng.uniform(1.2, 2.5) ** 2
    return _seen(0.6 * mask, rng, 0.25), mask.astype(np.int64)


def _lesions(size: int, rng: np.random.Generator) -> Drawn:
    """One or two ellipses on half of the images, and on all of them dim shapes that do not count."""
    light, mask = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
    for _ in range(3):
        light += 0.3 * (_ellipse(size, rng, 0.04, 0.2) < 1)
    for _ in range(rng.integers(1, 3) if rng.uniform() < 0.5 else 0):
        mask |= _ellipse(size, rng, 0.04, 0.12) < 1
    return _seen(light + 0.6 * mask, rng, 0.3), mask.astype(np.int64)


def _classes(size: int, rng: np.random.Generator) -> Drawn:
    """Patches of five classes; each class has its own brightness, and the rarer of two neighbours is the smaller."""
    labels = np.zeros((size, size), dtype=np.int64)
    for kind, largest in ((1, 0.35), (2, 0.25), (3, 0.12), (4, 0.08)):
        for _ in range(rng.integers(0, 3)):
            labels[_ellipse(size, rng, 0.05, largest) < 1] = kind
    return _seen(np.array([0.0, 0.3, -0.3, 0.6, -0.6])[labels], rng, 0.25), labels


def _ellipse(size: int, rng: np.random.Generator, shortest: float, longest: float) -> Field:
    """Less than 1 inside of an ellipse with such half axes, in sides of the image."""
    y, x = np.mgrid[:size, :size] / size
    centre, radii, turn = rng.uniform(size=2), rng.uniform(shortest, longest, 2), rng.uniform(0, np.pi)
    along = (x - centre[0]) * np.cos(turn) + (y - centre[1]) * np.sin(turn)
    across = (y - centre[1]) * np.cos(turn) - (x - centre[0]) * np.sin(turn)
    return np.asarray((along / radii[0]) ** 2 + (across / radii[1]) ** 2)


def _seen(light: Field, rng: np.random.Generator, noise: float) -> Field:
    """Under uneven light, with noise."""
    y, x = np.mgrid[: len(light), : len(light)] / len(light)
    slope = rng.uniform(-0.3, 0.3, 2)
    return np.asarray(light + slope[0] * x + slope[1] * y + rng.normal(0, noise, light.shape))


KINDS: dict[str, Callable[[int, np.random.Generator], Drawn]] = {
    "blobs": _blobs,
    "ellipses": _ellipses,
    "curves": _curves,
    "discs": _discs,
    "lesions": _lesions,
    "classes": _classes,
}
