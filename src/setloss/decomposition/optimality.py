"""The judge of D's linear program: measured numbers that do not depend on how g and y were found.

    min_g  sum_a w(a) g(a)   s.t.   K g >= r := max(0, K l),  g(0) = 0,  g(e_b) = 0        (primal)
    max_y  sum_i r_i y_i     s.t.   (K^T y)(a) = w(a) on every other cell,  y >= 0         (dual)

``g`` and ``y`` with column residual ``rho`` and complementarity ``sigma`` solve, exactly, the program whose
weights are changed by at most the share ``rho`` *of each cell's own weight* and whose second differences are
changed by at most the share ``sigma`` of the gains that are in them. A gap relative to the objective says much less:
the weights span 22 orders of magnitude at 40 + 40 elements, and the cells of small counts are lost in the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.decomposition.certificate import COLUMN_TOLERANCE, FEASIBILITY_TOLERANCE
from setloss.decomposition.exact import (
    ONE,
    Exact,
    exact_product,
    exact_weights,
    from_stack,
    to_fixed,
)
from setloss.decomposition.lower_bound import Curvature, required_curvature
from setloss.decomposition.measure import infeasibility
from setloss.setfunctions.differences import axis_pairs, cell_levels, second_difference, second_difference_matrix
from setloss.setfunctions.tolerance import SMALLEST, bend_noise
from setloss.typing import Array, Shape

COMPLEMENTARITY_TOLERANCE = 1e-7

NEGLIGIBLE_MULTIPLIER = 1e-12
"""A multiplier below this share of the lightest free cell of its row is taken as zero, in all measurements."""


@dataclass(frozen=True)
class Optimality:
    """How far (g, y) is from an optimal pair; lengths are relative to gains, columns to their own weight."""

    feasibility: float
    """The largest breach of a law, see `measure.infeasibility`, or distance of g(0) and g(e_b) from zero."""
    column_residual: float
    """max over free cells of ``|w(a) - (K^T y)(a)| / w(a)``, in exact arithmetic."""
    complementarity: float
    """Largest slack of a row whose multiplier is positive."""
    negative_multiplier: float
    """The most negative multiplier, as a positive number; an optimal y has none."""
    objective: float
    """``sum_a w(a) g(a)``."""
    dual_bound: float
    """A true lower bound: y, shrunk until no column exceeds its weight, against ``max(0, K l)``."""

    @property
    def gap(self) -> float:
        """Objective minus dual bound."""
        return self.objective - self.dual_bound

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective; 0 where both vanish."""
        return self.gap / abs(self.objective) if self.objective else abs(self.gap)

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

    @property
    def certified(self) -> bool:
        """Whether every measurement is within its tolerance."""
        return not self.failures


def measure_optimality(
    table: Array, supermodular: Array, multipliers: Array, submodular: Array | None = None
) -> Optimality:
    """Measure a candidate ``g`` and multipliers ``y`` of the program of ``table`` (l, zero at zero counts).

    ``multipliers`` has the row order of `second_difference_matrix`; shape ``(rows,)``, or ``(k, rows)`` for k layers
    whose exact sum is y, which is what large weights need (see `exact`). Without f it is l - g.
    """
    shape = table.shape
    matrix = second_difference_matrix(shape)
    if not (np.isfinite(supermodular).all() and np.isfinite(multipliers).all()):
        return Optimality(*[float("nan")] * 6)
    free = free_cells(shape)
    weights = exact_weights(shape)
    y = _without_negligible(from_stack(multipliers), matrix[:, free], weights[free])
    required = required_curvature(table, noise=table)
    bound = _flat(required, shape)
    residuals = _column_residuals(matrix[:, free], weights[free], y)
    excess = max(0.0, float(max(residuals, default=Fraction(0))))
    scale = max(float(np.max(np.abs(supermodular))), float(np.max(bound, initial=0.0))) or 1.0
    return Optimality(
        feasibility=max(infeasibility(table, supermodular, submodular), _not_zero(table, supermodular)),
        column_residual=float(max(map(abs, residuals), default=Fraction(0))),
        complementarity=_open_rows(table, supermodular, required, y > 0),
        negative_multiplier=-min(y, default=0) / ONE if min(y, default=0) < 0 else 0.0,
        objective=_dot(weights, supermodular.ravel(), scale),
        dual_bound=_dot(y, bound, scale) / ONE / (1.0 + excess),
    )


