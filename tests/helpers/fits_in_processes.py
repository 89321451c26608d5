"""Fits that tests run in other processes, which import this file and nothing of pytest."""

import numpy as np

from setloss.estimators import SetClassifier

MODELS = [
    ("dice", "slack"), ("jaccard", "lovasz"), ("dice", "bd"), ("curve1", "bd"), ("hamming", "hinge"),
    ("dice", "margin"), ("jaccard", "slack"), ("curve2", "slack"),
]  # fmt: skip


def data(n=40, d=6, p=4):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, d))
    return X, (X @ generator.normal(size=(d, p)) + generator.normal(size=(n, p)) > 0).astype(int)


def coefficients(loss, operator):
    """One fit, of sets and of bags."""
    X, Y = data()
    sets = SetClassifier(loss, operator, C=0.1, tol=1e-2).fit(X, Y)
    bags = SetClassifier(loss, operator, C=0.1, tol=1e-2).fit(X, Y[:, 0], groups=np.arange(len(X)) // 5)
    return np.vstack([sets.coef_, bags.coef_])
