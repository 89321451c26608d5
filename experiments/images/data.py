"""Images with masks or classes: from a folder, or generated; in three parts before anything is trained.

Generated images have noise and uneven light, and one kind for each thing that makes a loss fail: ellipses of many
sizes, lesions that half of the images do not have, and five classes of which the last two are rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from experiments.protocol import named

Images = NDArray[np.float32]
Labels = NDArray[np.int64]
Drawn = tuple[NDArray[np.float64], Labels]

NO_LABEL = -1
"""What pixels without a label are given as."""

PARTS = (96, 32, 64)
"""Generated images to train on, to choose the rate with, and to test."""

CLASSES = 5

WHOLE = 256
"""Side of the images that crops are taken from."""


@dataclass(frozen=True)
class ImagePart:
    """Images ``(n, channels, height, width)`` of mean 0 and variance 1, and the class of every pixel."""

    images: Images
    labels: Labels

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class ImageProblem:
    """Three parts of one data set; `classes` is 1 for masks of 0 and 1. Training is on squares of side `crop`."""

    name: str
    classes: int
    train: ImagePart
    validation: ImagePart
    test: ImagePart
    crop: int | None = None


def problems_named(
    data: Path | None, names: Sequence[str] | None, size: int = 64, seed: int = 0
) -> list[Callable[[], ImageProblem]]:
    """Readers or generators of the problems asked for: by default all of the folder, or all generated ones.

    Masks with "-small" and "-few" are crops, half of them empty: of the smallest quarter of the objects, and of all
    that is in a mask.
    """
    from experiments.images.crops import SmallObjects

    if size < 8 or size % 4:
        raise ValueError(f"the side of images is a multiple of 4 from 8 on, for the network halves twice; got {size}")
    folders = {} if data is None else find_problems(data)
    known: dict[str, Callable[[], ImageProblem]] = {
        **{kind: partial(generated, kind, size, seed=seed) for kind in KINDS},
        **{name: partial(read_problem, name, at, size) for name, at in folders.items()},
    }
    whole = {name: partial(read_problem, name, at, WHOLE) for name, at in folders.items()}
    for end, quantile in (("small", 0.25), ("few", 1.0)):
        known |= {
            f"{name}-{end}": SmallObjects(read, f"{name}-{end}", size, quantile) for name, read in whole.items()
        }
    chosen = named("data set", names, known, KINDS if data is None else folders)
    return [known[name] for name in chosen]


# ---------------------------------------------------------------- folders


def find_problems(folder: Path) -> dict[str, Path]:
    """The data sets in a folder by name: the folder itself, or those of its subfolders that hold one."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    places = [place for place in (folder, *sorted(folder.iterdir())) if place.is_dir() and _holds_images(place)]
    if not places:
        raise ValueError(
            f"{folder} holds no images/*.png with masks/*.png, no .npz with images and masks, and no .npz with "
            "train_images, train_labels, val_images, ..., test_labels; nor do its subfolders"
        )
    return {place.resolve().name: place for place in places}


def _holds_images(folder: Path) -> bool:
    if (folder / "images").is_dir() and (folder / "masks").is_dir():
        return True
    files = list(folder.glob("*.npz"))
    if len(files) != 1:
        return False
    with np.load(files[0]) as arrays:
        return {"images", "masks"} <= set(arrays) or "train_images" in arrays


def read_problem(name: str, folder: Path, size: int) -> ImageProblem:
    """A data set, ready for training.

    PNG files are averaged down to ``size x size`` and split at random; an .npz with its own parts is averaged down by
    a whole factor, the longer side to `size` at least; an .npz of images with masks keeps its resolution, since thin
    structures do not survive less, is split by `names` (a last letter L or R belongs to the same person) and trained
    on crops.
    """
    if (folder / "images").is_dir():
        return _from_files(name, folder, size)
    with np.load(next(folder.glob("*.npz"))) as arrays:
        return (_from_parts if "train_images" in arrays else _from_groups)(name, arrays, size)


def _from_files(name: str, folder: Path, size: int) -> ImageProblem:
    found = sorted((folder / "images").glob("*.png"))
    bare = [path.name for path in found if not (folder / "masks" / path.name).is_file()]
    if bare:
        raise ValueError(f"{len(bare)} of {len(found)} images have no mask of the same name, first {bare[0]}")
    images = np.stack([_read(path, size) for path in found])[:, None]
    masks = np.stack([_read(folder / "masks" / path.name, size) for path in found]) > 127
    every = ImagePart(standard(images), masks.astype(np.int64))
    return ImageProblem(name, 1, *_split(name, every, [str(i) for i in range(len(found))]))


def _read(path: Path, size: int) -> Images:
    from PIL import Image

    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L").resize((size, size), Image.Resampling.BOX), dtype=np.float32)
    except OSError as error:
        raise ValueError(f"{path} cannot be read as an image ({error}); replace or remove it") from None


