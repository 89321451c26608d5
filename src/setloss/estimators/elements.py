"""Elements of a training problem: the truth of each, its row of X, and the set that it belongs to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem
from setloss.typing import Array


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


def elements_of_groups(positive: NDArray[np.bool_], bags: Bags, weights: Array) -> Elements:
    """Elements in the sets of positive weight, which is the mean weight of the elements of each.

    An element of weight 0 in a set that has a weight belongs to it as in scores: it counts in the loss and the mean.
    """
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
