"""The judge of D's linear program: measured numbers that do not depend on how g and its multipliers were found.

    min_g  sum_a w(a) g(a)   s.t.   K g >= r := max(0, K l),  g >= 0,  g(0) = 0,  g(e_b) = 0       (primal)
    max_y  sum_i r_i y_i     s.t.   z(a) + (K^T y)(a) = w(a) on every other cell,  y, z >= 0       (dual)

``g`` and ``(z, y)`` with column residual ``rho`` and complementarity ``sigma`` solve, exactly, the program whose
weights are changed by at most the share ``rho`` *of each cell's own weight* and whose second differences are
changed by at most the share ``sigma`` of the gains that are in them. A gap relative to the objective says much less:
the weights span 22 orders of magnitude at 40 + 40 elements, and the cells of small counts are lost in the sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setloss.decomposition.certificate import COLUMN_TOLERANCE, FEASIBILITY_TOLERANCE
from setloss.decomposition.feasibility import infeasibility
from setloss.decomposition.fixed_point import ONE, Exact, exact_product, exact_weights, to_fixed
from setloss.decomposition.lower_bound import Curvature, required_curvature
from setloss.setfunctions.differences import (
    SMALLEST,
    Inequalities,
    axis_pairs,
    cell_levels,
    second_difference,
    second_difference_matrix,
    without_modular_part,
)
from setloss.typing import Array, Shape

COMPLEMENTARITY_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Optimality:
    """Distances of (g, y) from an optimal pair; lengths are relative to gains, columns to their own weight."""

    feasibility: float
    """The largest breach of a law, see `measure.infeasibility`, or distance of g(0) and g(e_b) from zero."""
    column_residual: float
    """max over free cells of ``|w(a) - z(a) - (K^T y)(a)| / w(a)``, rounded once."""
    complementarity: float
    """Largest slack of a row whose multiplier is positive."""
    negative_multiplier: float
    """The most negative multiplier, as a positive number; an optimal y has none."""
    objective: float
    """``sum_a w(a) g(a)``."""
    dual_bound: float
    """A true lower bound: y, shrunk until no column exceeds its weight, against ``max(0, K l)``."""

    @property
    def failures(self) -> tuple[str, ...]:
        """The measurements outside their tolerance, in words; empty for a certified pair."""
        limits = {
            "feasibility": (self.feasibility, FEASIBILITY_TOLERANCE),
            "column residual": (self.column_residual, COLUMN_TOLERANCE),
            "complementarity": (self.complementarity, COMPLEMENTARITY_TOLERANCE),
            "negative multiplier": (self.negative_multiplier, 0.0),
        }
        # `not <=` rather than `>`: a NaN must fail.
        return tuple(f"{k} {x:.1e} > {limit:.0e}" for k, (x, limit) in limits.items() if not x <= limit)


def measure_optimality(
    table: Array, supermodular: Array, multipliers: Exact, submodular: Array | None = None
) -> Optimality:
    """Measure a candidate ``g`` and multipliers ``(z, y)`` of the program of ``table`` (l, zero at zero counts).

    ``multipliers`` are fixed-point numbers (`fixed_point`): z of `free_cells`, then y in the row order of
    `second_difference_matrix`. Without f it is l - g.

    Examples
    --------
    >>> from setloss.decomposition.program import solve_program
    >>> table = np.array([0.0, 1.0, 1.0, 2.0])
    >>> solution = solve_program(table)
    >>> measure_optimality(table, solution.supermodular, solution.multipliers).failures
    ()
    """
    free = free_cells(table.shape)
    weights = exact_weights(table.shape)
    z, y = multipliers[: len(free)], multipliers[len(free) :]
    required = required_curvature(table, noise=table)
    least = np.concatenate([block.ravel() for block in required.values()])
    by_column = second_difference_matrix(table.shape)[:, free].T.tocsr()
    # Quotients of integers are rounded once.
    residuals = np.array([e / (ONE * w) for e, w in zip(z + exact_product(by_column, y), weights[free], strict=True)])
    residuals -= 1.0
    scale = max(float(np.max(np.abs(supermodular))), float(np.max(least, initial=0.0))) or 1.0
    priced = np.zeros(table.size, dtype=bool)
    priced[free] = z > 0
    lowest = min(multipliers, default=0)
    return Optimality(
        feasibility=max(infeasibility(table, supermodular, submodular), _not_zero(table, supermodular)),
        column_residual=float(np.max(np.abs(residuals), initial=0.0)),
        complementarity=max(
            _positive_cells(table, supermodular, priced.reshape(table.shape)),
            _open_rows(table, supermodular, required, y > 0),
        ),
        negative_multiplier=max(0.0, -lowest / ONE),
        objective=_dot(weights, supermodular.ravel(), scale),
        dual_bound=_dot(y, least, scale) / ONE / (1.0 + np.max(residuals, initial=0.0)),
    )


def _not_zero(table: Array, supermodular: Array) -> float:
    """The largest of |g(0)| and |g(e_b)|, relative to the values of l there and of g one level up."""
    levels = cell_levels(table.shape)
    low = levels < 2
    sizes = np.abs(table[low]) + np.max(np.abs(supermodular[levels == 2]), initial=0.0)
    return float(np.max(np.abs(supermodular[low]) / np.maximum(sizes, SMALLEST), initial=0.0))


def _positive_cells(table: Array, supermodular: Array, priced: NDArray[np.bool_]) -> float:
    """The largest g(a) where z(a) > 0, relative to l without its modular part on subsets of a, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    excess = np.where(priced, supermodular, 0.0)
    return Inequalities(without_modular_part(table), excess, (), sizes).violation(COMPLEMENTARITY_TOLERANCE)


def _open_rows(table: Array, supermodular: Array, required: Curvature, priced: NDArray[np.bool_]) -> float:
    """The largest slack of a row with a multiplier, relative to the gains of g or of l in it, beyond rounding."""
    sizes = np.maximum(np.abs(table), np.abs(supermodular))
    worst, start = 0.0, 0
    for b, c in axis_pairs(table.shape):
        slack = np.abs(second_difference(supermodular, b, c) - required[b, c])
        slack[~priced[start : start + slack.size].reshape(slack.shape)] = 0.0
        start += slack.size
        by_gains = (Inequalities(values, slack, (b, c), sizes) for values in (supermodular, table))
        worst = max(worst, min(rows.violation(COMPLEMENTARITY_TOLERANCE) for rows in by_gains))
    return worst


def free_cells(shape: Shape) -> NDArray[np.intp]:
    """Flat indices of the cells with two or more elements; g vanishes on the others."""
    return np.flatnonzero(cell_levels(shape) >= 2)


def _dot(integers: Exact, floats: Array, scale: float) -> float:
    """An exact inner product, rounded once; ``scale`` is the size of the floats, whose unit must not be lost."""
    exponent = int(np.frexp(scale)[1])
    total = int(np.dot(integers, to_fixed(np.ldexp(floats, -exponent)))) if len(integers) else 0
    return float(np.ldexp(total / ONE, exponent))
