"""Labels of any form that scikit-learn knows, as which are positive and which are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array

from setloss.estimators.base import two_classes


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels (n, p): `truth` where they are known; `flat` if they came as one column of two classes."""

    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    classes: NDArray[Any]
    flat: bool

    @classmethod
    def of(cls, y: Any, name: str) -> Targets:
        """From label sets (n, p) in {0, 1}, NaN being a missing label, or from one column of two classes."""
        if y is None:
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        array = y.toarray() if issparse(y) else np.asarray(y)
        flat = array.ndim == 1
        if flat or (array.shape[1:] == (1,) and array.dtype.kind != "f"):
            column = check_array(array, ensure_2d=False, dtype=None, input_name="y").ravel()
            if type_of_target(column).startswith("continuous"):
                raise ValueError(f"Unknown label type: {type_of_target(column)}; labels are two classes")
            classes, positive = two_classes(column)
            return cls(positive[:, None], np.ones((len(column), 1), dtype=bool), classes, flat)
        array = check_array(array, dtype="numeric", ensure_all_finite="allow-nan", input_name="y")
        known = ~np.isnan(array.astype(np.float64))
        if not np.all(np.isin(array[known], (0, 1))):
            strange = array[known][~np.isin(array[known], (0, 1))][0]
            raise ValueError(
                f"Unknown label type: y must hold 0 and 1 (NaN where a label is missing); it contains {strange}"
            )
        return cls(known & (array == 1), known, np.array([0, 1]), False)

    @property
    def labels(self) -> NDArray[Any]:
        """0, 1 and, where a label is missing, NaN."""
        return self.truth.astype(np.int8) if self.known.all() else np.where(self.known, self.truth, np.nan)
