"""D in closed form: symmetric functions in O(p), and the families that know their own decomposition."""

from __future__ import annotations

import numpy as np

from setloss.decomposition.feasibility import holds_up_to_rounding, without_rounding
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split
from setloss.setfunctions.differences import bend_noise
from setloss.typing import Array

MAX_JUDGED_VALUES = 401
"""Longest curve whose laws are judged to the last digit: the linear program takes over up to this length."""


def split_symmetric(loss: CountFunction, axis: int) -> Split | None:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g.

    Curvatures that rounding explains are taken as zero; on long straight curves they would add up to far more than
    they are. None where l - g in floats is not submodular by its own size, being small beside g.
    """
    values, steps = loss.border(axis)
    required = np.diff(steps)
    if len(required):
        required[required <= bend_noise(values, 0, 0)] = 0.0
    climb = _from_zero(required)
    g = _from_zero(climb)
    f = without_rounding(values - g, values, g)
    if len(values) <= MAX_JUDGED_VALUES and not holds_up_to_rounding(values, g, f):
        return None
    upward = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)
    return Split(
        AxisCurve(loss.sizes, axis, f, steps - climb, {"submodular": True}),
        AxisCurve(loss.sizes, axis, g, climb, upward),
        "g'' = max(0, l'')",
    )


def _from_zero(steps: Array) -> Array:
    return np.concatenate(([0.0], np.cumsum(steps)))
