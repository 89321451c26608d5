"""Measurements behind certificates: feasibility and optimality of a pair (f, g), however it was found.

By the pointwise bound (`setloss.decomposition.lower_bound`): how far g is above it. By duality, for the linear
program

    min_g  sum_a w(a) g(a)   s.t.   K g >= r := max(0, K l),  g >= 0,  g(0) = 0,  g(e_b) = 0       (primal)
    max_y  sum_i r_i y_i     s.t.   z(a) + (K^T y)(a) = w(a) on every other cell,  y, z >= 0       (dual)

``g`` and ``(z, y)`` with column residual ``rho`` and complementarity ``sigma`` solve, exactly, the program whose
weights are changed by at most the share ``rho`` *of each cell's own weight* and whose second differences are
changed by at most the share ``sigma`` of the gains that are in them. A gap relative to the objective says much less:
the weights span 22 orders of magnitude at 40 + 40 elements, and the cells of small counts are lost in the sum.
"""

import numpy as np
from numpy.typing import NDArray

from setloss.decomposition.certificate import OPTIMALITY_TOLERANCE, Measured, mean_over_subsets
from setloss.decomposition.feasibility import infeasibility, relative
from setloss.decomposition.fixed_point import ONE, Exact, exact_product, exact_weights, to_float
from setloss.decomposition.lower_bound import Curvature, pointwise_lower_bound, required_curvature
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
    second_difference,
    second_difference_matrix,
    without_modular_part,
)
from setloss.setfunctions.properties import CORNER
from setloss.typing import Array, Flags, Shape

EXHAUSTIVE_CELLS = 2**12
"""Closed forms over several groups are measured in every cell up to this size, beyond it at borders and corners."""


# ---------------------------------------------------------------- by the pointwise bound


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


# ---------------------------------------------------------------- by duality


def measure_multipliers(
    table: Array, supermodular: Array, multipliers: Exact, submodular: Array | None = None
) -> Measured:
    """Measure a candidate ``g`` and multipliers ``(z, y)`` of the program of ``table`` (l, zero at zero counts).

    ``multipliers`` are fixed-point numbers (`fixed_point`): z of `free_cells`, then y in the row order of
    `second_difference_matrix`; negative ones count as zero. The residual is the larger of rho and sigma. The dual
    value is a true bound: that of y, shrunk until no column exceeds its weight. Without f it is l - g.

    Examples
    --------
    >>> from setloss.decomposition.program import solve_program
    >>> table = np.array([0.0, 1.0, 1.0, 2.0])
    >>> solution = solve_program(table)
    >>> measure_multipliers(table, solution.supermodular, solution.multipliers).column_residual
    0.0
    """
    free, weights = free_cells(table.shape), exact_weights(table.shape)
    multipliers = np.maximum(multipliers, 0)
    z, y = multipliers[: len(free)], multipliers[len(free) :]
    required = required_curvature(table)
    by_column = second_difference_matrix(table.shape)[:, free].T.tocsr()
    columns = zip(z + exact_product(by_column, y), weights[free], strict=True)
    # Quotients of integers are rounded once.
    residuals = np.array([filled / (ONE * w) for filled, w in columns]) - 1.0
    priced = np.ones(table.size, dtype=bool)  # outside of the free cells g is zero
    priced[free] = z > 0
    slack = max(
        _positive_cells(table, supermodular, priced.reshape(table.shape)),
        _open_rows(table, supermodular, required, y > 0),
    )
    least = np.concatenate([block.ravel() for block in required.values()])
    dual = to_float(y) * 2.0 ** -(sum(table.shape) - table.ndim) @ least / (1.0 + np.max(residuals, initial=0.0))
    rho = float(np.max(np.abs(residuals), initial=0.0))
    return Measured(infeasibility(table, supermodular, submodular), max(rho, slack), float(dual))


def _positive_cells(table: Array, supermodular: Array, priced: Flags) -> float:
    """The largest g(a) where z(a) > 0, relative to l without its modular part on subsets of a, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    excess = np.where(priced, np.abs(supermodular), 0.0)
    return Inequalities(without_modular_part(table), excess, (), sizes).violation(OPTIMALITY_TOLERANCE)


def _open_rows(table: Array, supermodular: Array, required: Curvature, priced: Flags) -> float:
    """The largest slack of a row with a multiplier, relative to the gains of g or of l in it, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    worst, start = 0.0, 0
    for b, c in axis_pairs(table.shape):
        slack = np.abs(second_difference(supermodular, b, c) - required[b, c])
        slack[~priced[start : start + slack.size].reshape(slack.shape)] = 0.0
        start += slack.size
        by_gains = (Inequalities(values, slack, (b, c), sizes) for values in (supermodular, table))
        worst = max(worst, min(rows.violation(OPTIMALITY_TOLERANCE) for rows in by_gains))
    return worst


def free_cells(shape: Shape) -> NDArray[np.intp]:
    """Flat indices of the cells with two or more elements; g vanishes on the others."""
    return np.flatnonzero(cell_levels(shape) >= 2)
