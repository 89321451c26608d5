"""A lower bound on every feasible g, cell by cell; where it is itself feasible, it is D l.

Any feasible g has second differences of at least ``r_bc = max(0, those of l)`` and starts with g(empty) = 0
and increments >= 0. Its increment ``d_b(a) = g(a + e_b) - g(a)`` therefore obeys

    d_b(a) >= d_b(a - e_c) + r_bc(a - e_c)   for every c,      g(a) >= g(a - e_b) + d_b(a - e_b)   for every b,

and the largest right-hand sides, level by level, bound g from below whatever path one telescopes along. A
feasible function that meets a pointwise lower bound is the minimiser, and the only one. Of one group the bound is
always feasible: ``g'' = max(0, l'')``, in O(p).

**Measurements** behind certificates: feasibility of a pair (f, g) for l, and optimality by that bound.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE, Measured, TableRangeError, mean_over_subsets
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Table, TableTooLargeError
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

Numbers = NDArray[Any]
"""An array of floats or of Python integers."""

Curvature = dict[tuple[int, int], Numbers]
"""A block of second differences for each pair of axes, in the order of `axis_pairs`."""

MAX_RANGE = 1e8
"""Largest of the values and positive second differences of a table that D takes, over the smallest that is not zero.

A second difference of float64 values is known to `ROUNDING` times the largest, so the smallest number that g must
follow is known to a relative 2e-7 (docs/reading-the-paper.md): rounding is never mistaken for a number.
"""

MAX_CELLS_TIMES_PAIRS = 2**29
"""Cells times squared number of groups: 2 GiB; p = 20 if every element is a group of its own."""

DOWNWARD = {"submodular": True}
UPWARD = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)
"""The laws of every f, and of every g."""

EXHAUSTIVE_CELLS = 2**12
"""Closed forms over several groups are measured in every cell up to this size, beyond it at borders and corners."""

ROUNDING_OF_ROWS = 8 * ROUNDING
"""Share of max|l| below which a slack of the linear program is rounding: 64 last digits of the largest value of l,
2e-6 of the smallest number in range."""


# ---------------------------------------------------------------- the lower bound


def only_axis(counts: CountFunction) -> int | None:
    """The axis of the only group that has elements, if there is but one."""
    populated = [b for b, n in enumerate(counts.sizes) if n > 0]
    return populated[0] if len(populated) == 1 else None


def split_symmetric(loss: CountFunction) -> Split | None:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l''), the pointwise smallest feasible g; f = l - g.

    Bends of l that rounding explains are taken as zero, for on long straight curves their sum would be no small g.
    """
    axis = only_axis(loss)
    if axis is None:
        return None
    values, steps = loss.border(axis)
    bends = np.diff(steps)
    required = np.where(bends > bend_noise(values, 0, 0), bends, 0.0)
    climb, descent = _from_zero(required), steps[:1] + _from_zero(bends - required)
    g = _from_zero(climb)
    if len(values) <= 401:  # l - g has the rounding errors of l, sums of steps more and more of their own
        f = np.where(g == 0, values, _from_zero(descent))
    else:
        f = without_rounding(values - g, values, g)
    return Split(
        AxisCurve(loss.sizes, axis, f, descent, DOWNWARD),
        AxisCurve(loss.sizes, axis, g, climb, UPWARD),
        "g'' = max(0, l'')",
    )


def _from_zero(steps: Array) -> Array:
    return np.concatenate(([0.0], np.cumsum(steps)))


def without_rounding(rest: Array, loss: Array, supermodular: Array) -> Array:
    """The part f = l - g with zeros where it, and f of all subsets, are no more than |A| (or 64) rounding errors."""
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    noise = np.abs(rest) <= ROUNDING * np.minimum(cell_levels(rest.shape), 64) * sizes
    for axis in range(rest.ndim):
        noise = np.logical_and.accumulate(noise, axis)
    return np.where(noise, 0.0, rest)


def pointwise_lower_bound(table: Array) -> Array:
    """The bound described above, as a table."""
    shape = table.shape
    strides = [int(np.prod(shape[b + 1 :], dtype=np.intp)) for b in range(len(shape))]
    flat: Curvature = {}
    for (b, c), block in required_curvature(table).items():
        missing = [(0, n - m) for n, m in zip(shape, block.shape, strict=True)]
        flat[b, c] = flat[c, b] = np.pad(block, missing).ravel()
    levels = cell_levels(shape).ravel()
    counts = np.indices(shape).reshape(len(shape), -1)
    increments = np.zeros((len(shape), len(levels)))
    bound = np.zeros(len(levels))
    by_level = np.split(np.argsort(levels, kind="stable"), np.cumsum(np.bincount(levels))[:-1])
    for cells in by_level[1:]:
        for c in range(len(shape)):
            after = cells[counts[c, cells] > 0]
            before = after - strides[c]
            for b in range(len(shape)):
                if (b, c) in flat:
                    raised = increments[b, before] + flat[b, c][before]
                    increments[b, after] = np.maximum(increments[b, after], raised)
        for b in range(len(shape)):
            after = cells[counts[b, cells] > 0]
            before = after - strides[b]
            bound[after] = np.maximum(bound[after], bound[before] + increments[b, before])
    return bound.reshape(shape)


