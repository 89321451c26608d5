"""Features and weights checked before training: numbers, of scales that the regulariser can compare."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from setloss.arguments import refuse_masked
from setloss.typing import Array

WIDE_RANGE = 1e3
"""Columns whose scales differ by this factor are worth a warning."""

MAX_COST = 1e15
"""Largest sum over the rows of ``C weight |x|^2``, the weight of the data against that of the regulariser. Beyond it
the sum of both, as a double, is that of the data alone: matrices are singular and methods stall."""

MIN_COST = 1e-290
"""Smallest such sum but 0. Doubles below it lose digits, and their reciprocals overflow."""

ROWS_AT_ONCE = 4096
"""Rows of a dense X that column scales are computed from at a time."""


def check_cost(cost: float, who: str) -> None:
    """Refuse data that doubles cannot weigh against the regulariser."""
    if not (cost == 0 or MIN_COST <= cost <= MAX_COST):
        raise ValueError(
            f"{who}: C times weight times squared norm, summed over the rows of X, is {cost:.1e}; {MIN_COST:g} to "
            f"{MAX_COST:g} is possible in double precision: scale the features, make_pipeline(StandardScaler(), "
            f"{who}(...)), or change C or the weights."
        )


class FeatureScaleWarning(UserWarning):
    """Columns of X differ by orders of magnitude, and the regulariser takes them as equal."""


def column_scales(X: Any) -> Array:
    """The standard deviation of every column; in sparse data the root mean square of what is stored."""
    if issparse(X):
        stored = np.bincount(X.indices, minlength=X.shape[1])
        totals = np.bincount(X.indices, np.square(X.data, dtype=np.float64), minlength=X.shape[1])
        return np.sqrt(totals / np.maximum(stored, 1))
    mean, squares = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
    for start in range(0, len(X), ROWS_AT_ONCE):
        squares += np.square(X[start : start + ROWS_AT_ONCE] - mean, dtype=np.float64).sum(axis=0)
    return np.sqrt(squares / max(len(X), 1))


def warn_of_scales(X: Any, who: str, names: Any = None) -> None:
    """Say at once that columns differ by orders of magnitude; columns that are constant do not count."""
    scales = column_scales(X)
    largest = float(scales.max(initial=0.0))
    used = np.flatnonzero(scales > 1e-9 * largest)
    if used.size < 2:
        return
    least = used[int(np.argmin(scales[used]))]
    if largest > WIDE_RANGE * scales[least]:
        wide, narrow = (j if names is None else repr(names[j]) for j in (int(np.argmax(scales)), int(least)))
        warnings.warn(
            f"{who}: the features differ by orders of magnitude (column {wide} varies by {largest:.1e}, column "
            f"{narrow} by {scales[least]:.1e}), and those of small scale are hardly used. Train "
            f"make_pipeline(StandardScaler(), {who}(...)) of scikit-learn instead (MaxAbsScaler for sparse data).",
            FeatureScaleWarning,
            stacklevel=4,
        )


def checked_features(model: Any, X: Any, *, reset: bool, **checks: Any) -> Any:
    """X as numbers, dense or CSR, by the `checks` of scikit-learn; columns of text or dates are named in errors."""
    refuse_masked(X, "X")
    refuse_dates(X)
    if issparse(X) and X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X is a sparse matrix of complex numbers")
    try:
        form: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}
        return validate_data(model, X, reset=reset, **form, **checks)
    except (ValueError, TypeError) as error:
        refuse_text(X, error)
        raise


def checked_weights(sample_weight: Any, X: Any) -> Array:
    """The weight of every row of X, 1 without weights; negative, missing and too few ones are refused."""
    refuse_masked(sample_weight, "sample_weight")
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row; at least one must be non-zero")
    return np.asarray(weights)


def refuse_dates(X: Any) -> None:
    """Raise for dates and durations, which NumPy would take as numbers of days or of nanoseconds."""
    columns = {name: X[name][:1] for name in X.columns} if hasattr(X, "columns") else {}
    if isinstance(X, np.ndarray):
        columns = {0: X}
    for name, cells in columns.items():
        if np.asarray(cells).dtype.kind in "mM":
            raise ValueError(
                f"could not convert column {name!r} of X to numbers: it holds dates or times. Leave it out, or make "
                "numbers of it, such as the days since the first."
            )


def refuse_text(X: Any, error: Exception) -> None:
    """Raise for a column of text, if that is what a failure to make numbers of X came from."""
    if not any(words in str(error) for words in ("could not convert", "could not be promoted")):
        return
    refuse_dates(X)
    named = hasattr(X, "columns")
    table = X if named else np.asarray(X, dtype=object).reshape(len(X), -1)
    for name in X.columns if named else range(table.shape[1]):
        cells = table[name] if named else table[:, name]
        text = next((cell for cell in cells if isinstance(cell, str)), None)
        if text is not None:
            raise ValueError(
                f"could not convert column {name!r} of X to numbers: it holds text ({text!r}). Leave it out, or "
                "encode it: make_pipeline(setloss.io.TableEncoder(), ...), or sklearn.preprocessing.OneHotEncoder."
            ) from error
