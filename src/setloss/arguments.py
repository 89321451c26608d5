"""Checks of arguments: numbers of the right kind, and labels in {0, 1}, {-1, +1} or bool."""

from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def is_number_within(value: object, low: float, high: float = inf) -> bool:
    """Whether it is a finite number from `low` to `high`, of Python or NumPy, and no bool."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return low <= float(value) <= high and float(value) < inf


def is_whole_number(value: object, low: int, high: float = inf) -> bool:
    """Whether it is a whole number from `low` to `high`, of Python or NumPy."""
    return isinstance(value, Integral) and low <= int(value) <= high


def is_missing(value: object) -> bool:
    """Whether it is None, pandas' NA, or NaN or NaT, the values that differ from themselves."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124


def refuse_masked(values: object, name: str) -> None:
    """Raise for a masked array with masked values: NumPy and scikit-learn would use what lies under the mask."""
    if np.ma.is_masked(values):
        hidden = int(np.ma.count_masked(values))  # type: ignore[no-untyped-call]
        raise ValueError(
            f"{name} is a masked array with {hidden} masked values, which would be used as if they were not masked. "
            f"Leave those rows out, or fill them: {name}.filled(...)."
        )


def is_texts(values: Any) -> bool:
    """Whether values are texts, one for each example, in a list, a Series or an array (n,)."""
    cells: Any = values if isinstance(values, list | tuple) else ()
    if getattr(values, "ndim", 0) == 1 and not hasattr(values, "toarray"):
        array = np.asarray(values)
        cells = array if array.dtype.kind in "OUT" else ()
    return any(isinstance(cell, str) for cell in cells)


def as_labels(labels: ArrayLike, name: str = "y", ndim: tuple[int, ...] = (1, 2)) -> NDArray[np.bool_]:
    """The positive labels as a boolean array; anything but {0, 1}, {-1, +1} or bool is refused."""
    if hasattr(labels, "toarray"):
        raise ValueError(f"{name} is a sparse matrix; pass {name}.toarray()")
    refuse_masked(labels, name)
    try:
        array: NDArray[Any] = np.asarray(labels)
    except ValueError:
        raise ValueError(f"{name} is ragged; flatten it and name the bags with groups=") from None
    if array.ndim not in ndim:
        raise ValueError(f"{name} must have {' or '.join(map(str, ndim))} axes; got shape {array.shape}")
    if array.dtype == bool:
        return array
    if not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
        raise ValueError(f"{name} must hold labels in {{0, 1}}, {{-1, +1}} or bool; got dtype {array.dtype}")
    positive: NDArray[np.bool_] = np.equal(array, 1)
    other = array[~positive]
    if not (np.all(other == 0) or np.all(other == -1)):
        strange = other[(other != 0) & (other != -1)]
        found = f"the value {strange[0]}" if strange.size else "both 0 and -1"
        raise ValueError(f"{name} must hold labels in {{0, 1}}, {{-1, +1}} or bool; it contains {found}")
    return positive
