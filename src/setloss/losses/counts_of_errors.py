"""Losses with a formula: the Tversky family and Hamming in false negatives and false positives, cost curves in the
share of mistakes, the paper's four among them.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.arguments import is_number_within
from setloss.losses.families import CountLoss, Form, Loss
from setloss.setfunctions.counts import AxisCurve, CountFunction, Kind
from setloss.typing import Flags

Knots = tuple[tuple[float, float], ...]


class TverskyFamily(CountLoss):
    """1 - TP / (TP + a FP + b FN)."""

    zero_division: float

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float]:
        """What a false negative and a false positive weigh against a true positive."""

    def __post_init__(self) -> None:
        for kind, weight in zip(("negative", "positive"), self.weights, strict=True):
            if not is_number_within(weight, 0):
                raise ValueError(f"{self}: the weight of a false {kind} must be a number >= 0; got {weight!r}")
        if not is_number_within(self.zero_division, 0, 1):
            raise ValueError(f"zero_division is a score, a number from 0 to 1; got {self.zero_division!r}")

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        return self.form.counts(positives, negatives)(false_negatives, false_positives)

    def counts(self, positives: int, negatives: int) -> CountFunction:
        if positives == 0 and self.zero_division != 1:
            raise ValueError(
                f"{self} costs {1 - self.zero_division:g} on an example without positives that is predicted "
                "right; a set function needs l(empty) = 0. Train with zero_division=1, or leave out examples "
                "without positives."
            )
        return super().counts(positives, negatives)

    @property
    def form(self) -> Form:  # type: ignore[override]
        false_negative, false_positive = map(float, self.weights)
        return Form(Kind.TVERSKY, false_negative, false_positive, 1 - float(self.zero_division))


@dataclass(frozen=True)
class Dice(TverskyFamily):
    """1 - 2 TP / (2 TP + FP + FN), one minus F1 (Definition 11); `zero_division` is the score of 0/0, as below.

    Examples
    --------
    >>> float(Dice()([1, 1, 0, 0], [1, 0, 1, 0]))
    0.5
    """

    zero_division: float = 1.0
    weights = 0.5, 0.5


@dataclass(frozen=True)
class Jaccard(TverskyFamily):
    """1 - TP / (TP + FP + FN), one minus intersection over union; submodular.

    Examples
    --------
    >>> Jaccard()([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])  # a row per example; 0/0 is a score of 1
    array([0.5, 0. ])
    """

    zero_division: float = 1.0
    weights = 1.0, 1.0


@dataclass(frozen=True)
class Tversky(TverskyFamily):
    """1 - TP / (TP + alpha FP + beta FN).

    Examples
    --------
    >>> float(Tversky(alpha=0.5, beta=1.0)([1, 1, 0, 0], [1, 0, 0, 0]))  # a miss weighs twice a false alarm
    0.5
    """

    alpha: float = 0.5
    beta: float = 0.5
    zero_division: float = 1.0

    @property
    def weights(self) -> tuple[float, float]:
        return self.beta, self.alpha


@dataclass(frozen=True)
class FBeta(TverskyFamily):
    """1 - F_beta = 1 - (1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP); beta > 1 favours recall.

    Examples
    --------
    >>> float(FBeta(2.0)([1, 1, 1, 1, 0], [1, 1, 1, 1, 1])) < float(FBeta(0.5)([1, 1, 1, 1, 0], [1, 1, 1, 1, 1]))
    True
    """

    beta: float = 1.0
    zero_division: float = 1.0

    def __post_init__(self) -> None:
        if not is_number_within(self.beta, 0, 1e6):
            raise ValueError(f"beta of F-beta must be a number from 0 to 1e6; got {self.beta!r}")
        super().__post_init__()

    @property
    def weights(self) -> tuple[float, float]:
        return self.beta**2 / (1 + self.beta**2), 1 / (1 + self.beta**2)


@dataclass(frozen=True)
class Hamming(CountLoss):
    """false_negative_weight FN + false_positive_weight FP, divided by p where normalised; modular.

    Examples
    --------
    >>> float(Hamming(false_negative_weight=3.0)([1, 1, 0, 0], [1, 0, 1, 0]))
    1.0
    """

    normalize: bool = True
    false_negative_weight: float = 1.0
    false_positive_weight: float = 1.0

    def __post_init__(self) -> None:
        for weight in (self.false_negative_weight, self.false_positive_weight):
            if not is_number_within(weight, 0):
                raise ValueError(f"{self}: the class weights must be numbers >= 0; got {weight!r}")
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(f"normalize is True or False; got {self.normalize!r}")

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        cost = self.false_negative_weight * false_negatives + self.false_positive_weight * false_positives
        return cost / np.maximum(positives + negatives, 1) if self.normalize else cost

    @property
    def form(self) -> Form:  # type: ignore[override]
        costs = float(self.false_negative_weight), float(self.false_positive_weight)
        return Form(Kind.LINEAR, *costs, mean=bool(self.normalize))


def loss_of(form: Form) -> Loss:
    """A loss with these numbers."""
    if form.kind == Kind.TVERSKY:
        return Tversky(form.false_positive, form.false_negative, 1 - form.undefined)
    return Hamming(form.mean, form.false_negative, form.false_positive)


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
    by_size = True

    def __post_init__(self) -> None:
        try:
            pairs = tuple((float(share), float(cost)) for share, cost in self.knots)
        except (TypeError, ValueError):
            raise ValueError(f"knots are pairs (share, cost) of numbers; got {self.knots!r}") from None
        shares = [share for share, _ in pairs]
        if len(pairs) < 2 or shares[0] != 0 or shares[-1] != 1 or not np.all(np.diff(shares) > 0):
            raise ValueError(f"the shares of the knots must climb from 0 to 1; got {shares}")
        for share, cost in pairs:
            if not np.isfinite(cost) or cost < 0:
                raise ValueError(f"the cost at share {share:g} is {cost}; costs are finite and non-negative")
        if pairs[0][1] != 0:
            raise ValueError(f"l(empty) must be 0: the curve starts at cost {pairs[0][1]:g} without any mistake")
        object.__setattr__(self, "knots", pairs)

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        mistakes, size = np.add(false_negatives, false_positives), np.add(positives, negatives)
        return np.interp(mistakes / np.maximum(size, 1), *np.transpose(self.knots))

    def counts(self, positives: int, negatives: int) -> CountFunction:
        p, (shares, costs) = positives + negatives, np.transpose(self.knots)
        place = np.arange(p + 1) / max(p, 1)
        values = np.interp(place, shares, costs)
        # Within one piece every step is the same number, so that straight pieces have no curvature at all.
        piece = np.clip(np.searchsorted(shares, place[:-1], side="right") - 1, 0, len(shares) - 2)
        steps = (np.diff(costs) / np.diff(shares) / max(p, 1))[piece]
        for k in np.flatnonzero(place[1:] > shares[piece + 1]):
            steps[k] = _exact_cost(self.knots, int(k) + 1, p) - _exact_cost(self.knots, int(k), p)
        return AxisCurve((p,), 0, values, steps)

    def element_partition(self, truth: Flags) -> NDArray[np.int16]:
        return np.zeros(len(truth), dtype=np.int16)


def _exact_cost(knots: Knots, k: int, p: int) -> Fraction:
    """The curve at k / p in rational arithmetic, for the few steps across a knot, which floats would cancel.

    A knot at the float k / p is meant to be there: next to it on a steep piece, a cost of zero would be 1e-16.
    """
    right = next(i for i in range(1, len(knots)) if knots[i][0] >= k / p)
    (r0, c0), (r1, c1) = (tuple(map(Fraction, knots[i])) for i in (right - 1, right))
    return c1 if r1 == k / p else c0 + (c1 - c0) * (Fraction(k, p) - r0) / (r1 - r0)


PAPER_CURVES = {
    "curve1": CostCurve(((0, 0), (1 / 3, 1 / 3), (2 / 3, 1 / 3), (1, 2 / 3))),
    "curve2": CostCurve(((0, 0), (1 / 4, 1), (1 / 2, 1), (3 / 4, 2), (1, 2))),
    "curve3": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 1 / 3), (1, 1 / 3))),
    "curve4": CostCurve(((0, 0), (1 / 3, 0), (2 / 3, 3 / 4), (1, 1 / 2))),
}
"""The paper's losses 1 to 4, Equations 33 to 36, as its text, figure and numbers agree on them."""
