"""What the readers return: label sets, tracks, features to predict on; and the one error they raise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


class DatasetError(ValueError):
    """A file that cannot be used; the message names the file and the place and says what to do, in one sentence."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Multi-label data: example i has the features ``X[i]`` and the label set ``{j : Y[i, j] = 1}``.

    `X` is a dense array or a CSR array (n, d), float32 or float64, all finite. `Y` is an int8 array (n, p) in
    {0, 1}; where labels are missing it is a float64 array with NaN in their place. `feature_names` is None where
    the file names no features.
    """

    X: Any = field(repr=False)
    Y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tracks:
    """Bags of frames: frame e has the features ``X[e]`` and the label ``y[e]``, and lies in the bag ``groups[e]``.

    `X` is as in `LabelSets`. `y` (N,) is an int8 array in {0, 1}, or of class numbers where the loader says so.
    `groups` (N,) holds integers or strings; the frames of a bag need not be adjacent.
    """

    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    groups: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Features:
    """Rows to predict on, without labels: the columns of `X` are those of the model, in its order.

    `groups` is None where the file names no bags. `unused` are columns of the file that the model does not know;
    `reordered` says whether its own stood in another order.
    """

    X: Any = field(repr=False)
    groups: NDArray[Any] | None = field(repr=False)
    feature_names: tuple[str, ...] | None
    unused: tuple[str, ...] = ()
    reordered: bool = False
