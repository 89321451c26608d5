"""Labels as users have them (arrays, lists, tables, sparse matrices; 0 and 1, -1 and +1, two names) as booleans."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_array

from setloss.arguments import is_missing, refuse_masked
from setloss.typing import Flags

SEVERAL_IN_A_CELL = (
    "Where a cell holds several names or none, y.replace('', None).str.get_dummies(';') makes labels of a Series."
)


@dataclass(frozen=True, eq=False)
class Labels:
    """What a model remembers of y: its two classes, the names of its columns if any and their number.

    `flat` is whether y was (n,), and `grouped` whether groups named its sets.
    """

    classes: NDArray[Any]
    names: NDArray[np.object_] | None
    width: int
    flat: bool = False
    grouped: bool = False

    def set_attributes(self, model: Any) -> None:
        """Let a model remember them; it has no `label_names_` where y was no table."""
        model.classes_, model._labels = self.classes, self
        vars(model).pop("label_names_", None)
        if self.names is not None:
            model.label_names_ = self.names

    def truth(self, y: Any, rows: int) -> tuple[Flags, Flags]:
        """Labels (n, p) to judge predictions by: which are positive, and which are known."""
        check_columns(y, self.names, "y", "the model, its label_names_,", same=True)
        array = as_array(y)
        array = array[:, None] if array.ndim == 1 else array
        if array.shape != (rows, self.width):
            raise ValueError(f"y has shape {array.shape}; the model gives labels of shape {(rows, self.width)}")
        known = _known(array)
        positive = array == self.classes[1]
        other = array[known & ~positive & (array != self.classes[0])][:1].tolist()
        if other:
            raise ValueError(f"y contains {other[0]!r}; the classes of the model are {self.classes.tolist()}")
        return positive, known

    def in_form(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (n, p) in the form of y."""
        return values[:, 0] if self.flat else values

    def write(self, chosen: Flags) -> NDArray[Any]:
        """Chosen elements (n, p) in the form and the alphabet of y."""
        return np.asarray(self.in_form(self.classes[chosen.astype(np.intp)]))


@dataclass(frozen=True, eq=False)
class LabelMatrix:
    """Which labels are positive and which are known, (n, p), and what a model remembers of them."""

    positive: Flags
    known: Flags
    labels: Labels

    def part(self, rows: Any, columns: Any = slice(None)) -> Self:
        """Some of the rows and columns."""
        return replace(self, positive=self.positive[rows][:, columns], known=self.known[rows][:, columns])

    @property
    def numbers(self) -> NDArray[Any]:
        """0 and 1 as int32; floats with NaN if some label is missing."""
        return self.positive.astype(np.int32) if self.known.all() else np.where(self.known, self.positive, np.nan)


# -------------------------------------------------------------------- reading


def labels_of(y: Any, who: str) -> LabelMatrix:
    """Labels (n, p) in {0, 1}, {-1, +1} or bool, NaN, None or NA where missing; or one column of any two classes."""
    if y is None:
        raise ValueError(f"This {who} estimator requires y to be passed, but the target y is None.")
    array = check_array(as_array(y), ensure_2d=False, dtype=None, ensure_all_finite="allow-nan", input_name="y")
    flat, known = array.ndim == 1, _known(array)
    if flat or (array.shape[1] == 1 and known.all()):
        classes, positive = two_classes(array.ravel())
        known = np.ones((len(positive), 1), dtype=bool)
        return LabelMatrix(positive[:, None], known, Labels(classes, None if flat else label_names(y), 1, flat))
    positive, classes = _matrix(array, known)
    return LabelMatrix(positive, known, Labels(classes, label_names(y), array.shape[1]))


def as_array(y: Any) -> NDArray[Any]:
    """Labels as a NumPy array; nullable columns become floats with NaN, objects that are numbers become floats."""
    refuse_masked(y, "y")
    try:
        array = _of_sparse(y) if issparse(y) else np.asarray(y)
    except ValueError:
        array = np.empty(len(y), dtype=object)
        array[:] = list(y)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers; labels are 0 and 1, or two names")
    if array.dtype == object and array.size and isinstance(array.flat[0], list | tuple | set | np.ndarray):
        raise ValueError(
            "y holds lists or sets. If they are the labels of each example, make a matrix of them: "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
        )
    return _numbers(array) if array.dtype == object and array.ndim == 2 else array


def _of_sparse(y: Any) -> NDArray[Any]:
    """A sparse matrix as an array, of one byte each if it holds nothing but -1, 0 and 1."""
    rows = csr_array(y)
    small = rows.dtype.kind in "biuf" and bool(np.isin(rows.data, (-1, 0, 1)).all())
    return np.asarray((rows.astype(np.int8) if small else rows).toarray())


