"""The one place where a loss and an operator become plans: closed forms for all counts at once, else one surrogate
per kind of bag, read as a record where it can be and evaluated by its own `cut` where it cannot.

Closed forms are arithmetic on the numbers of positives and negatives of a bag: no set function and no table. Which
operator becomes which parts, with l = f + g the decomposition of `setloss.setfunctions.tversky`:

    slack, margin     the rescaled l
    lovasz            L l, where l is submodular
    bd, bd-monotone   L l where l is submodular, else L f (or L of the closure min(f, f(V))) plus the rescaled g
    hinge             L of the number of mistakes

The arithmetic is the same for NumPy arrays and torch tensors, so that a device reads the fields of its plans where
the counts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.arguments import is_positive_number
from setloss.losses import CountLoss, Hamming, Loss, TverskyFamily
from setloss.operators.cut import Surrogate
from setloss.operators.names import Operator, operator_named
from setloss.plans.lowering import NoPlanError, lower
from setloss.plans.python_fallback import PythonPlans
from setloss.plans.records import (
    LINEAR,
    NONE,
    TVERSKY,
    TVERSKY_SUBMODULAR,
    TVERSKY_SUPERMODULAR,
    Plans,
    blank_records,
    write_part,
)
from setloss.setfunctions.tversky import submodular_false_negative_step

Counts = NDArray[np.intp]

Scale = float | Literal["mean"]
"""The scale c of a rescaled part: a number, or "mean" for 2 / |V|, so that the mean margin of a set counts."""

MANY_ELEMENTS = 2048
"""Surrogates of larger sets hold arrays of their size; only a few of them are kept."""

RESCALINGS = ("slack", "margin")


def build_plans(
    loss: Loss, operator: str | Operator, scale: Scale, positives: Counts, negatives: Counts
) -> Plans | PythonPlans:
    """The plans of bags with these numbers of positives and negatives."""
    closed = closed_form(loss, operator, scale)
    if closed is None:
        pairs = list(zip(positives.tolist(), negatives.tolist(), strict=True))
        surrogates = [surrogate_on_counts(loss, operator, scale, m, q) for m, q in pairs]
        try:
            return lower(surrogates)
        except NoPlanError:
            return PythonPlans(surrogates, [loss.on_counts(m, q).partition for m, q in pairs])
    if closed.rescaled != NONE:
        check_scale(scale)
    if np.any(positives == 0):
        loss.on_counts(0, 1)  # raises where the loss costs something that was predicted right
    return closed.plans(positives, negatives)


def check_scale(scale: Scale) -> None:
    """Raise a `ValueError` unless the scale c is a positive number or "mean"."""
    if scale != "mean" and not is_positive_number(scale):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {scale!r}')


def surrogate_on_counts(
    loss: Loss, operator: str | Operator, scale: Scale, positives: int, negatives: int
) -> Surrogate:
    """The reference surrogate of a bag with that many positives and negatives, positives first; cached."""
    cached = _small_surrogate if positives + negatives <= MANY_ELEMENTS else _large_surrogate
    return cached(loss, operator, scale, positives, negatives)


def _surrogate(loss: Loss, operator: str | Operator, scale: Scale, positives: int, negatives: int) -> Surrogate:
    function = loss.on_counts(positives, negatives)
    if not isinstance(operator, str):
        return operator(function)
    check_scale(scale)
    return operator_named(operator, 2 / function.p if scale == "mean" else scale)(function)


_small_surrogate = lru_cache(maxsize=65536)(_surrogate)
_large_surrogate = lru_cache(maxsize=16)(_surrogate)


class Fields(NamedTuple):
    """The fields of a plan that depend on the counts; see `setloss.plans.records` for their meaning."""

    false_negative: Any
    false_positive: Any
    elementwise: Any
    cap: Any
    scale: Any


@dataclass(frozen=True)
class ClosedForm:
    """The kinds of the two parts of a plan, which do not depend on the counts, and how the other fields do."""

    lovasz: int
    rescaled: int
    false_negative: float
    false_positive: float
    mean: bool = False  # the costs are divided by the number of elements
    margin: bool = False
    closure: bool = False
    scale: Scale = 2.0
    undefined: float = 0.0

    def fields(self, positives: Any, negatives: Any, xp: ModuleType = np) -> Fields:
        """The fields for sets of these counts, arrays of the module `xp`."""
        m, size = positives, xp.where(positives + negatives > 0, positives + negatives, 1)
        unit = 1 / size if self.mean else 1.0
        scale = 2 / size if self.scale == "mean" else self.scale + 0.0 * size
        b, a = self.false_negative, self.false_positive
        if self.lovasz != TVERSKY_SUBMODULAR:
            return Fields(b * unit, a * unit, True, np.inf, scale)
        some = xp.where(m > 0, m, 1)
        # The smallest step of f, the last one: f is increasing iff it is >= 0. Without positives it always is.
        increasing = (submodular_false_negative_step(some - 1, negatives, some, a, b) >= 0) | (m <= 0)
        if not self.closure:
            return Fields(b, a, increasing, np.inf, scale)
        return Fields(b, a, True, xp.where(increasing, np.inf, some * b / (some - (1 - b))), scale)

    def plans(self, positives: Counts, negatives: Counts) -> Plans:
        """One record per pair of counts."""
        fields = self.fields(positives, negatives)
        records = blank_records(len(positives))
        weights = {"false_negative": fields.false_negative, "false_positive": fields.false_positive}
        write_part(records, "lovasz", kind=self.lovasz, cap=fields.cap, undefined=self.undefined, **weights)
        write_part(records, "rescaled", kind=self.rescaled, undefined=self.undefined, **weights)
        records["elementwise"], records["scale"], records["margin"] = fields.elementwise, fields.scale, self.margin
        records["axes"] = 2
        return Plans(records, np.stack([positives, negatives], axis=1).astype(np.int64), np.zeros(1))


def closed_form(loss: Loss, operator: object, scale: Scale) -> ClosedForm | None:
    """The closed form of an operator, by its name, on a loss; None where there is none for all counts."""
    if not isinstance(operator, str):
        return None
    operator_named(operator)  # raises where there is none of that name
    if operator == "hinge" and isinstance(loss, CountLoss):
        return ClosedForm(LINEAR, NONE, 1.0, 1.0)
    if isinstance(loss, Hamming):
        b, a = float(loss.false_negative_weight), float(loss.false_positive_weight)
        kinds = (NONE, LINEAR) if operator in RESCALINGS else (LINEAR, NONE)
        return ClosedForm(*kinds, b, a, mean=loss.normalize, margin=operator == "margin", scale=scale)
    if isinstance(loss, TverskyFamily):
        return _tversky(loss, operator, scale)
    return None


def _tversky(loss: TverskyFamily, operator: str, scale: Scale) -> ClosedForm | None:
    a, b = map(float, loss.weights)
    form = partial(
        ClosedForm, false_negative=b, false_positive=a, scale=scale, undefined=1 - float(loss.zero_division)
    )
    if operator in RESCALINGS:
        return form(NONE, TVERSKY, margin=operator == "margin")
    if b >= 1:
        return form(TVERSKY, NONE)
    if operator == "lovasz" or b < 0.5:
        return None  # submodular for few counts only; D is a linear program
    return form(TVERSKY_SUBMODULAR, TVERSKY_SUPERMODULAR, closure=operator == "bd-monotone")
