"""The one place where a loss and an operator become plans: closed forms for all counts at once, else one surrogate
per kind of bag, read as a record where it can be and evaluated by its own `cut` where it cannot.
"""

from __future__ import annotations

from functools import lru_cache
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from setloss.losses import Loss
from setloss.operators.cut import Surrogate
from setloss.operators.names import Operator, operator_named
from setloss.plans.closed_forms import Scale, closed_form
from setloss.plans.lowering import NoPlanError, lower
from setloss.plans.plain import PlainPlans
from setloss.plans.records import NONE, Plans

Counts = NDArray[np.intp]

MANY_ELEMENTS = 2048
"""Surrogates of larger sets hold arrays of their size; only a few of them are kept."""


def make_plans(
    loss: Loss, operator: str | Operator, scale: Scale, positives: Counts, negatives: Counts
) -> Plans | PlainPlans:
    """The plans of bags with these numbers of positives and negatives."""
    closed = closed_form(loss, operator, scale)
    if closed is None:
        pairs = list(zip(positives.tolist(), negatives.tolist(), strict=True))
        surrogates = [surrogate_on_counts(loss, operator, scale, m, q) for m, q in pairs]
        try:
            return lower(surrogates)
        except NoPlanError:
            return PlainPlans(surrogates, [loss.on_counts(m, q).groups for m, q in pairs])
    if closed.rescaled != NONE:
        check_scale(scale)
    if np.any(positives == 0):
        loss.on_counts(0, 1)  # raises where the loss costs something that was predicted right
    return closed.plans(positives, negatives)


def check_scale(scale: Scale) -> None:
    """Raise a `ValueError` unless the scale c is a positive number or "mean"."""
    if scale != "mean" and not _is_positive(scale):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {scale!r}')


def _is_positive(scale: object) -> bool:
    return isinstance(scale, Real) and 0 < float(scale) < np.inf


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