def _flat(blocks: Curvature, shape: Shape) -> Array:
    """Blocks of second differences in the row order of `second_difference_matrix`."""
    parts = [blocks[pair].ravel() for pair in axis_pairs(shape)]
    return np.concatenate(parts) if parts else np.empty(0)


def _not_zero(table: Array, supermodular: Array) -> float:
    """The largest of |g(0)| and |g(e_b)|, relative to the values of l there and of g one level up."""
    levels = cell_levels(table.shape)
    low = levels < 2
    sizes = np.abs(table[low]) + np.max(np.abs(supermodular[levels == 2]), initial=0.0)
    return float(np.max(np.abs(supermodular[low]) / np.maximum(sizes, SMALLEST), initial=0.0))


def _open_rows(table: Array, supermodular: Array, required: Curvature, priced: NDArray[np.bool_]) -> float:
    """The largest slack of a row with a multiplier beyond rounding, relative to the gains in it."""
    worst, start = 0.0, 0
    for b, c in axis_pairs(table.shape):
        slack = np.abs(second_difference(supermodular, b, c) - required[b, c])
        here = np.nonzero(priced[start : start + slack.size].reshape(slack.shape))
        start += slack.size
        # The noise of straight lines may be required or not.
        noise = bend_noise(table, b, c)[here] + bend_noise(supermodular, b, c)[here]
        gains = [np.abs(np.diff(part, axis=axis)) for part in (supermodular, table) for axis in (b, c)]
        unit = np.max([_next_to(gain, slack.shape, here) for gain in gains], axis=0)
        worst = max(
            worst, float(np.max(np.maximum(slack[here] - noise, 0.0) / np.maximum(unit, SMALLEST), initial=0))
        )
    return worst


def _next_to(gain: Array, shape: Shape, cells: tuple[NDArray[np.intp], ...]) -> Array:
    """The larger of the two parallel gains of each second difference."""
    later = tuple(index + (long > short) for index, long, short in zip(cells, gain.shape, shape, strict=True))
    return np.asarray(np.maximum(gain[cells], gain[later]))


def free_cells(shape: Shape) -> NDArray[np.intp]:
    """Flat indices of the cells with two or more elements; g vanishes on the others."""
    return np.flatnonzero(cell_levels(shape) >= 2)


def _without_negligible(y: Exact, matrix: csr_array, weights: Exact) -> Exact:
    """Drop the noise of a float solver, so that it is neither counted in columns nor asked to be tight."""
    lightest = np.full(len(y), np.inf)
    light = np.array([float(weight) for weight in weights])
    rows = np.repeat(np.arange(len(y)), np.diff(matrix.indptr))
    np.minimum.at(lightest, rows, light[matrix.indices])
    lightest[np.isinf(lightest)] = 0.0
    kept = y.copy()
    kept[np.abs(y) < to_fixed(NEGLIGIBLE_MULTIPLIER * lightest)] = 0
    return kept


def _column_residuals(matrix: csr_array, weights: Exact, y: Exact) -> list[Fraction]:
    """``((K^T y)(a) - w(a)) / w(a)`` of every free cell."""
    excess = exact_product(matrix.T.tocsr(), y) - weights * ONE
    return [Fraction(e, ONE * w) for e, w in zip(excess, weights, strict=True)]


def _dot(integers: Exact, floats: Array, scale: float) -> float:
    """An exact inner product, rounded once; ``scale`` is the size of the floats, whose unit must not be lost."""
    exponent = int(np.frexp(scale)[1])
    total = int(np.dot(integers, to_fixed(np.ldexp(floats, -exponent)))) if len(integers) else 0
    return float(np.ldexp(total / ONE, exponent))
