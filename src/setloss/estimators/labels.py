"""Label matrices as people have them, arrays, lists, tables, with 0 and 1 or -1 and +1, as booleans with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setloss.arguments import is_missing


@dataclass(frozen=True)
class LabelMatrix:
    """Which labels are positive and which are known, (n, p); the two classes; the names of the columns if any."""

    positive: NDArray[np.bool_]
    known: NDArray[np.bool_]
    classes: NDArray[Any]
    names: NDArray[np.object_] | None


def as_array(y: Any) -> NDArray[Any]:
    """Labels as a NumPy array; nullable columns become floats with NaN, objects that are numbers become floats."""
    if issparse(y):
        return np.asarray(y.toarray())
    try:
        array = np.asarray(y)
    except ValueError:
        array = np.empty(len(y), dtype=object)
        array[:] = list(y)
    if array.dtype == object and array.size and _is_nested(array.flat[0]):
        raise ValueError(
            "y holds lists of different lengths. If they are the labels of each example, make a matrix of them: "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
        )
    return _numbers(array) if array.dtype == object and array.ndim == 2 else array


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _numbers(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix of objects as floats, missing ones as NaN; as it is if one is no number."""
    numbers = np.full(array.shape, np.nan)
    for cell, value in np.ndenumerate(array):
        if is_missing(value):
            continue
        if not isinstance(value, int | float | np.number | np.bool_):
            return array
        numbers[cell] = value
    return numbers


def label_names(y: Any) -> NDArray[np.object_] | None:
    """The column names of a table of labels, if they are text."""
    columns = getattr(y, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def label_matrix(y: Any) -> LabelMatrix:
    """Labels (n, p) in {0, 1}, {-1, +1} or bool; NaN, None and pandas' NA are missing ones."""
    array = as_array(y)
    if array.ndim != 2:
        raise ValueError(f"y must be a matrix of labels, one column each; got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"Unknown label type: y holds {_example(array)}, not 0 and 1. For columns of two words compare with one "
            "of them, (y == 'yes').astype(int); for columns of several use pandas.get_dummies(y)."
        )
    known = ~np.isnan(array.astype(np.float64))
    values = np.unique(array[known])
    if not (np.all(np.isin(values, (0, 1))) or np.all(np.isin(values, (-1, 1)))):
        strange = values[~np.isin(values, (0, 1))]
        found = f"{strange[0]:g}" if not np.all(np.isin(values, (-1, 0, 1))) else "both 0 and -1"
        raise ValueError(
            "Unknown label type: y must hold 0 and 1, or -1 and +1 (NaN where a label is missing); it contains "
            f"{found}. Missing labels are NaN, not a number; counts and grades become labels by y > threshold."
        )
    positive = known & (array == 1)
    if not np.any(positive) or np.array_equal(positive, known):
        raise ValueError("y has only one class: all known labels are equal; training needs both")
    classes = np.array([-1, 1]) if np.any(values == -1) else np.array([0, 1])
    return LabelMatrix(positive, known, classes, label_names(y))


def _example(array: NDArray[Any]) -> str:
    """One value that is no label, in words."""
    if array.dtype.kind in "US":
        return f"text ({str(array.flat[0])!r})"
    odd = [value for value in array.ravel().tolist() if not isinstance(value, int | float) and not is_missing(value)]
    return f"{type(odd[0]).__name__} ({str(odd[0])[:40]!r})" if odd else str(array.dtype)


def check_names(names: NDArray[np.object_] | None, y: Any) -> None:
    """Refuse a table of labels whose columns are not those of the model, in their order."""
    given = label_names(y)
    if names is not None and given is not None and given.tolist() != names.tolist():
        raise ValueError(
            f"the columns of y are {given.tolist()[:8]}, the labels of the model {names.tolist()[:8]}; "
            "pass y[model.label_names_]"
        )
