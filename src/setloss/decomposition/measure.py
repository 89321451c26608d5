"""Measurements behind certificates by the pointwise bound: feasibility, and distance from the bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setloss.decomposition.certificate import mean_over_subsets
from setloss.decomposition.feasibility import infeasibility, mismatch, relative
from setloss.decomposition.lower_bound import pointwise_lower_bound
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Table
from setloss.setfunctions.differences import (
    ROUNDING,
    Inequalities,
    axis_pairs,
    bend_noise,
    cell_levels,
    descent,
    largest_below,
    negativity,
)
from setloss.typing import Array

EXHAUSTIVE_CELLS = 2**12
"""Closed forms are checked in every cell up to this size, beyond it in sampled cells."""

SAMPLED_CELLS = 4096


@dataclass(frozen=True)
class Measured:
    """Distances of a pair from feasible and from the bound, the cells that were checked, the mean of the bound."""

    feasibility: float
    column_residual: float
    checked: str
    dual: float


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
    return Measured(feasibility, residual, "every cell", mean_over_subsets(Table(bound)))


def measure_curve(loss: CountFunction, split: Split, axis: int) -> Measured:
    """One populated group: g(0) = g(1) = 0 and g'' = max(0, l'') is the pointwise bound, all read off in O(p).

    Curvatures are compared relative to the increments next to them, values relative to those of f, g and l there.
    """
    (values, steps), (g, g_steps) = loss.border(axis), split.supermodular.border(axis)
    f, f_steps = split.submodular.border(axis)
    sizes = np.maximum(np.abs(values), np.abs(g))
    families = [*negativity(g), *descent(g)]
    if len(values) > 2:
        families += [Inequalities(g, -np.diff(g_steps), (0, 0)), Inequalities(f, np.diff(f_steps), (0, 0), sizes)]
    broken = [family.violation() for family in families]
    broken += [mismatch(values, g, f), _steps_off(g, g_steps, sizes), _steps_off(f, f_steps, sizes)]
    bound = _border_bound(loss, axis)
    noise = ROUNDING * np.arange(len(bound)) * np.maximum.accumulate(np.abs(steps))
    residual = relative(np.abs(g_steps - bound) - noise, np.maximum(np.abs(g_steps), bound))
    dual = mean_over_subsets(AxisCurve.from_steps(loss.sizes, axis, bound))
    return Measured(float(np.max([*broken, abs(float(g[0]))])), residual, "every cell", dual)


def _steps_off(values: Array, steps: Array, sizes: Array) -> float:
    """The largest distance of steps from the differences of the values, relative to the sizes of l and g there."""
    return relative(np.abs(np.diff(values) - steps), np.maximum(sizes[1:], sizes[:-1]))


def _border_bound(loss: CountFunction, axis: int) -> Array:
    """The increments of the pointwise bound along one axis, all other counts zero."""
    values, steps = loss.border(axis)
    required = np.diff(steps)
    if len(required):
        required[required <= bend_noise(values, 0, 0)] = 0.0
    return np.concatenate(([0.0], np.cumsum(required)))


def measure_sampled(loss: CountFunction, split: Split) -> Measured:
    """A closed form without a table: increments at sampled counts, relative to the increments of l there.

    f and g must add up to l, f bend down and g up. Optimality: telescoping g over its borders (all other counts
    zero) and the mixed differences, it meets the pointwise bound iff it starts flat, each border increment is
    the sum of ``max(0, l'')`` up to there, and each mixed difference is ``max(0, the same one of l)``. The bounds
    along the borders add up to a bound on g: mixed differences of g are not negative.
    """
    broken, excess = _sampled_bends(loss, split)
    dual = 0.0
    for axis, n in enumerate(loss.sizes):
        if n > 0:
            climb, bound = split.supermodular.border(axis)[1], _border_bound(loss, axis)
            unit = np.maximum.accumulate(np.abs(loss.border(axis)[1]))
            excess = max(excess, relative(np.abs(climb - bound), unit))
            dual += mean_over_subsets(AxisCurve.from_steps(loss.sizes, axis, bound))
    return Measured(broken, excess, f"{SAMPLED_CELLS} sampled cells per pair of groups", dual)


def _sampled_bends(loss: CountFunction, split: Split) -> tuple[float, float]:
    """Breaches of feasibility, and of the bound by mixed differences, in sampled cells."""
    generator = np.random.default_rng(0)
    f, g = split.submodular, split.supermodular
    broken = excess = 0.0
    for b, c in axis_pairs(loss.shape):
        low = [
            np.concatenate(([0, n - t], generator.integers(0, n - t + 1, SAMPLED_CELLS)))
            for n, t in ((n, (axis == b) + (axis == c)) for axis, n in enumerate(loss.sizes))
        ]
        high = [count + (axis == c) for axis, count in enumerate(low)]
        steps = {function: (function.step(b, *low), function.step(b, *high)) for function in (loss, f, g)}
        unit = np.max(np.abs(list(steps.values())), axis=(0, 1))
        adds_up = np.abs(steps[f][0] + steps[g][0] - steps[loss][0])
        bend = {function: second - first for function, (first, second) in steps.items()}
        broken = max(broken, *(relative(x, unit) for x in (adds_up, bend[f], -bend[g])))
        if b != c:
            excess = max(excess, relative(np.abs(bend[g] - np.maximum(bend[loss], 0)), unit))
    return broken, excess
