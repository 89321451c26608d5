"""Losses with a formula in false negatives and false positives: the Tversky family and Hamming."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.arguments import is_number_within
from setloss.losses.families import CountLoss, Form, Loss
from setloss.setfunctions.counts import CountFunction, Kind
from setloss.setfunctions.tversky import defined_loss


class TverskyFamily(CountLoss):
    """1 - TP / (TP + a FP + b FN).

    Examples
    --------
    >>> Dice().weights, FBeta(2.0).weights, isinstance(Jaccard(), TverskyFamily)
    ((0.5, 0.5), (0.8, 0.2), True)
    """

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
        b, a = self.weights
        n, q, m = (np.asarray(x, dtype=np.float64) for x in (false_negatives, false_positives, positives))
        return defined_loss(n, q, m, a, b, 1 - self.zero_division)

    def counts(self, positives: int, negatives: int) -> CountFunction:
        if positives == 0 and self.zero_division != 1:
            raise ValueError(
                f"{self} costs {1 - self.zero_division:g} on an example without positives that is predicted "
                "right; a set function needs l(empty) = 0. Train with zero_division=1, or leave out examples "
                "without positives."
            )
        return super().counts(positives, negatives)

    @property
    def form(self) -> Form:
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
    def form(self) -> Form:
        costs = float(self.false_negative_weight), float(self.false_positive_weight)
        return Form(Kind.LINEAR, *costs, mean=bool(self.normalize))


def loss_of(form: Form) -> Loss:
    """A loss with these numbers."""
    if form.kind == Kind.TVERSKY:
        return Tversky(form.false_positive, form.false_negative, 1 - form.undefined)
    return Hamming(form.mean, form.false_negative, form.false_positive)
