"""Cost curves: losses of the share of mistakes, drawn by knots; the paper's four among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.losses.base import CountLoss, sizes_only
from setloss.setfunctions.counts import CountFunction
from setloss.setfunctions.knots import checked_knots, curve_through
from setloss.setfunctions.set_function import SetFunction


@dataclass(frozen=True)
class CostCurve(CountLoss):
    """A piecewise linear cost of the share r of mistakes, through knots (r, cost) from (0, 0) to r = 1.

    The first few mistakes free: ``CostCurve([(0, 0), (0.2, 0), (1, 1)])``.
    """

    knots: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", checked_knots(self.knots))

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        mistakes, size = np.add(false_negatives, false_positives), np.add(positives, negatives)
        return np.interp(mistakes / np.maximum(size, 1), *np.transpose(self.knots))

    def counts(self, positives: int, negatives: int) -> CountFunction:
        return curve_through(self.knots, positives + negatives)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        p = positives + negatives
        return SetFunction(self.counts(p, 0), np.zeros(p, dtype=np.intp))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.on_counts(len(as_labels(y_true, "y_true", ndim=(1,))), 0)

    def element_partition(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        return np.zeros(len(truth), dtype=np.intp)

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        return sizes_only(positives, negatives)


PAPER_CURVES = {
    "curve1": CostCurve(((0, 0), (1 / 3, 1 / 3), (2 / 3, 1 / 3), (1, 2 / 3))),
    "curve2": CostCurve(((0, 0), (1 / 4, 1), (1 / 2, 1), (3 / 4, 2), (1, 2))),
    "curve3": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 1 / 3), (1, 1 / 3))),
    "curve4": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 3 / 4), (1, 1 / 2))),
}
"""The paper's losses 1 to 4, Equations 33 to 36, as its text, figure and numbers agree on them."""
