"""Losses: families that give every label vector y its set function l of mistakes (Equation 3),

    Delta(y, y~) = l({i : y_i != y~_i}).

All but `FixedSetLoss` depend on y~ through the numbers of false negatives and false positives only, so a loss
is one formula, `value(false_negatives, false_positives, positives, negatives)`; evaluation on arrays and bags
and the set function are derived from it. Labels are {0, 1}, {-1, +1} or bool.

An example without positives, predicted without positives, is right and costs 0. Dice, Jaccard, Tversky and
F-beta then read 0/0; their `zero_division` is the *score* there, 1 by default, as in scikit-learn's metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.bags import Bags
from setloss.counts import AxisCurve, CountFunction, Formula, Linear
from setloss.labels import as_labels
from setloss.lattice import Array
from setloss.setfunction import SetFunction
from setloss.tversky import TverskyCounts, defined_loss


class Loss(ABC):
    """Delta(y, y~), a loss of the whole set of mistakes on one example."""

    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """Evaluate on one example ``(p,)``, on the rows of ``(n, p)``, or on bags.

        With `groups`, a bag id per element, the labels are flat and there is one value per bag, in sorted
        order of the ids.
        """
        truth, predicted = as_labels(y_true, "y_true"), as_labels(y_pred, "y_pred")
        if truth.shape != predicted.shape:
            raise ValueError(f"y_true has shape {truth.shape}, y_pred has shape {predicted.shape}")
        if groups is None:
            values = self._on_rows(np.atleast_2d(truth), np.atleast_2d(predicted))
            return float(values[0]) if truth.ndim == 1 else values
        if truth.ndim != 1:
            raise ValueError(f"with groups the labels are flat, one per element; got shape {truth.shape}")
        bags = Bags.from_groups(groups)
        return self._on_bags(bags.gather(truth), bags.gather(predicted), bags)

    @abstractmethod
    def _on_rows(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array: ...

    @abstractmethod
    def _on_bags(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], bags: Bags) -> Array: ...

    @abstractmethod
    def set_function(self, y_true: ArrayLike) -> SetFunction:
        """The set function l of mistakes on an example with labels `y_true`."""

    @abstractmethod
    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        """The set function of an example whose positives come first."""

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows (positives, negatives), equal for examples that have the same set function."""
        return np.stack([positives, negatives], axis=1)

    @abstractmethod
    def element_groups(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        """The group of every element of flat labels in the set functions of their bags."""


class CountLoss(Loss):
    """A loss of the numbers of false negatives and false positives."""

    @abstractmethod
    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        """The loss; all four are arrays that broadcast together."""

    def counts(self, positives: int, negatives: int) -> CountFunction:
        """The loss of an example as a function of (false negatives, false positives)."""
        return Formula((positives, negatives), partial(self._value_on, positives, negatives))

    def _value_on(self, positives: int, negatives: int, false_negatives: Any, false_positives: Any) -> Any:
        return self.value(false_negatives, false_positives, positives, negatives)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        if min(positives, negatives) < 0:
            raise ValueError(f"there cannot be {positives} positives and {negatives} negatives")
        groups = np.repeat([0, 1], [positives, negatives])
        return SetFunction(self.counts(positives, negatives), groups)

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        truth = as_labels(y_true, "y_true", ndim=(1,))
        positives = int(truth.sum())
        return SetFunction(self.counts(positives, len(truth) - positives), np.where(truth, 0, 1))

    def element_groups(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        return np.where(truth, 0, 1)

    def _on_rows(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
        wrong = truth != predicted
        tallies = [(wrong & truth).sum(1), (wrong & ~truth).sum(1), truth.sum(1), (~truth).sum(1)]
        return np.asarray(self.value(*tallies), dtype=np.float64)

    def _on_bags(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], bags: Bags) -> Array:
        wrong = truth != predicted
        flags = [wrong & truth, wrong & ~truth, truth, ~truth]
        return np.asarray(self.value(*(bags.totals(flag.astype(np.intp)) for flag in flags)), dtype=np.float64)


class TverskyFamily(CountLoss):
    """1 - TP / (TP + a FP + b FN)."""

    zero_division: float

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float]:
        """(a, b), what a false positive and a false negative weigh against a true positive."""

    def __post_init__(self) -> None:
        for kind, weight in zip(("positive", "negative"), self.weights, strict=True):
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(f"{self}: the weight of a false {kind} must be a number >= 0; got {weight}")
        if not 0 <= self.zero_division <= 1:
            raise ValueError(f"zero_division is a score and lies between 0 and 1; got {self.zero_division}")

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        a, b = self.weights
        n, q, m = (np.asarray(x, dtype=np.float64) for x in (false_negatives, false_positives, positives))
        return defined_loss(n, q, m, a, b, 1 - self.zero_division)

    def counts(self, positives: int, negatives: int) -> CountFunction:
        if positives == 0 and self.zero_division != 1:
            raise ValueError(
                f"{self} costs {1 - self.zero_division:g} on an example without positives that is predicted "
                "right; a set function needs l(empty) = 0. Train with zero_division=1, or leave out examples "
                "without positives."
            )
        return TverskyCounts(positives, negatives, *self.weights, 1 - self.zero_division)


@dataclass(frozen=True)
class Dice(TverskyFamily):
    """1 - 2 TP / (2 TP + FP + FN), one minus F1 (Definition 11)."""

    zero_division: float = 1.0

    @property
    def weights(self) -> tuple[float, float]:
        return 0.5, 0.5


@dataclass(frozen=True)
class Jaccard(TverskyFamily):
    """1 - TP / (TP + FP + FN), one minus intersection over union; submodular."""

    zero_division: float = 1.0

    @property
    def weights(self) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True)
