"""Crops of images with masks in which little or nothing is to be found: small objects, half of the crops empty.

Whole images rarely are empty, and defects or lesions rarely cover more than a few hundredths of an image. A loss that
is level on whole images can still settle for the empty answer here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from experiments.images.data import ImagePart, ImageProblem, areas_of_objects, components

SHARES = 0.003, 0.06
"""Least and largest share of a crop that its objects cover."""

CROPS = 200, 50, 150
"""Most crops with objects of each part; as many are empty."""


@dataclass(frozen=True)
class SmallObjects:
    """Reader of square crops of the images that `read` gives, in their own resolution.

    Objects are connected components of the masks of at most this `quantile` of the areas of the training part; larger
    ones are background, and look alike.
    """

    read: Callable[[], ImageProblem]
    name: str
    side: int
    quantile: float

    def __call__(self) -> ImageProblem:
        problem = self.read()
        if problem.classes > 1:
            raise ValueError(f"{self.name}: small objects are of masks; {problem.name} has classes")
        largest = np.quantile(areas_of_objects(problem.train), self.quantile)
        rng = np.random.default_rng(0)
        train, validation, test = (
            self._crops(_up_to(part, largest), number, rng)
            for part, number in zip((problem.train, problem.validation, problem.test), CROPS, strict=True)
        )
        return ImageProblem(self.name, 1, train, validation, test)

    def _crops(self, part: ImagePart, number: int, rng: np.random.Generator) -> ImagePart:
        """Equal numbers of crops with objects and without, in random order."""
        height, width = part.labels.shape[1:]
        corners = (range(0, size - self.side + 1, self.side // 4) for size in (height, width))
        places = rng.permutation(list(product(range(len(part)), *corners)))
        windows = [np.s_[i, ..., y : y + self.side, x : x + self.side] for i, y, x in places]
        shares = np.array([part.labels[window].mean() for window in windows])
        low, high = SHARES
        some, none = np.flatnonzero((shares >= low) & (shares <= high)), np.flatnonzero(shares == 0)
        pairs = min(len(some), len(none), number)
        if not pairs:
            raise ValueError(f"{self.name}: no square of {self.side} has small objects, or none is empty")
        chosen = [windows[i] for i in rng.permutation(np.concatenate([some[:pairs], none[:pairs]]))]
        images, labels = (np.stack([one[window] for window in chosen]) for one in (part.images, part.labels))
        return ImagePart(images, labels)


def _up_to(part: ImagePart, largest: float) -> ImagePart:
    """The part with the components of at most this area only."""
    kept = []
    for mask in part.labels:
        numbers, areas = components(mask)
        areas[0] = np.iinfo(areas.dtype).max
        kept.append((areas <= largest)[numbers].astype(np.int64))
    return replace(part, labels=np.stack(kept))
