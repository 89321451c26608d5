"""Small data in partitions, and the objective of a fit from its definition."""

from itertools import pairwise

import dask.array as da
import numpy as np
from scipy.sparse import csr_array, issparse

from helpers.reference_operators import reference_operator
from setloss import loss_named


def frames(bags=24, d=5, seed=0):
    """X (N, d), y (N,) in {0, 1}, groups (N,): bags of one to five frames one after the other, some of one class."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), generator.integers(1, 6, size=bags))
    X = generator.normal(size=(len(groups), d))
    y = (X @ generator.normal(size=d) + generator.normal(size=len(X)) > 0).astype(int)
    y[groups % 3 == 1] = 1
    return X, y, groups


def block_of(lo, hi, which):
    """Some rows of one of the `frames`, made on the worker that asks."""
    return frames(40)[which][lo:hi]


def label_sets(n=40, d=4, p=3, seed=0):
    """X (n, d) and Y (n, p) in {0, 1}."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    return X, (X @ generator.normal(size=(d, p)) + generator.normal(size=(n, p)) > 0).astype(int)


def lengths(rows, parts, groups=None):
    """Lengths of partitions that split no bag; some may be empty."""
    ends = np.linspace(0, rows, parts + 1).astype(int)
    if groups is not None:
        edges = np.concatenate(([0], np.flatnonzero(np.diff(groups)) + 1, [rows]))
        ends = edges[np.searchsorted(edges, ends)]
    return tuple(np.diff(ends).tolist())


def parted(sizes, *arrays):
    """Dask arrays cut at the same rows; CSR stays CSR."""
    return tuple(None if array is None else _cut(array, sizes) for array in arrays)


def _cut(array, sizes):
    if not issparse(array):
        return da.from_array(np.asarray(array), chunks=(sizes, *array.shape[1:]))
    meta = csr_array((0, 0), dtype=array.dtype)
    edges = np.concatenate(([0], np.cumsum(sizes)))
    blocks = [da.from_array(array[lo:hi], chunks=-1, asarray=False, meta=meta) for lo, hi in pairwise(edges)]
    return da.concatenate(blocks, axis=0)


def bag_objective(model, X, y, groups, weights=None):
    """P(W) of a fitted classifier of bags, one reference operator per bag."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights)
    dense = X.toarray() if issparse(X) else np.asarray(X)
    scores = dense.astype(np.float64) @ model.coef_[0] + model.intercept_[0]
    total = 0.5 * float(np.sum(np.square(model.solution_.parameters)))
    for group in np.unique(groups):
        here = np.flatnonzero(np.asarray(groups) == group)
        if weights[here].any():
            total += model.C * weights[here].mean() * _surrogate(model, y[here] == model.classes_[1], scores[here])
    return total


def set_objective(model, X, Y, weights=None):
    """P(W) of a fitted classifier of label sets, one reference operator per example; NaN labels are left out."""
    weights = np.ones(len(Y)) if weights is None else np.asarray(weights)
    scores = np.asarray(X, dtype=np.float64) @ model.coef_.T + model.intercept_
    total = 0.5 * float(np.sum(np.square(model.solution_.parameters)))
    for labels, here, weight in zip(np.asarray(Y, dtype=np.float64), scores, weights, strict=True):
        known = ~np.isnan(labels)
        if known.any() and weight > 0:
            total += model.C * weight * _surrogate(model, labels[known] == 1, here[known])
    return total


def _surrogate(model, truth, scores):
    loss = loss_named(model.loss) if isinstance(model.loss, str) else model.loss
    surrogate = reference_operator(loss, model.operator, truth, model.scale)
    return surrogate(np.where(truth, 1.0, -1.0) * scores)


def assert_certified(model, objective):
    """The primal value is what the definition gives, and the gap is the one asked for."""
    solution = model.solution_
    assert abs(solution.primal - objective) <= 1e-9 * max(1.0, objective)
    assert solution.gap <= model.tol
    assert model.dual_gap_ == solution.gap


def assert_same_problem(*models):
    """Every dual value is below every primal value, so all minima are within the gaps of each other."""
    rounding = 1e-9 * models[0].solution_.primal
    assert max(model.solution_.dual for model in models) <= min(model.solution_.primal for model in models) + rounding