class Tversky(TverskyFamily):
    """1 - TP / (TP + alpha FP + beta FN)."""

    alpha: float = 0.5
    beta: float = 0.5
    zero_division: float = 1.0

    @property
    def weights(self) -> tuple[float, float]:
        return self.alpha, self.beta


@dataclass(frozen=True)
class FBeta(TverskyFamily):
    """1 - F_beta = 1 - (1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP); beta > 1 favours recall."""

    beta: float = 1.0
    zero_division: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1e6:
            raise ValueError(f"beta of F-beta must lie between 0 and 1e6; got {self.beta}")
        super().__post_init__()

    @property
    def weights(self) -> tuple[float, float]:
        return 1 / (1 + self.beta**2), self.beta**2 / (1 + self.beta**2)


@dataclass(frozen=True)
class Hamming(CountLoss):
    """false_negative_weight FN + false_positive_weight FP, divided by p where normalised; modular."""

    normalize: bool = True
    false_negative_weight: float = 1.0
    false_positive_weight: float = 1.0

    def __post_init__(self) -> None:
        for weight in (self.false_negative_weight, self.false_positive_weight):
            if not (np.isfinite(weight) and weight >= 0):
                raise ValueError(f"{self}: the class weights must be numbers >= 0; got {weight}")

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        cost = self.false_negative_weight * false_negatives + self.false_positive_weight * false_positives
        return cost / np.maximum(positives + negatives, 1) if self.normalize else cost

    def counts(self, positives: int, negatives: int) -> CountFunction:
        unit = 1 / max(positives + negatives, 1) if self.normalize else 1.0
        rates = (unit * self.false_negative_weight, unit * self.false_positive_weight)
        return Linear((positives, negatives), rates)


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
        p = positives + negatives
        shares, costs = np.transpose(self.knots)
        place = np.arange(p + 1) / max(p, 1)
        values = np.interp(place, shares, costs)
        # Within one piece every step is the same number, so that straight pieces have no curvature at all.
        piece = np.clip(np.searchsorted(shares, place[:-1], side="right") - 1, 0, len(shares) - 2)
        slopes = np.diff(costs) / np.diff(shares) / max(p, 1)
        steps = slopes[piece]
        for k in np.flatnonzero(place[1:] > shares[piece + 1]):
            steps[k] = self._exact_cost(Fraction(int(k) + 1, p)) - self._exact_cost(Fraction(int(k), p))
        return AxisCurve((p,), 0, values, steps)

    def _exact_cost(self, share: Fraction) -> Fraction:
        """The curve in rational arithmetic, for the few steps across a knot, which floats would cancel."""
        right = next(k for k in range(1, len(self.knots)) if self.knots[k][0] >= share)
        (r0, c0), (r1, c1) = (tuple(map(Fraction, self.knots[k])) for k in (right - 1, right))
        return c0 + (c1 - c0) * (share - r0) / (r1 - r0)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        p = positives + negatives
        return SetFunction(self.counts(p, 0), np.zeros(p, dtype=np.intp))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.on_counts(len(as_labels(y_true, "y_true", ndim=(1,))), 0)

    def element_groups(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        return np.zeros(len(truth), dtype=np.intp)

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        return _sizes_only(positives, negatives)


@dataclass(frozen=True)
class CallableLoss(CountLoss):
    """A loss given by a callable of (fn, fp, positives, negatives); see `from_counts`."""

    function: Callable[[Any, Any, Any, Any], Any]
    elementwise: bool = field(default=False)

    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        tallies = np.broadcast_arrays(false_negatives, false_positives, positives, negatives)
        function = np.vectorize(self.function, otypes=[float]) if self.elementwise else self.function
        values = np.asarray(function(*tallies), dtype=np.float64)
        if values.shape != tallies[0].shape:
            raise ValueError(
                f"the loss maps counts of shape {tallies[0].shape} to shape {values.shape}; "
                "pass elementwise=True if it takes single numbers"
            )
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).ravel())[0]
            n, q, m, r = (int(t.ravel()[bad]) for t in tallies)
            raise ValueError(
                f"a loss must be finite and non-negative; with {n} false negatives of {m} positives and "
                f"{q} false positives of {r} negatives this one is {values.ravel()[bad]}"
            )
        return values


