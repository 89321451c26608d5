"""Standardised features, folded into the model: what is written takes the features as they are in the file.

With z = (x - mean) / deviation, the score <w, z> + b is <w / deviation, x> + b - <w / deviation, mean>.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from setloss.cli.errors import InputError
from setloss.typing import Array


@dataclass(frozen=True)
class Standardizer:
    """Mean and standard deviation of every feature; the deviation of a constant one counts as 1."""

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: Any) -> Standardizer:
        """Those of a dense matrix; centring a sparse one would fill it."""
        from scipy.sparse import issparse
        from sklearn.preprocessing import StandardScaler

        if issparse(X):
            raise InputError("--standardize is for dense features, and those of this file are sparse; leave it out")
        found = StandardScaler().fit(X)
        return cls(found.mean_, found.scale_)

    def apply(self, X: Any) -> Any:
        """(X - mean) / deviation, in the precision of X."""
        Z = X - self.mean.astype(X.dtype)
        Z /= self.deviation.astype(X.dtype)
        return Z

    def fold(self, model: Any) -> None:
        """Turn a linear model of standardised features into the same one of the original features."""
        model.coef_ = model.coef_ / self.deviation
        model.intercept_ = model.intercept_ - model.coef_ @ self.mean