def _from_parts(name: str, arrays: Any, size: int) -> ImageProblem:
    """Labels from 0 on; the largest number is "no label" if the file has 11 classes and one more, as CamVid does."""
    parts, classes = [], int(arrays["train_labels"].max())
    for part in ("train", "val", "test"):
        images, labels = _channels_first(arrays[f"{part}_images"]), arrays[f"{part}_labels"].astype(np.int64)
        factor = max(max(labels.shape[1:]) // size, 1)
        n, channels, height, width = images.shape
        images = images.reshape(n, channels, height // factor, factor, width // factor, factor).mean((3, 5))
        labels = labels[:, ::factor, ::factor]
        parts.append(ImagePart(standard(images), np.where(labels == classes, NO_LABEL, labels)))
    train, validation, test = parts
    return ImageProblem(name, classes, train, validation, test)


def _from_groups(name: str, arrays: Any, size: int) -> ImageProblem:
    images, masks = _channels_first(arrays["images"]), arrays["masks"].astype(np.int64)
    names = arrays["names"] if "names" in arrays else np.arange(len(images)).astype(str)
    height, width = (4 * (side // 4) for side in masks.shape[1:])
    every = ImagePart(standard(images[..., :height, :width]), masks[:, :height, :width])
    parts = _split(name, every, [str(one).rstrip("LR") for one in names])
    return ImageProblem(name, 1, *parts, min(size, height, width))


def _channels_first(images: NDArray[Any]) -> Images:
    return np.moveaxis(images if images.ndim == 4 else images[..., None], -1, 1).astype(np.float32)


def standard(images: NDArray[Any]) -> Images:
    """Every channel of every image with mean 0 and variance 1."""
    centred = images - images.mean((2, 3), keepdims=True)
    return np.asarray(centred / (images.std((2, 3), keepdims=True) + 1e-6), dtype=np.float32)


def _split(name: str, every: ImagePart, groups: Sequence[str]) -> tuple[ImagePart, ImagePart, ImagePart]:
    """60 % of the groups to train on, 15 % to choose with, the rest to report on, in random order."""
    names, place = np.unique(np.array(groups), return_inverse=True)
    if len(names) < 5:
        raise ValueError(f"{name} has {len(names)} groups of images; at least 5 are needed for three parts")
    ends = round(0.6 * len(names)), round(0.75 * len(names))
    chosen = [np.isin(place, part) for part in np.split(np.random.default_rng(0).permutation(len(names)), ends)]
    train, validation, test = (ImagePart(every.images[part], every.labels[part]) for part in chosen)
    return train, validation, test


def components(mask: Labels) -> tuple[Labels, Labels]:
    """The number of the connected component of every pixel, 0 for background, and the areas by number."""
    numbers, _ = label(mask)
    return numbers, np.bincount(numbers.ravel())


def areas_of_objects(part: ImagePart) -> Labels:
    """The areas of all connected components of the masks."""
    return np.concatenate([components(mask)[1][1:] for mask in part.labels])


# ---------------------------------------------------------------- generated images


def generated(kind: str, size: int = 48, parts: tuple[int, int, int] = PARTS, seed: int = 0) -> ImageProblem:
    """A problem of one of the `KINDS`; the same seed draws the same images."""
    rng, draw = np.random.default_rng(seed), KINDS[kind]
    made = [draw(size, rng) for _ in range(sum(parts))]
    images = standard(np.stack([image for image, _ in made])[:, None].astype(np.float32))
    labels = np.stack([mask for _, mask in made]).astype(np.int64)
    ends = np.cumsum(parts)[:2]
    train, validation, test = map(ImagePart, np.split(images, ends), np.split(labels, ends))
    return ImageProblem(kind, CLASSES if kind == "classes" else 1, train, validation, test)


def _ellipses(size: int, rng: np.random.Generator) -> Drawn:
    """Bright ellipses of many sizes, dim ones among them."""
    light, mask = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
    for _ in range(rng.integers(1, 25)):
        inside = _ellipse(size, rng, 0.02, 0.09)
        light += rng.uniform(0.15, 0.8) * np.exp(-(inside**2))
        mask |= inside < 1
    return _seen(light, rng, 0.15), mask.astype(np.int64)


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


def _ellipse(size: int, rng: np.random.Generator, shortest: float, longest: float) -> NDArray[np.float64]:
    """Less than 1 inside of an ellipse with such half axes, in sides of the image."""
    y, x = np.mgrid[:size, :size] / size
    centre, radii, turn = rng.uniform(size=2), rng.uniform(shortest, longest, 2), rng.uniform(0, np.pi)
    along = (x - centre[0]) * np.cos(turn) + (y - centre[1]) * np.sin(turn)
    across = (y - centre[1]) * np.cos(turn) - (x - centre[0]) * np.sin(turn)
    return np.asarray((along / radii[0]) ** 2 + (across / radii[1]) ** 2)


def _seen(light: NDArray[np.float64], rng: np.random.Generator, noise: float) -> NDArray[np.float64]:
    """Under uneven light, with noise."""
    y, x = np.mgrid[: len(light), : len(light)] / len(light)
    slope = rng.uniform(-0.3, 0.3, 2)
    return np.asarray(light + slope[0] * x + slope[1] * y + rng.normal(0, noise, light.shape))


KINDS: dict[str, Callable[[int, np.random.Generator], Drawn]] = {
    "ellipses": _ellipses,
    "lesions": _lesions,
    "classes": _classes,
}
