"""`LabelwiseClassifier`: a binary classifier for each label, trained on the examples whose label is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import _safe_indexing


class LabelwiseClassifier(MultiOutputClassifier):
    """`MultiOutputClassifier` that takes missing labels: each is left out of the training of its own classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setloss.estimators.labelwise import LabelwiseClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [1, 0], [1, 0]])
    >>> LabelwiseClassifier(LogisticRegression()).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 0], [1, 0], [1, 0]]
    """

    def fit(self, X: Any, Y: Any, sample_weight: Any = None, **params: Any) -> LabelwiseClassifier:
        """Train on X (n, d) and labels Y (n, p) or (n,) in {0, 1}, NaN where one is missing."""
        Y = Y if issparse(Y) or Y.ndim == 2 else Y[:, None]
        if issparse(Y) or not np.isnan(Y).any():
            return super().fit(X, Y, sample_weight, **params)  # type: ignore[no-any-return]
        weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight)
        self.estimators_ = []
        for labels in Y.T:
            rows = np.flatnonzero(~np.isnan(labels))
            part, known = _safe_indexing(X, rows), labels[rows].astype(np.int64)
            given = {} if sample_weight is None else {"sample_weight": weights[rows]}
            self.estimators_.append(clone(self.estimator).fit(part, known, **given, **params))
        self.classes_ = [one.classes_ for one in self.estimators_]
        return self