def required_curvature(table: Numbers, floats: Array | None = None) -> Curvature:
    """``max(0, second difference)`` along each pair of axes; `floats` are the values where the table has integers.

    Second differences that rounding of the floats explains are taken as zero: along straight lines they would add up
    to far more than they are.
    """
    floats = table if floats is None else floats
    required: Curvature = {}
    for b, c in axis_pairs(table.shape):
        block = np.maximum(second_difference(table, b, c), 0)
        block[second_difference(floats, b, c) <= bend_noise(floats, b, c)] = 0
        required[b, c] = block
    return required


def require_range(table: Array, required: Curvature) -> None:
    """Refuse a table whose values and required curvature, zeros apart, span more than `MAX_RANGE`.

    What rounding of the values explains is zero.
    """
    curvatures = np.concatenate([block.ravel() for block in required.values()])
    values = np.abs(table[np.abs(table) > ROUNDING * np.max(np.abs(table))])
    numbers = np.concatenate((values, curvatures[curvatures > 0]))
    largest, smallest = float(np.max(numbers)), float(np.min(numbers))
    if largest <= MAX_RANGE * smallest:
        return
    unit = 10.0 ** np.ceil(np.log10(1.01 * largest / MAX_RANGE))
    raise TableRangeError(
        f"D takes tables whose values and positive second differences span at most {MAX_RANGE:g}, and those of this "
        f"one go from {smallest:.3g} to {largest:.3g}; round its values to multiples of {unit:g}, which drops the "
        "tiny ones, or lower the largest."
    )


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


def split_by_bound(table: Array) -> tuple[Split, Measured] | None:
    """The pointwise lower bound as g if the laws hold up to sums of rounding errors, which makes it D's.

    What is broken by more, though by less than `FEASIBILITY_TOLERANCE`, may be a small value of l beside large ones.
    """
    if (size := table.size * table.ndim**2) > MAX_CELLS_TIMES_PAIRS:
        raise TableTooLargeError(
            f"D of a table with {table.size} cells over {table.ndim} groups takes {size / 2**28:.0f} GiB, and the "
            f"limit is {MAX_CELLS_TIMES_PAIRS / 2**28:.0f}; use fewer elements, or describe the function by fewer "
            "groups (one if it is symmetric, two for false negatives and false positives)"
        )
    required = required_curvature(table)
    if not any(block.any() for block in required.values()):
        split = Split(Table(table), Table(np.zeros_like(table)), "submodular")
        return split, measure_table(table, split.supermodular.table())
    require_range(table, required)
    g = pointwise_lower_bound(table)
    f = without_rounding(table - g, table, g)
    sums = ROUNDING * sum(table.shape)
    if not infeasibility(table, g, f, sums) <= sums:
        return None
    split = Split(Table(f, DOWNWARD), Table(g, UPWARD), "the lower bound on every feasible g is feasible")
    return split, measure_table(table, g, f, least=g)


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
    return Measured(infeasibility(loss, supermodular, submodular), residual, mean_over_subsets(Table(bound)))


def measure_curve(loss: CountFunction, split: Split, axis: int) -> Measured:
    """A border, all other counts zero, in O(p): bends are read off the steps, for differences of values lose digits.

    Increments of g are compared with those of the bound, which starts flat and has ``max(0, l'')`` as its bends.
    """
    parts = (loss, split.supermodular, split.submodular)
    (values, steps), (g, g_steps), (f, f_steps) = (part.border(axis) for part in parts)
    sizes = np.maximum(np.abs(values), np.abs(g))
    families, bends = [*negativity(g), *descent(g)], np.diff(steps)
    families += [Inequalities(g, -np.diff(g_steps), (0, 0)), Inequalities(f, np.diff(f_steps), (0, 0), sizes)]
    broken = [family.violation() for family in families]
    broken.append(relative(np.abs(f + g - values), np.maximum(sizes, np.abs(f))))
    bound = _from_zero(np.where(bends > bend_noise(values, 0, 0), bends, 0.0))[: len(steps)]
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
