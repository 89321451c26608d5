"""Images with masks from a folder: PNG files, or an .npz of arrays; split into parts before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.float32]
Labels = NDArray[np.int64]

FEWEST_IMAGES = 10
"""Fewer than this cannot be split into three parts."""

NO_LABEL = -1
"""What pixels without a label are given as."""


class ImageError(ValueError):
    """What is wrong with the images and what to do, in one sentence."""


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


Parts = tuple[ImagePart, ImagePart, ImagePart]


def find_problems(folder: Path, size: int) -> dict[str, Path]:
    """The data sets in a folder by name: the folder itself, or those of its subfolders that hold one."""
    if not folder.is_dir():
        raise ImageError(f"there is no folder {folder}")
    check_size(size)
    places = [place for place in (folder, *sorted(folder.iterdir())) if place.is_dir() and _holds_images(place)]
    if not places:
        raise ImageError(
            f"{folder} holds no images/*.png with masks/*.png, no .npz with images and masks, and no .npz with "
            "train_images, train_labels, val_images, ..., test_labels; nor do its subfolders"
        )
    return {place.resolve().name: place for place in places}


def check_size(size: int) -> None:
    """The network halves its input twice."""
    if size < 8 or size % 4:
        raise ImageError(f"the side of images is a multiple of 4 from 8 on; got {size}")


def read_problem(name: str, folder: Path, size: int, split: int | None = None) -> ImageProblem:
    """A data set, ready for training; with the seed of a `split`, of the images that are not for testing alone.

    PNG files are averaged down to ``size x size`` and split at random; an .npz with its own parts is averaged down by
    a whole factor until no side is longer; an .npz of images with masks keeps its resolution, since thin structures
    do not survive less, is split by `names` (a last letter L or R belongs to the same person) and trained on crops.
    """
    if (folder / "images").is_dir():
        return _from_files(name, folder, size, split)
    with np.load(_archive(folder)) as arrays:
        if "train_images" in arrays:
            return _from_parts(name, arrays, size, split)
        return _from_groups(name, arrays, size, split)


def _holds_images(folder: Path) -> bool:
    if (folder / "images").is_dir() and (folder / "masks").is_dir():
        return True
    files = list(folder.glob("*.npz"))
    if len(files) != 1:
        return False
    with np.load(files[0]) as arrays:
        return {"images", "masks"} <= set(arrays) or "train_images" in arrays


def _archive(folder: Path) -> Path:
    return next(folder.glob("*.npz"))


def _from_files(name: str, folder: Path, size: int, split: int | None) -> ImageProblem:
    found = sorted((folder / "images").glob("*.png"))
    _check_number(len(found), folder / "images")
    bare = [path.name for path in found if not (folder / "masks" / path.name).is_file()]
    if bare:
        raise ImageError(
            f"{len(bare)} of {len(found)} images have no mask of the same name in masks/, first {bare[0]}"
        )
    images = np.stack([_read(path, size) for path in found])[:, None]
    masks = np.stack([_read(folder / "masks" / path.name, size) for path in found]) > 127
    every = ImagePart(standard(images), masks.astype(np.int64))
    return ImageProblem(name, 1, *_split(name, every, [str(i) for i in range(len(found))], split))


def _read(path: Path, size: int) -> Images:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L").resize((size, size), Image.Resampling.BOX), dtype=np.float32)
    except (OSError, UnidentifiedImageError) as error:
        raise ImageError(f"{path} cannot be read as an image ({error}); replace or remove it") from None


def _from_parts(name: str, arrays: Any, size: int, split: int | None) -> ImageProblem:
    """Labels from 0 on; the largest number is "no label" if the file has 11 classes and one more, as CamVid does."""
    parts, classes = [], int(arrays["train_labels"].max())
    for part in ("train", "val", "test"):
        images, labels = _channels_first(arrays[f"{part}_images"]), arrays[f"{part}_labels"].astype(np.int64)
        factor = -(-max(labels.shape[1:]) // size)
        images, labels = _shrunk(images, factor), labels[:, ::factor, ::factor]
        parts.append(ImagePart(standard(images), np.where(labels == classes, NO_LABEL, labels)))
    if split is not None:
        first, second = parts[:2]
        seen = ImagePart(np.append(first.images, second.images, 0), np.append(first.labels, second.labels, 0))
        order = np.random.default_rng(split).permutation(len(seen))
        return ImageProblem(name, classes, *_shared_out(name, seen, order, np.arange(len(seen))))
    train, validation, test = parts
    return ImageProblem(name, classes, train, validation, test)


def _from_groups(name: str, arrays: Any, size: int, split: int | None) -> ImageProblem:
    images, masks = _channels_first(arrays["images"]), arrays["masks"].astype(np.int64)
    _check_number(len(images), Path(name))
    names = arrays["names"] if "names" in arrays else np.arange(len(images)).astype(str)
    height, width = (4 * (side // 4) for side in masks.shape[1:])
    images, masks = images[..., :height, :width], masks[:, :height, :width]
    parts = _split(name, ImagePart(standard(images), masks), [str(one).rstrip("LR") for one in names], split)
    return ImageProblem(name, 1, *parts, min(size, height, width))


def _check_number(n: int, place: Path, what: str = "images", fewest: int = FEWEST_IMAGES) -> None:
    if n < fewest:
        raise ImageError(f"{place} has {n} {what}; at least {fewest} are needed for three parts")


def _channels_first(images: NDArray[Any]) -> Images:
    return np.moveaxis(images if images.ndim == 4 else images[..., None], -1, 1).astype(np.float32)


def _shrunk(images: Images, factor: int) -> Images:
    n, channels, height, width = images.shape
    blocks = images.reshape(n, channels, height // factor, factor, width // factor, factor)
    return np.asarray(blocks.mean((3, 5)), dtype=np.float32)


def standard(images: Images) -> Images:
    """Every channel of every image with mean 0 and variance 1."""
    centred = images - images.mean((2, 3), keepdims=True)
    return np.asarray(centred / (images.std((2, 3), keepdims=True) + 1e-6), dtype=np.float32)


def _split(name: str, every: ImagePart, groups: Sequence[str], split: int | None) -> Parts:
    """The three parts; with a `split`, the groups that are not for testing are shared out anew by that seed."""
    names, place = np.unique(np.array(groups), return_inverse=True)
    order = np.random.default_rng(0).permutation(len(names))
    if split is not None:
        order = np.random.default_rng(split).permutation(order[: _ends(len(order))[1]])
    return _shared_out(name, every, order, place)


def _shared_out(name: str, every: ImagePart, order: Labels, place: Labels) -> Parts:
    """The groups in this order: 60 % to train on, 15 % to choose with, the rest to report on."""
    _check_number(len(order), Path(name), "groups of images", 4)
    chosen = [np.isin(place, part) for part in np.split(order, _ends(len(order)))]
    train, validation, test = (ImagePart(every.images[part], every.labels[part]) for part in chosen)
    return train, validation, test


def _ends(n: int) -> tuple[int, int]:
    """Where training ends and where validation does."""
    first = round(0.6 * n)
    return first, max(round(0.75 * n), first + 1)
