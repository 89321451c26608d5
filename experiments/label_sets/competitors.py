"""What people use for label sets without set-level losses: one model per label, or a chain of them.

Scorers in the sense of `ChosenLabelSets`: a parameter `C`, and `decision_function` with a column per
label. A label that is constant in the training data, as rare ones are in a fold, gets a constant score.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from setloss.typing import Array

MODELS = ("logistic", "svm")


class BinaryOrConstant(ClassifierMixin, BaseEstimator):
    """A binary classifier that also takes labels of one value: their score is the log-odds of half an example."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> BinaryOrConstant:
        """Train the estimator, or remember the constant."""
        positive = np.asarray(y) == 1
        self.classes_ = np.array([0, 1])
        self.constant_ = None
        if positive.all() or not positive.any():
            odds = np.log(2.0 * len(positive) + 1)
            self.constant_ = float(odds if positive.all() else -odds)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.estimator_ = clone(self.estimator).fit(X, positive.astype(np.int8))
        return self

    def decision_function(self, X: Any) -> Array:
        """The score of every example; positive predicts 1."""
        check_is_fitted(self)
        if self.constant_ is not None:
            return np.full(X.shape[0], self.constant_)
        return np.asarray(self.estimator_.decision_function(X), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Labels in {0, 1}."""
        return (self.decision_function(X) > 0).astype(np.int8)


class _PerLabel(ClassifierMixin, BaseEstimator):
    """Labels by the sign of `decision_function`."""

    def __init__(self, model: str = "logistic", C: float = 1.0) -> None:
        self.model = model
        self.C = C

    def _base(self) -> BinaryOrConstant:
        if self.model not in MODELS:
            raise ValueError(f"there is no model {self.model!r} of one label; the names are {', '.join(MODELS)}")
        if self.model == "logistic":
            return BinaryOrConstant(LogisticRegression(C=self.C, max_iter=1000))
        return BinaryOrConstant(LinearSVC(C=self.C, dual="auto", max_iter=10_000, random_state=0))

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Label sets (n, p) in {0, 1}."""
        scores: Array = self.decision_function(X)
        return (scores > 0).astype(np.int8)


class OneAgainstRest(_PerLabel):
    """A logistic regression or a linear SVM for every label, each on its own."""

    def fit(self, X: Any, Y: Any) -> OneAgainstRest:
        """Train on X (n, d) and label sets Y (n, p) in {0, 1}."""
        self.estimators_ = [self._base().fit(X, column) for column in np.asarray(Y).T]
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores (n, p): log-odds or signed distances."""
        check_is_fitted(self)
        return np.column_stack([estimator.decision_function(X) for estimator in self.estimators_])


class Chain(_PerLabel):
    """A classifier chain in the order of the labels: every model also sees the labels before its own."""

    def fit(self, X: Any, Y: Any) -> Chain:
        """Train on X (n, d) and label sets Y (n, p) in {0, 1}; each model on the true labels before its own."""
        self.chain_ = ClassifierChain(self._base()).fit(X, np.asarray(Y))
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores (n, p), each given the predictions before it."""
        check_is_fitted(self)
        return np.asarray(self.chain_.decision_function(X), dtype=np.float64)
