"""Measurements behind certificates by the pointwise bound: feasibility, and distance from the bound."""

from __future__ import annotations

import numpy as np

from setloss.decomposition.certificate import Measured, mean_over_subsets
from setloss.decomposition.feasibility import infeasibility, relative
from setloss.decomposition.lower_bound import pointwise_lower_bound
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Table
from setloss.setfunctions.differences import (
    ROUNDING,
    Inequalities,
    bend_noise,
    cell_levels,
    descent,
    largest_below,
    negativity,
)
from setloss.setfunctions.properties import CORNER
from setloss.typing import Array

EXHAUSTIVE_CELLS = 2**12
"""Closed forms over several groups are measured in every cell up to this size, beyond it at borders and corners."""


def measure_table(
    loss: Array, supermodular: Array, submodular: Array | None = None, least: Array | None = None
) -> Measured:
    """Every cell: feasibility, and the excess of g over `least`, by default the lower bound, relative to g itself.

    Either is known up to the rounding of the values of l below it.
    """
    bound = pointwise_lower_bound(loss) if least is None else least
    noise = ROUNDING * largest_below(loss) * cell_levels(loss.shape) ** 2
    residual = relative(np.abs(supermodular - bound) - noise, np.maximum(np.abs(supermodular), bound))
    feasibility = infeasibility(loss, supermodular, submodular)
    return Measured(feasibility, residual, mean_over_subsets(Table(bound)))


def measure_curve(loss: CountFunction, split: Split, axis: int) -> Measured:
    """A border, all other counts zero, in O(p): bends are read off the steps, for differences of values lose digits.

    Increments of g are compared with those of the bound, which starts flat and has ``max(0, l'')`` as its bends.
    """
    parts = (loss, split.supermodular, split.submodular)
    (values, steps), (g, g_steps), (f, f_steps) = (part.border(axis) for part in parts)
    sizes = np.maximum(np.abs(values), np.abs(g))
    families, bends = [*negativity(g), *descent(g)], np.diff(steps)
    if len(bends):
        families += [Inequalities(g, -np.diff(g_steps), (0, 0)), Inequalities(f, np.diff(f_steps), (0, 0), sizes)]
        bends = np.where(bends > bend_noise(values, 0, 0), bends, 0.0)
    broken = [family.violation() for family in families]
    broken.append(relative(np.abs(f + g - values), np.maximum(sizes, np.abs(f))))
    bound = np.concatenate(([0.0], np.cumsum(bends)))[: len(steps)]
    noise = ROUNDING * np.arange(len(bound)) * np.maximum.accumulate(np.abs(steps))
    residual = relative(np.abs(g_steps - bound) - noise, np.maximum(np.abs(g_steps), bound))
    dual = mean_over_subsets(AxisCurve.from_steps(loss.sizes, axis, bound))
    return Measured(float(np.max(broken)), residual, dual)


def measure_closed_form(loss: CountFunction, split: Split) -> Measured:
    """A closed form without a table: along the borders, and in the smallest and largest counts of all groups.

    On a border all other counts are zero. Mixed differences of g are not negative, so the bounds along the borders
    add up to a bound on g.
    """
    g, f = split.supermodular, split.submodular
    borders = [measure_curve(loss, split, axis) for axis in range(len(loss.sizes))]
    near = tuple(min(length, CORNER) for length in loss.shape)
    top = tuple(length - low for length, low in zip(loss.shape, near, strict=True))
    origin = measure_table(loss.block(near), g.block(near), f.block(near))
    broken = [infeasibility(loss.block(near, top), g.block(near, top), f.block(near, top))]
    broken += [one.feasibility for one in (*borders, origin)]
    residuals = [one.column_residual for one in (*borders, origin)]
    dual = sum(border.dual for border in borders)
    checked = f"all borders, and the {CORNER} smallest and largest counts of every group"
    return Measured(float(np.max(broken)), float(np.max(residuals)), dual, checked)  # unlike `max`, these keep a NaN
