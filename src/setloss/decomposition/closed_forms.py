"""D in closed form: symmetric functions in O(p), and the families that know their own decomposition."""

from __future__ import annotations

import numpy as np

from setloss.setfunctions.counts import AxisCurve, CountFunction, Split


def split_symmetric(loss: CountFunction, axis: int) -> Split:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g.

    Curvatures below the rounding error of the values are taken as zero; on long straight curves they would
    add up to far more than they are.
    """
    values, steps = loss.border(axis)
    noise = 4 * np.finfo(np.float64).eps * np.max(np.abs(values))
    curvature = np.diff(steps)
    curvature[curvature <= noise] = 0.0
    climb = np.concatenate(([0.0], np.cumsum(curvature)))
    supermodular = AxisCurve.from_steps(loss.sizes, axis, climb, "supermodular", "increasing", "non-negative")
    rest = values - supermodular.values
    rest[np.abs(rest) <= 2 * noise] = 0.0
    submodular = AxisCurve(loss.sizes, axis, rest, steps - climb, {"submodular": True})
    return Split(submodular, supermodular, "g'' = max(0, l'')")
