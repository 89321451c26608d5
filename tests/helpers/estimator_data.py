"""Small data sets for the estimators, and the objective of a fit from its definition."""

import itertools

import numpy as np
from scipy.sparse import issparse

from helpers.problems import reference_operator


def label_data(n=18, d=5, p=3, seed=0):
    """X (n, d) and Y (n, p) in {0, 1}; the first example is all negative, the second all positive.

    Unless more are asked for they are too few to learn a decision from.
    """
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    Y = (X @ generator.normal(size=(d, p)) + 0.5 * generator.normal(size=(n, p)) > 0).astype(int)
    Y[:2] = [[0], [1]]
    return X, Y


def frame_data(bags=20, d=5, seed=0):
    """X (N, d), y (N,) in {0, 1} and groups (N,): bags of one to five frames, two in three of one class."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), generator.integers(1, 6, size=bags))
    X = generator.normal(size=(len(groups), d))
    y = (X @ generator.normal(size=d) + 0.5 * generator.normal(size=len(X)) > 0).astype(int)
    for bag in range(bags):
        if bag % 3:
            y[groups == bag] = bag % 2
    return X, y, groups


def one_or_two_labels(n=200, d=6, p=5, seed=0):
    """The label of largest score, and for a quarter of the examples the next one too."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    scores = 2 * X @ generator.normal(size=(d, p)) + generator.gumbel(size=(n, p))
    rank = np.argsort(np.argsort(-scores, axis=1), axis=1)
    return X, (rank < 1 + (generator.random((n, 1)) < 0.25)).astype(int)


def scored_labels(n=400, p=6, seed=0, most=2):
    """Scores whose log-odds are twice as large, with sets of one or two labels."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(-0.5, 1, size=(n, p))
    sizes = range(most + 1)
    chosen = [list(some) for k in sizes for some in itertools.combinations(range(p), k)]
    sets = np.array([np.isin(np.arange(p), some) for some in chosen])
    logs = 2 * scores @ sets.T + np.array([-2.0, 2.0, 3.0])[sets.sum(axis=1)]
    return scores, sets[np.argmax(logs + generator.gumbel(size=logs.shape), axis=1)].astype(int)


def scored_bags(bags=150, largest=8, seed=0):
    """Bags of one label each, and scores that say a little of it; elements are shuffled."""
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(bags), generator.integers(1, largest + 1, size=bags)))
    y = (generator.random(bags) < 0.4)[groups]
    return generator.normal(y - 0.5, 1.0), y.astype(int), groups


def probabilities_of(scores):
    return 1 / (1 + np.exp(-scores))


def named(*data):
    """What `fit` takes, by name: X, y, and if there are any groups and weights."""
    return dict(zip(("X", "y", "groups", "sample_weight"), data, strict=False))


def objective(model, X, y, groups=None, weights=None):
    """P(W) of a fitted classifier, one reference operator per bag or row of y; NaN labels are left out."""
    scores = (X.toarray() if issparse(X) else X).astype(np.float64) @ model.coef_.T + model.intercept_
    weights = np.ones(len(y)) if weights is None else weights
    sets = range(len(y)) if groups is None else [groups == group for group in np.unique(groups)]
    total = 0.5 * float(np.sum(np.square(model.solution_.parameters)))
    for here in sets:
        labels, weight = np.ravel(y[here]), np.mean(weights[here])
        known = ~np.isnan(labels)
        if known.any() and weight > 0:
            signs = np.where(labels[known] == 1, 1.0, -1.0)
            surrogate = reference_operator(model.loss, model.operator, signs > 0, model.scale)
            total += model.C * weight * surrogate(signs * np.ravel(scores[here])[known])
    return total
