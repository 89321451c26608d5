"""What certificates by the pointwise bound rest on: feasibility and distance from the bound, measured on f and g."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, mean_over_subsets
from setloss.decomposition.exact import rest_exactly, rest_in_floats, rounded, to_integers
from setloss.decomposition.lower_bound import bound_of, meets, pointwise_lower_bound, required_curvature
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Table
from setloss.setfunctions.differences import axis_pairs, cell_levels, second_difference, without_modular_part
from setloss.setfunctions.tolerance import (
    ROUNDING,
    SMALLEST,
    Inequalities,
    bend_noise,
    curvature,
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
    """How far a pair is from feasible and from the pointwise bound, where that was looked at, the bound's mean."""

    feasibility: float
    column_residual: float
    checked: str
    dual: float


def infeasibility(
    loss: Array, supermodular: Array, submodular: Array | None = None, rtol: float = FEASIBILITY_TOLERANCE
) -> float:
    """The largest breach of a law by g, by f, and by f + g = l; at most `rtol` is none.

    Without f it is l - g, which has the rounding errors of l and g.
    """
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    laws = (curvature(supermodular, -1.0), descent(supermodular), negativity(supermodular))
    families = [replace(family, sizes=sizes) for law in laws for family in law]
    families += _bends_of_rest(loss, supermodular, submodular)
    broken = [family.violation(rtol) for family in families]
    if submodular is not None:
        broken.append(_mismatch(loss, supermodular, submodular))
    return float(np.max(broken))


def breaks_rounding_only(loss: Array, supermodular: Array, submodular: Array) -> bool:
    """Whether the laws hold up to sums of rounding errors.

    What is broken by more, though by less than `FEASIBILITY_TOLERANCE`, may be a small value of l beside large ones.
    """
    sums = ROUNDING * sum(loss.shape)
    return infeasibility(loss, supermodular, submodular, sums) <= sums


def _bends_of_rest(loss: Array, supermodular: Array, submodular: Array | None) -> Iterator[Inequalities]:
    """``f(A + i + j) - f(A + i) - f(A + j) + f(A) <= 0``, by the gains of f with and without l's modular part.

    D does not see modular terms; a large one must not hide a breach.
    """
    rest = loss - supermodular if submodular is None else submodular
    sizes = np.maximum(np.abs(loss), np.abs(supermodular)) if submodular is None else np.abs(submodular)
    curved = rest - (loss - without_modular_part(loss))
    for b, c in axis_pairs(loss.shape):
        bends = second_difference(rest, b, c)
        yield Inequalities(rest, bends, (b, c), sizes)
        yield Inequalities(curved, bends, (b, c), sizes)


def _mismatch(loss: Array, supermodular: Array, submodular: Array) -> float:
    """``|f + g - l|`` relative to the largest of the three, cell by cell."""
    sizes = np.maximum(np.maximum(np.abs(loss), np.abs(supermodular)), np.abs(submodular))
    difference = np.abs(submodular + supermodular - loss)
    return _relative(difference, sizes)


def measure_table(
    loss: Array, supermodular: Array, submodular: Array | None = None, bound: Array | None = None
) -> Measured:
    """Every cell: feasibility, and the excess of g over the pointwise lower bound, relative to g itself.

    Either is known up to the rounding of the values of l below it. The bound may be given, from exact arithmetic.
    """
    bound = pointwise_lower_bound(loss) if bound is None else bound
    noise = ROUNDING * largest_below(loss) * cell_levels(loss.shape) ** 2
    residual = _relative(np.abs(supermodular - bound) - noise, np.maximum(np.abs(supermodular), bound))
    feasibility = infeasibility(loss, supermodular, submodular)
    return Measured(feasibility, residual, "every cell", mean_over_subsets(Table(bound)))


def _relative(excess: Array, sizes: Array) -> float:
    """The largest excess relative to its size; 0 where nothing exceeds, NaN where something is no number.

    What rounding does at the lower end of float64 is no excess.
    """
    return float(np.max(np.maximum(excess - SMALLEST, 0.0) / np.maximum(sizes, SMALLEST), initial=0.0))


MAX_EXACT_CELLS_TIMES_PAIRS = 2**20
"""Largest table (cells times squared number of groups) whose bound is tried in exact arithmetic; about a second."""


def feasible_bound(table: Array) -> tuple[Array, Array] | None:
    """(f, g) with g the pointwise bound if that is feasible, which makes it D's; None if it is not."""
    g = pointwise_lower_bound(table)
    f = rest_in_floats(table, g)
    is_large = table.size * table.ndim**2 > MAX_EXACT_CELLS_TIMES_PAIRS
    if breaks_rounding_only(table, g, f) or (is_large and infeasibility(table, g, f) <= FEASIBILITY_TOLERANCE):
        return f, g
    for f, g in () if is_large else _exact_bound_and_rest(table):
        if infeasibility(table, g, f) <= FEASIBILITY_TOLERANCE:
            return f, g
    return None


def _exact_bound_and_rest(table: Array) -> Iterator[tuple[Array, Array]]:
    """The bound if it is feasible in exact arithmetic, without and then with the noise of straight lines."""
    numbers, unit = to_integers(table)
    for noise in (table, None):
        required = required_curvature(numbers, noise)
        bound = bound_of(required, table.shape)
        if not meets(bound, required):
            return
        yield rest_exactly(numbers, bound, unit), rounded(bound, unit)


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
    broken += [_mismatch(values, g, f), _steps_off(g, g_steps, sizes), _steps_off(f, f_steps, sizes)]
    bound = _border_bound(loss, axis)
    noise = ROUNDING * np.arange(len(bound)) * np.maximum.accumulate(np.abs(steps))
    residual = _relative(np.abs(g_steps - bound) - noise, np.maximum(np.abs(g_steps), bound))
    dual = mean_over_subsets(AxisCurve.from_steps(loss.sizes, axis, bound))
    return Measured(float(np.max([*broken, abs(float(g[0]))])), residual, "every cell", dual)


def _steps_off(values: Array, steps: Array, sizes: Array) -> float:
    """How far steps are from the differences of the values, relative to the sizes of l and g there."""
    return _relative(np.abs(np.diff(values) - steps), np.maximum(sizes[1:], sizes[:-1]))


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
            excess = max(excess, _relative(np.abs(climb - bound), unit))
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
        broken = max(broken, *(_relative(x, unit) for x in (adds_up, bend[f], -bend[g])))
        if b != c:
            excess = max(excess, _relative(np.abs(bend[g] - np.maximum(bend[loss], 0)), unit))
    return broken, excess
