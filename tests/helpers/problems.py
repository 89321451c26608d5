"""Small training problems together with the plain numbers they are made of, and their objective by definition."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations

import numpy as np
from scipy.sparse import csr_array

from helpers import reference
from setloss.losses import Loss, as_loss
from setloss.operators import operator_named
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem


def pairs():
    """(loss, operator) wherever the operator is defined: L of submodular losses, closures where f is not negative."""
    for loss in ("dice", "jaccard", "curve1", "curve2", "curve3", "curve4", "hamming"):
        yield from ((loss, operator) for operator in ("bd", "slack", "margin", "hinge"))
        if loss in ("jaccard", "hamming"):
            yield loss, "lovasz"
        if loss not in ("curve3", "curve4"):
            yield loss, "bd-monotone"


@dataclass(frozen=True)
class Case:
    """Bags of elements: element e of a bag has row rows[e] of X, task tasks[e] and label truth[e]."""

    X: np.ndarray
    truth: np.ndarray
    offsets: np.ndarray
    rows: np.ndarray
    tasks: np.ndarray
    costs: np.ndarray
    loss: str | Loss
    operator: str
    constant: float = 1.0
    scale: float = 2.0
    sparse: bool = False

    @property
    def problem(self):
        design = Design.of(csr_array(self.X) if self.sparse else self.X, self.constant)
        surrogate = batch_surrogate(as_loss(self.loss), self.truth, self.offsets, self.operator, self.scale)
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
            total += cost * reference_operator(self.loss, self.operator, truth, self.scale)(margins[here])
        return total


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
    return Case(X, truth, offsets, rows, np.zeros_like(rows), costs, loss, operator, **options)


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
    return Case(X, truth[rows, tasks], offsets, rows, tasks, costs, loss, operator, **options)


LAYOUTS = {"bags": tracks, "labels": label_sets}


# ---------------------------------------------------------------- surrogates of one bag


def reference_operator(loss, operator, truth, scale=2.0):
    """The surrogate of the library for the bag with these labels, made once; the loss may have a name."""
    return _made_once(loss, operator, np.asarray(truth, dtype=bool).tobytes(), scale)


@cache
def _made_once(loss, operator, labels, scale):
    return operator_named(operator, scale)(as_loss(loss).set_function(np.frombuffer(labels, dtype=bool)))


def terms(case, truth):
    """The surrogate of a bag is a sum of maxima; each as its list of cuts (offset, slope), by enumeration."""
    return _terms(case.loss, case.operator, case.scale, tuple(truth.tolist()))


@cache
def _terms(loss, operator, scale, truth):
    """The same labels come again in bag after bag, and in case after case."""
    values = reference.values_of(as_loss(loss).set_function(np.array(truth)))
    if operator == "slack":
        return [_slack_cuts(values, scale)]
    if operator == "margin":
        return [[(value, scale * reference.mask_of(A, len(truth))) for A, value in values.items()]]
    if operator == "hinge":
        return [_lovasz_cuts({A: float(len(A)) for A in values})]
    if operator == "lovasz":
        return [_lovasz_cuts(values)]
    supermodular, _ = reference.brute_force_program(values)
    submodular = {A: values[A] - supermodular[A] for A in values}
    if operator == "bd-monotone":
        submodular = reference.monotone_closure(submodular)
    return [_lovasz_cuts(submodular), _slack_cuts(supermodular, scale)]


def _slack_cuts(values, scale):
    p = len(reference.ground(values))
    return [(value, scale * value * reference.mask_of(A, p)) for A, value in values.items()]


def _lovasz_cuts(values):
    """One per permutation, and for increasing functions one per prefix of it: later elements have s <= 0."""
    p = len(reference.ground(values))
    increasing = reference.increasing_excess(values) <= 1e-12
    cuts = {(0.0, (0.0,) * p)}
    for order in permutations(range(p)):
        for length in range(1, p + 1) if increasing else (p,):
            slope, before = np.zeros(p), frozenset()
            for i in order[:length]:
                slope[i] = values[before | {i}] - values[before]
                before = before | {i}
            cuts.add((float(slope.sum()), tuple(slope)))
    return [(offset, np.array(slope)) for offset, slope in cuts]
