"""The elements of a `Problem` (labels or frames, in bags) from checked labels; features checked and scaled.

scikit-learn is imported where it is needed only: workers of Dask import this module.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setloss.arguments import refuse_masked
from setloss.bags import Bags
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem
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


@dataclass(frozen=True, eq=False)
class Elements:
    """Truth of every element, row of X of every frame or label set, and the weight of every bag.

    `tasks` has the label of every element of label sets, and is empty where all have all labels.
    """

    truth: NDArray[np.bool_]
    bags: Bags
    rows: NDArray[np.int64]
    weights: Array
    n_tasks: int = 1
    tasks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def row_weights(self, rows: int) -> Array:
        """The weight of the bag of each row of X; 0 for rows of no bag."""
        weights = np.zeros(rows)
        frames = len(self.rows) == self.bags.elements
        weights[self.rows] = np.repeat(self.weights, self.bags.sizes) if frames else self.weights
        return weights

    def problem(
        self, X: Any, constant: float, loss: Loss, operator: str | Operator, scale: float, C: float
    ) -> Problem:
        """The training problem of these elements."""
        return Problem(
            Design.of(X, constant),
            batch_surrogate(loss, self.truth, self.bags, operator, scale),
            np.where(self.truth, np.int8(1), np.int8(-1)),
            self.rows,
            C * self.weights,
            self.n_tasks,
            self.tasks,
        )


def elements_of_frames(positive: NDArray[np.bool_], groups: NDArray[Any] | None, weights: Array) -> Elements:
    """Frames in bags by group or each its own; bags weigh as much as their frames on average, without those of 0.

    A frame of weight 0 in a bag that has a weight belongs to it as in scores: it counts in the loss and in the mean.
    """
    bags = Bags.from_offsets(np.arange(len(weights) + 1)) if groups is None else Bags.from_groups(groups)
    means = bags.means(weights)
    used = means > 0
    rows = bags.gather(np.arange(len(weights), dtype=np.int64))[np.repeat(used, bags.sizes)]
    kept = Bags.from_offsets(np.concatenate(([0], np.cumsum(bags.sizes[used]))))
    return Elements(positive[rows], kept, rows, means[used])


def elements_of_labels(positive: NDArray[np.bool_], known: NDArray[np.bool_], weights: Array) -> Elements:
    """The known labels of every example that has any and a positive weight."""
    n, p = positive.shape
    sizes = known.sum(axis=1) * (weights > 0)
    used = np.flatnonzero(sizes).astype(np.int64, copy=False)
    bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(sizes[used]))))
    whole = len(used) == n
    if np.all(sizes[used] == p):
        truth = (positive if whole else positive[used]).ravel()
        return Elements(truth, bags, used, weights[used], p)
    places, tasks = np.nonzero(known[used])
    truth = positive[used][places, tasks]
    return Elements(truth, bags, used, weights[used], p, tasks.astype(np.int64, copy=False))


# -------------------------------------------------------------------- features


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


def checked_features(model: Any, X: Any, *, reset: bool) -> Any:
    """X as numbers, dense or CSR; a column of text or of dates is named in the error."""
    from sklearn.utils.validation import validate_data

    refuse_masked(X, "X")
    refuse_dates(X)
    if issparse(X) and X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X is a sparse matrix of complex numbers")
    try:
        return validate_data(model, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
    except (ValueError, TypeError) as error:
        refuse_text(X, error)
        raise


def refuse_dates(X: Any) -> None:
    """Raise for dates and durations, which NumPy would take as numbers of days or of nanoseconds."""
    some: list[tuple[str, Any]] = []
    if hasattr(X, "columns"):
        some = [(repr(name), X[name][:1]) for name in X.columns]
    elif isinstance(X, np.ndarray) or (isinstance(X, list) and X):
        some = [("0", X if isinstance(X, np.ndarray) else X[0])]
    for name, cells in some:
        if np.asarray(cells).dtype.kind in "mM":
            raise ValueError(
                f"could not convert column {name} of X to numbers: it holds dates or times. Leave it out, or make "
                "numbers of it, such as the days since the first."
            )


def refuse_text(X: Any, error: Exception) -> None:
    """Raise for a column of text, if that is what a failure to make numbers of X came from."""
    if not any(words in str(error) for words in ("could not convert", "could not be promoted")):
        return
    refuse_dates(X)
    named = hasattr(X, "columns")
    table = X if named else np.asarray(X, dtype=object)
    for name in X.columns if named else range(table.shape[1]):
        cells = table[name] if named else table[:, name]
        text = next((cell for cell in cells if isinstance(cell, str)), None)
        if text is not None:
            raise ValueError(
                f"could not convert column {name!r} of X to numbers: it holds text ({text!r}). Leave it out, or "
                "encode it: make_pipeline(setloss.io.TableEncoder(), ...), or sklearn.preprocessing.OneHotEncoder."
            ) from error
