"""Labels as people have them, arrays, lists, tables, with 0 and 1 or -1 and +1, as booleans with gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from setloss.arguments import is_missing
from setloss.estimators.elements import two_classes


@dataclass(frozen=True)
class LabelMatrix:
    """Which labels are positive and which are known, (n, p); the two classes; the names of the columns if any."""

    positive: NDArray[np.bool_]
    known: NDArray[np.bool_]
    classes: NDArray[Any]
    names: NDArray[np.object_] | None = None
    flat: bool = False
    """Whether they came as one column (n,) of two classes."""

    def rows(self, kept: NDArray[np.intp]) -> LabelMatrix:
        """Some of the examples."""
        return replace(self, positive=self.positive[kept], known=self.known[kept])

    @property
    def single(self) -> bool:
        """Whether there is one label, known of every example."""
        return self.positive.shape[1] == 1 and bool(self.known.all())

    @property
    def has_both(self) -> bool:
        """Whether some known labels are positive and some are not."""
        return bool(np.any(self.positive & self.known) and np.any(self.known & ~self.positive))

    @property
    def numbers(self) -> NDArray[Any]:
        """0, 1 and, where a label is missing, NaN."""
        return self.positive.astype(np.int8) if self.known.all() else np.where(self.known, self.positive, np.nan)


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


def labels_of(y: Any, who: str) -> LabelMatrix:
    """Label sets (n, p), see `label_matrix`, or one column of two classes of any type."""
    if y is None:
        raise ValueError(f"This {who} estimator requires y to be passed, but the target y is None.")
    array = as_array(y)
    flat = array.ndim == 1
    missing = array.dtype.kind == "f" and bool(np.any(np.isnan(array)))
    if flat or (array.shape[1:] == (1,) and not missing):
        column = check_array(array, ensure_2d=False, dtype=None, input_name="y").ravel()
        classes, positive = two_classes(column)
        known = np.ones((len(positive), 1), dtype=bool)
        return LabelMatrix(positive[:, None], known, classes, None if flat else label_names(y), flat)
    check_array(array, dtype=None, ensure_all_finite="allow-nan", input_name="y")
    return label_matrix(y)


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


def known_truth(
    y: Any, classes: NDArray[Any], names: NDArray[np.object_] | None, shape: tuple[int, ...]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Labels (n, p) to judge predictions of that shape by: which are positive, and which are known."""
    check_names(names, y)
    array = as_array(y)
    array = array[:, None] if array.ndim == 1 else array
    if array.shape != shape:
        raise ValueError(f"y has shape {array.shape}; the model gives labels of shape {shape}")
    known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, dtype=bool)
    strange = array[known][~np.isin(array[known], classes)]
    if len(strange):
        raise ValueError(f"y contains {strange[0]!r}; the classes of the model are {classes.tolist()}")
    return known & (array == classes[1]), known


def check_names(names: NDArray[np.object_] | None, y: Any) -> None:
    """Refuse a table of labels whose columns are not those of the model, in their order."""
    given = label_names(y)
    if names is not None and given is not None and given.tolist() != names.tolist():
        raise ValueError(
            f"the columns of y are {given.tolist()[:8]}, the labels of the model {names.tolist()[:8]}; "
            "pass y[model.label_names_]"
        )