def _numbers(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix of objects as floats, missing ones as NaN; unchanged if one is no number."""
    cells = [np.nan if is_missing(value) else value for value in array.ravel().tolist()]
    if not all(isinstance(value, int | float | np.number | np.bool_) for value in cells):
        return array
    return np.array(cells, dtype=np.float64).reshape(array.shape)


def _matrix(array: NDArray[Any], known: Flags) -> tuple[Flags, NDArray[Any]]:
    """Which labels are positive, and the classes, 0 and 1 or -1 and 1; the known ones are not all the same."""
    if array.dtype.kind not in "biuf":
        values = (value for value in array.ravel().tolist() if not isinstance(value, int | float))
        odd = next((value for value in values if not is_missing(value)), array.dtype)
        raise ValueError(
            f"Unknown label type: y holds {odd!r}, not 0 and 1. For columns of two words compare with one of them, "
            "(y == 'yes').astype(int); for columns of several use pandas.get_dummies(y), for lists of names "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
        )
    positive = array == 1
    others = array[known & ~positive & (array != 0)]
    strange = others[others != -1] if array.dtype.kind in "if" else others
    if strange.size or (others.size and np.any(array == 0)):
        found = f"{strange[0]:g}" if strange.size else "both 0 and -1"
        raise ValueError(
            "Unknown label type: y must hold 0 and 1, or -1 and +1 (NaN where a label is missing); it contains "
            f"{found}. Missing labels are NaN, not a number; counts and grades become labels by y > threshold."
        )
    if not positive.any() or not np.any(known & ~positive):
        raise ValueError("y has only one class: all known labels are equal; training needs both")
    return positive, np.array([-1 if others.size else 0, 1], dtype=np.int64)


def _known(array: NDArray[Any]) -> Flags:
    """Which labels are not NaN; without memory of its own where none can be."""
    return ~np.isnan(array) if array.dtype.kind == "f" else np.broadcast_to(np.bool_(True), array.shape)


def two_classes(y: NDArray[Any]) -> tuple[NDArray[Any], Flags]:
    """The two classes of a label vector, in sorted order, and which labels are the second, the positive one.

    Whole numbers become int64: scikit-learn counts columns in the type of y, and int8 ends at 127.
    """
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError(f"y contains NaN or inf at place {int(np.argmin(np.isfinite(y)))}; leave those rows out")
    if y.dtype == object and any(is_missing(label) for label in y.tolist()):
        raise ValueError(f"y has missing labels: leave out rows whose label is not known. {SEVERAL_IN_A_CELL}")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y must hold labels of one kind, all numbers or all strings") from None
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: a label is right or wrong. Unknown label type: y has "
            f"{len(classes)} classes ({', '.join(map(str, classes[:5]))}...). A label for each of them: "
            f"pandas.get_dummies(y). {SEVERAL_IN_A_CELL}"
        )
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]}; training needs examples of both")
    whole = classes.dtype.kind == "i" or (classes.dtype.kind == "u" and classes[-1] < 2**63)
    return classes.astype(np.int64) if whole else classes, codes.ravel() == 1


# -------------------------------------------------------------------- names of rows and columns


def check_rows(X: Any, y: Any) -> None:
    """Refuse tables with the same row names in another order: scikit-learn goes by places."""
    first: Any = getattr(X, "index", None)
    second: Any = getattr(y, "index", None)
    if not hasattr(first, "equals") or not hasattr(second, "equals") or first.equals(second):
        return
    if len(first) == len(second) and first.is_unique and set(first) == set(second):
        raise ValueError("X and y have the same index in another order; reorder the labels: y.loc[X.index]")


def label_names(y: Any) -> NDArray[np.object_] | None:
    """The column names of a table of labels, if they are text."""
    columns = getattr(y, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    if "" in columns:
        raise ValueError("a label has no name, as pandas.get_dummies makes one of empty cells: y.drop(columns='')")
    return np.array(list(columns), dtype=object)


def check_columns(table: Any, names: NDArray[np.object_] | None, what: str, of: str, *, same: bool = False) -> None:
    """Refuse a table whose columns have these names in another order; if they must be the `same`, other names too."""
    given = label_names(table)
    if given is None or names is None or given.tolist() == names.tolist():
        return
    if same or sorted(given) == sorted(names):
        here, there = (f"{some.tolist()[:8]}{'' if len(some) <= 8 else ' ...'}" for some in (given, names))
        raise ValueError(
            f"the columns of {what} are {here}, those of {of} {there}: other labels, or the same in another order; "
            f"reorder them: {what}[{there}]"
        )
