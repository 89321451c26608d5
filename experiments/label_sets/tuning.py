"""What all methods choose from: preparations of features, a path of C, and the same inner folds.

Of several preparations that one is taken whose models have the least held-out loss at the middle of the path; from
there C climbs as long as the loss falls, one C for all labels or one for every model, as the method has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from experiments.protocol import Array

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]
Classes = NDArray[np.intp]
Criterion = Callable[[Classes, Array], float]
"""A loss of true classes (n,) and of their held-out probabilities (n, classes)."""


@dataclass(frozen=True)
class Choices:
    """How every method chooses: the path of C for features of mean squared norm 1, inner folds, trees and leaves.

    Leaves are those of scikit-learn's default, which suits rivals; `SetDecisionCV()` has its own. C is chosen on as
    many of the folds as hold out `enough` examples, at least two; thresholds and rules on all.
    """

    Cs: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    folds: int = 5
    enough: int = 500
    seed: int = 0
    trees: int = 300
    leaf: int = 1

    def splits(self, n: int) -> Splits:
        """The inner folds, the same for all methods."""
        return list(KFold(self.folds, shuffle=True, random_state=self.seed).split(np.empty(n)))

    def few_splits(self, n: int) -> Splits:
        """Those of them on which C is chosen."""
        return self.splits(n)[: max(2, -(-self.enough * self.folds // n))]

    @property
    def middle(self) -> int:
        """The place of the C at which the search begins."""
        return len(self.Cs) // 2

    def climb(self, loss: Callable[[float], float]) -> float:
        """The C of least loss, from the middle on and as far as the loss falls."""
        losses: dict[int, float] = {}

        def at(i: int) -> float:
            if i not in losses:
                losses[i] = loss(self.Cs[i])
            return losses[i]

        best = self.middle
        for step in (-1, 1):
            while 0 <= best + step < len(self.Cs) and at(best + step) < at(best):
                best += step
            if best != self.middle:
                break
        return self.Cs[best]

    def search(self, parts: Sequence[Any], loss: Callable[[Any, float], float]) -> tuple[int, float]:
        """The preparation of least loss at the middle of the path, and its best C."""
        best = self.preparation(parts, lambda X: loss(X, self.Cs[self.middle]))
        return best, self.climb(lambda C: loss(parts[best], C))

    @staticmethod
    def preparation(parts: Sequence[Any], loss: Callable[[Any], float]) -> int:
        """The preparation of least loss."""
        return min(range(len(parts)), key=lambda i: loss(parts[i])) if len(parts) > 1 else 0


# ---------------------------------------------------------------- logistic regression


class Logistic:
    """Logistic regression of classes 0, 1, ...; a class that is alone is all but certain."""

    def __init__(self, X: Any, z: Classes, C: float) -> None:
        self.present = np.unique(z)
        self.alone = (len(z) + 0.5) / (len(z) + 1)
        self.model = LogisticRegression(C=C, max_iter=1000).fit(X, z) if len(self.present) > 1 else None

    def chances(self, X: Any, classes: int) -> Array:
        """P(z = class) of every row (n, classes)."""
        found = np.zeros((X.shape[0], classes))
        if self.model is not None:
            found[:, self.present] = self.model.predict_proba(X)
        else:
            found += (1 - self.alone) / max(classes - 1, 1)
            found[:, self.present] = self.alone
        return found


def held_out(X: Any, z: Classes, C: float, splits: Splits, classes: int) -> tuple[Classes, Array]:
    """Classes and probabilities of rows that some fold holds out."""
    parts = [(z[test], Logistic(X[train], z[train], C).chances(X[test], classes)) for train, test in splits]
    return np.concatenate([one for one, _ in parts]), np.concatenate([found for _, found in parts])


def log_loss(z: Classes, chances: Array) -> float:
    """Minus the mean log-likelihood; what was held impossible has one chance in a million."""
    return float(-np.log(np.maximum(chances[np.arange(len(z)), z], 1e-6)).mean())


def loss_of(X: Any, z: Classes, C: float, splits: Splits, criterion: Criterion = log_loss) -> float:
    """The held-out loss of one model."""
    return criterion(*held_out(X, z, C, splits, max(2, int(z.max()) + 1)))


# ---------------------------------------------------------------- features


def preparations(X: Any) -> list[Any]:
    """Mean 0 and deviation 1 for dense features; for sparse ones those of four ways that differ.

    As given, rows of length 1, largest values 1, and, of counts, tf-idf. `UnitRows` follows each of them.
    """
    if not issparse(X):
        return [make_pipeline(StandardScaler(), UnitRows())]
    given = csr_array(X, dtype=np.float64)
    are_counts = bool((given.data >= 0).all() and (given.data == np.round(given.data)).all())
    ways = (Normalizer(), MaxAbsScaler(), *([TfidfTransformer()] if are_counts else []))
    differ = [way for way in ways if abs(csr_array(way.fit_transform(given)) - given).max() > 1e-9]
    return [make_pipeline(*steps, UnitRows()) for steps in ([], *([way] for way in differ))]


def name_of(preparation: Any) -> str:
    """The step before `UnitRows`; "as given" where there is none."""
    return " ".join(type(step).__name__ for step in preparation[:-1]) or "as given"


class UnitRows(TransformerMixin, BaseEstimator):
    """Divide all features by one number, so that the mean squared norm of the training rows is 1.

    What C means then does not depend on the number of features, and one path of C suits every data set.
    """

    def fit(self, X: Any, y: Any = None) -> UnitRows:
        """Find the number."""
        squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.vdot(X, X)
        self.norm_ = float(np.sqrt(squares / X.shape[0])) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """X over that number."""
        return X / self.norm_
