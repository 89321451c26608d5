"""Whether an argument is a number of the right kind, whatever its annotation says: users pass anything."""

from __future__ import annotations

from math import inf
from numbers import Integral, Real


def is_positive_number(value: object) -> bool:
    """Whether it is a finite number above 0, of Python or NumPy."""
    return isinstance(value, Real) and 0 < float(value) < inf


def is_whole_number(value: object, low: int, high: float = inf) -> bool:
    """Whether it is a whole number from `low` to `high`, of Python or NumPy."""
    return isinstance(value, Integral) and low <= int(value) <= high


def is_missing(value: object) -> bool:
    """Whether it is None, NaN, the one value that differs from itself, or pandas' NA, which does not say."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124
