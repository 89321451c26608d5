"""Cost curves: losses of the share of mistakes, drawn by knots; the paper's four among them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.losses.families import CountLoss
from setloss.setfunctions.counts import AxisCurve, CountFunction
from setloss.typing import Flags

Knots = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class CostCurve(CountLoss):
    """A piecewise linear cost of the share r of mistakes, through knots (r, cost) from (0, 0) to r = 1.

    Examples
    --------
    >>> lenient = CostCurve([(0, 0), (0.2, 0), (1, 1)])  # the first fifth of the mistakes is free
    >>> lenient([1, 1, 0, 0, 0], [1, 0, 0, 0, 0]), lenient([1, 1, 0, 0, 0], [0, 0, 0, 0, 0])
    (0.0, 0.25)
    """

    knots: Knots

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", checked_knots(self.knots))

    @property
    def by_size(self) -> bool:
        return True

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        mistakes, size = np.add(false_negatives, false_positives), np.add(positives, negatives)
        return np.interp(mistakes / np.maximum(size, 1), *np.transpose(self.knots))

    def counts(self, positives: int, negatives: int) -> CountFunction:
        return curve_through(self.knots, positives + negatives)

    def element_partition(self, truth: Flags) -> NDArray[np.int16]:
        return np.zeros(len(truth), dtype=np.int16)


def curve_through(knots: Knots, p: int) -> AxisCurve:
    """l(A) = the curve at the share |A| / p, for a set of p elements."""
    shares, costs = np.transpose(knots)
    place = np.arange(p + 1) / max(p, 1)
    values = np.interp(place, shares, costs)
    # Within one piece every step is the same number, so that straight pieces have no curvature at all.
    piece = np.clip(np.searchsorted(shares, place[:-1], side="right") - 1, 0, len(shares) - 2)
    slopes = np.diff(costs) / np.diff(shares) / max(p, 1)
    steps = slopes[piece]
    for k in np.flatnonzero(place[1:] > shares[piece + 1]):
        steps[k] = _exact_cost(knots, int(k) + 1, p) - _exact_cost(knots, int(k), p)
    return AxisCurve((p,), 0, values, steps)


def _exact_cost(knots: Knots, k: int, p: int) -> Fraction:
    """The curve at k / p in rational arithmetic, for the few steps across a knot, which floats would cancel.

    A knot at the float k / p is meant to be there: next to it on a steep piece, a cost of zero would be 1e-16.
    """
    right = next(i for i in range(1, len(knots)) if knots[i][0] >= k / p)
    (r0, c0), (r1, c1) = (tuple(map(Fraction, knots[i])) for i in (right - 1, right))
    return c1 if r1 == k / p else c0 + (c1 - c0) * (Fraction(k, p) - r0) / (r1 - r0)


def checked_knots(knots: Any) -> Knots:
    """Knots of a cost curve as pairs of floats; the shares climb from 0 to 1 and the first cost is 0."""
    try:
        pairs = tuple((float(share), float(cost)) for share, cost in knots)
    except (TypeError, ValueError):
        raise ValueError(f"knots are pairs (share, cost) of numbers; got {knots!r}") from None
    shares = [share for share, _ in pairs]
    if len(pairs) < 2 or shares[0] != 0 or shares[-1] != 1 or not np.all(np.diff(shares) > 0):
        raise ValueError(f"the shares of the knots must climb from 0 to 1; got {shares}")
    for share, cost in pairs:
        if not np.isfinite(cost) or cost < 0:
            raise ValueError(f"the cost at share {share:g} is {cost}; costs are finite and non-negative")
    if pairs[0][1] != 0:
        raise ValueError(f"l(empty) must be 0: the curve starts at cost {pairs[0][1]:g} without any mistake")
    return pairs


PAPER_CURVES = {
    "curve1": CostCurve(((0, 0), (1 / 3, 1 / 3), (2 / 3, 1 / 3), (1, 2 / 3))),
    "curve2": CostCurve(((0, 0), (1 / 4, 1), (1 / 2, 1), (3 / 4, 2), (1, 2))),
    "curve3": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 1 / 3), (1, 1 / 3))),
    "curve4": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 3 / 4), (1, 1 / 2))),
}
"""The paper's losses 1 to 4, Equations 33 to 36, as its text, figure and numbers agree on them."""
