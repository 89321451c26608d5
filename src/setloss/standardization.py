"""Standardised features that are folded into a linear model: the model then takes the features as they were.

With z = (x - mean) / deviation, the score <w, z> + b is <w / deviation, x> + b - <w / deviation, mean>.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.typing import Array


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Mean and standard deviation of every feature; the deviation of a constant one counts as 1.

    Centring would fill a sparse matrix: its features are divided by their largest absolute value, and the mean is 0.
    """

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: Any) -> Standardizer:
        """Those of a matrix."""
        from scipy.sparse import issparse

        if issparse(X):
            largest = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
            return cls(np.zeros(X.shape[1]), np.where(largest > 0, largest, 1.0))
        deviation = X.std(axis=0, dtype=np.float64)
        return cls(X.mean(axis=0, dtype=np.float64), np.where(deviation > 0, deviation, 1.0))

    @classmethod
    def identity(cls, features: int) -> Standardizer:
        """The one that changes nothing."""
        return cls(np.zeros(features), np.ones(features))

    def apply(self, X: Any) -> Any:
        """(X - mean) / deviation, in the precision of X."""
        from scipy.sparse import issparse

        if issparse(X):
            return type(X)(X.multiply(1 / self.deviation.astype(X.dtype)))
        Z = X - self.mean.astype(X.dtype)
        Z /= self.deviation.astype(X.dtype)
        return Z

    def folded(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Weights and intercept for the original features, of a model of standardised ones."""
        weights = coef / self.deviation
        return weights, intercept - weights @ self.mean

    def fold(self, model: Any) -> None:
        """Turn a linear model of standardised features into the same one of the original features."""
        model.coef_, model.intercept_ = self.folded(model.coef_, model.intercept_)
        if hasattr(model, "counts_coef_"):
            model.counts_coef_, model.counts_ = self.folded(model.counts_coef_, model.counts_)