@dataclass(frozen=True, eq=False)
class FixedSetLoss(Loss):
    """The same set function of mistakes for every example, whatever its labels; see `from_set_function`."""

    function: SetFunction

    def _on_rows(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
        self.on_counts(truth.shape[1], 0)
        return np.asarray(self.function(truth != predicted))

    def _on_bags(self, truth: NDArray[np.bool_], predicted: NDArray[np.bool_], bags: Bags) -> Array:
        wrong_size = np.flatnonzero(bags.sizes != self.function.p)
        if wrong_size.size:
            raise ValueError(
                f"this loss is for sets of {self.function.p} elements; bag {wrong_size[0]} has "
                f"{bags.sizes[wrong_size[0]]}"
            )
        return np.asarray(self.function((truth != predicted).reshape(len(bags), -1)))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        return self.on_counts(len(as_labels(y_true, "y_true", ndim=(1,))), 0)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        if positives + negatives != self.function.p:
            raise ValueError(
                f"this loss is for sets of {self.function.p} elements; got one of {positives + negatives}"
            )
        return self.function

    def element_groups(self, truth: NDArray[np.bool_], bags: Bags) -> NDArray[np.intp]:
        return np.tile(self.function.groups, len(bags))

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        return _sizes_only(positives, negatives)


def _sizes_only(positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.stack([positives + negatives, np.zeros_like(positives)], axis=1)


def from_counts(function: Callable[[Any, Any, Any, Any], Any], *, elementwise: bool = False) -> CallableLoss:
    """A loss from a callable of (false negatives, false positives, positives, negatives).

    The callable is called with arrays; with ``elementwise=True`` it is called with one number each.
    """
    return CallableLoss(function, elementwise)


def from_set_function(function: SetFunction) -> FixedSetLoss:
    """A loss from one set function of mistakes over a fixed number of elements."""
    if not isinstance(function, SetFunction):
        raise TypeError(f"from_set_function takes a SetFunction; got {type(function).__name__}")
    return FixedSetLoss(function)


def checked_knots(knots: Any) -> tuple[tuple[float, float], ...]:
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

NAMED_LOSSES: dict[str, Loss] = {
    "dice": Dice(),
    "f1": Dice(),
    "jaccard": Jaccard(),
    "hamming": Hamming(),
    **PAPER_CURVES,
}
"""What a loss may be called on the command line and in the estimators."""


def loss_named(name: str) -> Loss:
    """The loss of that name; see `NAMED_LOSSES`."""
    try:
        return NAMED_LOSSES[name.lower()]
    except KeyError:
        raise ValueError(f"there is no loss {name!r}; the names are {', '.join(NAMED_LOSSES)}") from None
