"""D in closed form: symmetric functions in O(p), and the families that know their own decomposition."""

from __future__ import annotations

import numpy as np

from setloss.decomposition.exact import rest_exactly, rest_in_floats, rounded, to_integers
from setloss.decomposition.lower_bound import Numbers
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split
from setloss.setfunctions.tolerance import RELATIVE_TOLERANCE, bend_noise, curvature
from setloss.typing import Array

MAX_EXACT_VALUES = 2**17
"""Longest curve that is decomposed in exact arithmetic where floats do not suffice; that takes a second."""


def split_symmetric(loss: CountFunction, axis: int) -> Split:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g.

    Curvatures that rounding explains are taken as zero; on long straight curves they would add up to far more than
    they are. Where f is then not submodular by its own size, the same in exact arithmetic; where it still is not,
    without that exception.
    """
    values, steps = loss.border(axis)
    noise = bend_noise(values, 0, 0) if len(values) > 2 else np.empty(0)
    split = _in_floats(loss, axis, values, steps, noise)
    for noise_or_none in (noise, None):
        bends = curvature(split.submodular.border(axis)[0], 1.0)
        if len(values) > MAX_EXACT_VALUES or all(bend.violation() <= RELATIVE_TOLERANCE for bend in bends):
            break
        split = _exactly(loss, axis, values, noise_or_none)
    return split


def _in_floats(loss: CountFunction, axis: int, values: Array, steps: Array, noise: Array) -> Split:
    required = np.diff(steps)
    required[required <= noise] = 0.0
    climb = _from_zero(required)
    g = _from_zero(climb)
    return _split(loss, axis, (rest_in_floats(values, g), steps - climb), (g, climb))


def _exactly(loss: CountFunction, axis: int, values: Array, noise: Array | None) -> Split:
    numbers, unit = to_integers(values)
    required = np.maximum(np.diff(numbers, 2), 0)
    if noise is not None:
        required[rounded(required, unit) <= noise] = 0
    climb = _from_zero(required)
    g = _from_zero(climb)
    return _split(
        loss,
        axis,
        (rest_exactly(numbers, g, unit), rounded(np.diff(numbers) - climb, unit)),
        (rounded(g, unit), rounded(climb, unit)),
    )


def _from_zero(steps: Numbers) -> Numbers:
    return np.concatenate((np.zeros(1, dtype=steps.dtype), np.cumsum(steps)))


def _split(loss: CountFunction, axis: int, f: tuple[Array, Array], g: tuple[Array, Array]) -> Split:
    """The two curves from their values and steps."""
    upward = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)
    return Split(
        AxisCurve(loss.sizes, axis, *f, {"submodular": True}),
        AxisCurve(loss.sizes, axis, *g, upward),
        "g'' = max(0, l'')",
    )
