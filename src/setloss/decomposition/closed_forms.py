"""D in closed form: symmetric functions in O(p), and the families that know their own decomposition."""

from __future__ import annotations

import numpy as np

from setloss.decomposition.feasibility import without_rounding
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split
from setloss.setfunctions.differences import bend_noise
from setloss.typing import Array

MAX_SUMMED_VALUES = 401
"""Longest curve whose f is the sum of its own steps; on longer ones the sum has larger errors than f = l - g."""


def split_symmetric(loss: CountFunction, axis: int) -> Split:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g; f = l - g.

    Bends of l that rounding explains are taken as zero, for on long straight curves their sum would be no small g.
    """
    values, steps = loss.border(axis)
    bends = np.diff(steps)
    noise = bend_noise(values, 0, 0) if len(bends) else 0.0
    required = np.where(bends > noise, bends, 0.0)
    climb, descent = _from_zero(required), steps[:1] + _from_zero(bends - required)
    g = _from_zero(climb)
    if len(values) <= MAX_SUMMED_VALUES:  # a difference has the rounding errors of l, which may be larger than f
        f = np.where(g == 0, values, _from_zero(descent))
    else:
        f = without_rounding(values - g, values, g)
    upward = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)
    return Split(
        AxisCurve(loss.sizes, axis, f, descent, {"submodular": True}),
        AxisCurve(loss.sizes, axis, g, climb, upward),
        "g'' = max(0, l'')",
    )


def _from_zero(steps: Array) -> Array:
    return np.concatenate(([0.0], np.cumsum(steps)))
