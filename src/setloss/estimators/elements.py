"""The elements of all bags, one bag after the other: what the labels of an estimator become in a `Problem`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setloss.bags import Bags
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem
from setloss.typing import Array

MAX_FEATURE = 1e100
"""Larger features are refused: the squares of their sums are no longer finite."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Truth, row of X and task of every element, and the weight of every bag."""

    truth: NDArray[np.bool_]
    bags: Bags
    rows: NDArray[np.int64]
    tasks: NDArray[np.int64]
    weights: Array
    n_tasks: int = 1

    def row_weights(self, rows: int) -> Array:
        """The weight of the bag each row of X belongs to; 0 for rows of no bag."""
        weights = np.zeros(rows)
        weights[self.rows] = np.repeat(self.weights, self.bags.sizes)
        return weights

    def problem(
        self, X: Any, constant: float, loss: Loss, operator: str | Operator, scale: float, C: float
    ) -> Problem:
        """The training problem of these elements."""
        return Problem(
            Design.of(X, constant),
            batch_surrogate(loss, self.truth, self.bags, operator, scale),
            np.where(self.truth, 1.0, -1.0),
            self.rows,
            self.tasks,
            C * self.weights,
            self.n_tasks,
        )


def elements_of_frames(positive: NDArray[np.bool_], groups: NDArray[Any] | None, weights: Array) -> Elements:
    """Frames of positive weight, in bags by group or each its own; a bag weighs as much as its frames on average."""
    kept = np.flatnonzero(weights > 0)
    found = Bags.from_offsets(np.arange(len(kept) + 1)) if groups is None else Bags.from_groups(groups[kept])
    rows = kept if found.order is None else kept[found.order]
    bags = Bags(found.offsets)
    means = bags.totals(weights[rows]) / bags.sizes
    return Elements(positive[rows], bags, rows.astype(np.int64), np.zeros(len(rows), dtype=np.int64), means)


def elements_of_labels(positive: NDArray[np.bool_], known: NDArray[np.bool_], weights: Array) -> Elements:
    """The known labels of every example that has any and a positive weight."""
    used = np.flatnonzero(known.any(axis=1) & (weights > 0))
    rows, tasks = np.nonzero(known[used])
    offsets = np.concatenate(([0], np.cumsum(known[used].sum(axis=1))))
    truth = positive[used][rows, tasks]
    places = used[rows].astype(np.int64)
    return Elements(
        truth, Bags.from_offsets(offsets), places, tasks.astype(np.int64), weights[used], positive.shape[1]
    )


def squared_norms(X: Any) -> Array:
    """|x|^2 of every row, summed in double precision."""
    if issparse(X):
        return np.ravel(X.astype(np.float64).power(2).sum(axis=1)).astype(np.float64)
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def check_features(X: Any) -> None:
    """Refuse features whose inner products overflow."""
    values = X.data if issparse(X) else X
    least, most = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    largest = most if most >= -least else least
    if abs(largest) > MAX_FEATURE:
        raise ValueError(
            f"X has the value {largest:.3e}; features are taken up to {MAX_FEATURE:g}, beyond which their squares "
            "overflow, so scale the features first"
        )
