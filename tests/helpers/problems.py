"""Small training problems together with the plain numbers they are made of, and their objective by definition."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from helpers.reference_operators import reference_operator
from setloss import Hamming, Loss, loss_named
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem

LOSSES = ("dice", "jaccard", "curve1", "curve2", "curve3", "curve4", "hamming")
SUBMODULAR = ("jaccard", "hamming")
NEGATIVE_F = ("curve3", "curve4")
OPERATORS = ("bd", "bd-monotone", "slack", "margin", "lovasz", "hinge")


def pairs():
    """(loss, operator) wherever the operator is defined."""
    for loss in LOSSES:
        for operator in OPERATORS:
            if operator == "lovasz" and loss not in SUBMODULAR:
                continue
            if operator == "bd-monotone" and loss in NEGATIVE_F:
                continue
            yield loss, operator


@dataclass(frozen=True)
class Case:
    """Bags of elements: element e of a bag has row rows[e] of X, task tasks[e] and label truth[e]."""

    X: np.ndarray
    truth: np.ndarray
    offsets: np.ndarray
    rows: np.ndarray
    tasks: np.ndarray
    costs: np.ndarray
    loss: Loss
    operator: str
    constant: float = 1.0
    scale: float = 2.0
    sparse: bool = False

    @property
    def problem(self):
        design = Design.of(csr_array(self.X) if self.sparse else self.X, self.constant)
        surrogate = batch_surrogate(self.loss, self.truth, self.offsets, self.operator, self.scale)
        signs = np.where(self.truth, 1.0, -1.0)
        tasks = int(self.tasks.max()) + 1
        rows = self.rows if tasks == 1 else self.rows[self.offsets[:-1]]
        return Problem(design, surrogate, signs, rows, self.costs, tasks, self.tasks if tasks > 1 else ())

    @property
    def matrix(self):
        """M with m(W) = M W.ravel(), dense, row by row."""
        wide = np.hstack([self.X.astype(np.float64), np.full((len(self.X), 1), self.constant)])
        out = np.zeros((len(self.truth), int(self.tasks.max()) + 1, wide.shape[1]))
        for e, (row, task) in enumerate(zip(self.rows, self.tasks, strict=True)):
            out[e, task] = (1.0 if self.truth[e] else -1.0) * wide[row]
        return out.reshape(len(self.truth), -1)

    def bags(self):
        for i, (lo, hi) in enumerate(pairwise(self.offsets)):
            yield self.costs[i], self.truth[lo:hi], slice(lo, hi)

    def objective(self, parameters):
        """P(W) from the definition, one reference operator per bag."""
        margins = self.matrix @ np.ravel(parameters)
        total = 0.5 * float(np.sum(np.square(parameters)))
        for cost, truth, here in self.bags():
            surrogate = reference_operator(self.loss, self.operator, truth, self.scale)
            total += cost * surrogate(margins[here])
        return total


def loss_of(name):
    return Hamming() if name == "hamming" else loss_named(name)


def tracks(
    loss="dice", operator="bd", *, sizes=(1, 2, 3, 4, 4, 3, 2, 4), d=4, seed=0, C=1.0, dtype=np.float64, **options
):
    """Bags of frames that share one w; every third bag is of one class."""
    generator = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X = generator.normal(size=(offsets[-1], d)).astype(dtype)
    truth = X @ generator.normal(size=d) + generator.normal(size=len(X)) > 0
    for i, (lo, hi) in enumerate(pairwise(offsets)):
        if i % 3 == 0:
            truth[lo:hi] = i % 2 == 0
    costs = C * generator.uniform(0.5, 2.0, size=len(sizes))
    rows = np.arange(len(X))
    return Case(X, truth, offsets, rows, np.zeros_like(rows), costs, _loss(loss), operator, **options)


def label_sets(loss="dice", operator="bd", *, n=8, p=3, d=3, seed=0, C=1.0, dtype=np.float64, missing=0.2, **options):
    """Examples with p labels, each with its own w; some labels are left out, the first example is all negative."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)).astype(dtype)
    truth = X @ generator.normal(size=(d, p)) + generator.normal(size=(n, p)) > 0
    truth[0] = False
    known = generator.random((n, p)) >= missing
    known[:, 0] = True
    known[0] = True
    rows, tasks = map(np.ascontiguousarray, np.nonzero(known))  # as the estimators do: kernels are compiled for it
    offsets = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
    costs = C * generator.uniform(0.5, 2.0, size=n)
    return Case(X, truth[rows, tasks], offsets, rows, tasks, costs, _loss(loss), operator, **options)


def _loss(loss):
    return loss_of(loss) if isinstance(loss, str) else loss


LAYOUTS = {"bags": tracks, "labels": label_sets}
