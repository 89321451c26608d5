"""Measurements behind certificates: feasibility of a pair (f, g) for l, and optimality by the pointwise lower bound.

Each law is judged by the magnitudes that are in it (`setfunctions.differences`), so that small values do not drown in
large ones.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, Measured, mean_over_subsets
from setloss.decomposition.lower_bound import only_axis, pointwise_lower_bound, without_rounding
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Table
from setloss.setfunctions.differences import (
    ROUNDING,
    SMALLEST,
    Inequalities,
    axis_pairs,
    bend_noise,
    cell_levels,
    curvature,
    descent,
    largest_below,
    negativity,
    second_difference,
    without_modular_part,
)
from setloss.setfunctions.properties import CORNER
from setloss.typing import Array

EXHAUSTIVE_CELLS = 2**12
"""Closed forms over several groups are measured in every cell up to this size, beyond it at borders and corners."""

ROUNDING_OF_ROWS = 8 * ROUNDING
"""Share of max|l| below which a slack of the linear program is rounding: 64 last digits of the largest value of l,
2e-6 of the smallest number in range."""


# ---------------------------------------------------------------- feasibility


def infeasibility(
    loss: Array, supermodular: Array, submodular: Array | None = None, rtol: float = FEASIBILITY_TOLERANCE
) -> float:
    """The largest breach of a law by g, by f, and by f + g = l; at most `rtol` is none.

    Without f it is l - g, which has the rounding errors of l and g.
    """
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    laws = (curvature(supermodular, -1), descent(supermodular), negativity(supermodular))
    families = [replace(family, sizes=sizes) for law in laws for family in law]
    families += _bends_of_rest(loss, supermodular, submodular)
    broken = [family.violation(rtol) for family in families]
    if submodular is not None:
        off = np.abs(submodular + supermodular - loss)
        broken.append(relative(off, np.maximum(sizes, np.abs(submodular))))
    return float(np.max(broken))


def _bends_of_rest(loss: Array, supermodular: Array, submodular: Array | None) -> Iterator[Inequalities]:
    """``f(A + i + j) - f(A + i) - f(A + j) + f(A) <= 0``, by the gains of f with and without l's modular part.

    D does not see modular terms; a large one must not hide a breach. Where f is straight its bends are nothing but
    what rounding of l and of the rows of the program left.
    """
    if submodular is None:
        rest, sizes = loss - supermodular, np.maximum(np.abs(loss), np.abs(supermodular))
    else:
        rest, sizes = submodular, np.full_like(loss, 2 * ROUNDING_OF_ROWS / ROUNDING * np.max(np.abs(loss)))
    curved = rest - (loss - without_modular_part(loss))
    for b, c in axis_pairs(loss.shape):
        bends = second_difference(rest, b, c)
        yield Inequalities(rest, bends, (b, c), sizes)
        yield Inequalities(curved, bends, (b, c), sizes)


def relative(excess: Array, sizes: Array) -> float:
    """The largest excess relative to its size; 0 where nothing exceeds, NaN where something is no number.

    What rounding does at the lower end of float64 is no excess.
    """
    return float(np.max(np.maximum(excess - SMALLEST, 0.0) / np.maximum(sizes, SMALLEST), initial=0.0))


# ---------------------------------------------------------------- optimality


def feasible_bound(table: Array) -> tuple[Array, Array] | None:
    """(f, g) with g the pointwise lower bound if the laws hold up to sums of rounding errors, which makes it D's.

    What is broken by more, though by less than `FEASIBILITY_TOLERANCE`, may be a small value of l beside large ones.
    """
    g = pointwise_lower_bound(table)
    f = without_rounding(table - g, table, g)
    sums = ROUNDING * sum(table.shape)
    return (f, g) if infeasibility(table, g, f, sums) <= sums else None


def measure_split(loss: CountFunction, split: Split) -> Measured:
    """A closed form: along the curve of its only group, in every cell, or at borders and corners."""
    if (axis := only_axis(loss)) is not None:
        return measure_curve(loss, split, axis)
    if isinstance(loss, Table) or loss.cells <= EXHAUSTIVE_CELLS:
        return measure_table(loss.table(), split.supermodular.table())
    return measure_closed_form(loss, split)


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
