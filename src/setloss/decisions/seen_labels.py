"""The labels that were seen, as count models read them: checked and counted once, for any number of models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels
from setloss.decisions.layout import Layout
from setloss.typing import Array


@dataclass(frozen=True, eq=False)
class SeenLabels:
    """1.0 for every known positive, which labels are `known`, and the number of known positives of each set."""

    layout: Layout
    labels: Array
    known: NDArray[np.bool_]
    positives: NDArray[np.intp]
    all_known: bool

    @classmethod
    def of(cls, y: ArrayLike | SeenLabels, known: ArrayLike | None, layout: Layout) -> SeenLabels:
        """Labels in the shape of the scores; those that are not `known` may be anything."""
        if isinstance(y, SeenLabels):
            if y.layout is not layout:
                raise ValueError("these labels were made ready for another layout; make the model with bags=y.layout")
            return y
        sure = np.ones(layout.shape, dtype=bool) if known is None else np.asarray(known, dtype=bool)
        truth = as_labels(np.where(sure, np.asarray(y), -1 if np.any(np.asarray(y) == -1) else 0), "y")
        for name, array in (("y", truth), ("known", sure)):
            if array.shape != layout.shape:
                raise ValueError(f"{name} has shape {array.shape}, the scores have shape {layout.shape}")
        labels = (truth & sure).astype(np.float64)
        return cls(layout, labels, sure, layout.totals(labels).astype(np.intp), bool(sure.all()))
