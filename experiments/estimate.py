"""A mean with its standard error: what every cell of an experiment's table is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Estimate:
    """The mean of n repeats (folds, seeds, sets) and the standard error of that mean; no error for one repeat."""

    mean: float
    error: float | None
    n: int

    @classmethod
    def of(cls, values: ArrayLike) -> Estimate:
        """The mean of `values` and their standard deviation (n - 1) over the root of n."""
        found = np.asarray(values, dtype=np.float64).ravel()
        if not found.size:
            raise ValueError("an estimate needs at least one value")
        error = float(found.std(ddof=1) / math.sqrt(found.size)) if found.size > 1 else None
        return cls(float(found.mean()), error, int(found.size))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.error is None else f"{self.mean:.3f} ± {self.error:.3f}"

    def as_dict(self) -> dict[str, float | int | None]:
        return {"mean": self.mean, "standard_error": self.error, "n": self.n}
