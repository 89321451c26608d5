"""Fits that tests run in other processes, which import this file and nothing of pytest."""

import numpy as np

from helpers.estimator_data import label_data
from setloss.estimators import SetClassifier

MODELS = [
    ("dice", "slack"), ("jaccard", "lovasz"), ("dice", "bd"), ("curve1", "bd"), ("hamming", "hinge"),
    ("dice", "margin"), ("jaccard", "slack"), ("curve2", "slack"),
]  # fmt: skip


def coefficients(loss, operator):
    """One fit, of sets and of bags."""
    X, Y = label_data(40, 6, 4)
    sets = SetClassifier(loss, operator, C=0.1, tol=1e-2).fit(X, Y)
    bags = SetClassifier(loss, operator, C=0.1, tol=1e-2).fit(X, Y[:, 0], groups=np.arange(len(X)) // 5)
    return np.vstack([sets.coef_, bags.coef_])
