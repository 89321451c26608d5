"""Certificates: what proves that l = f + g is D's decomposition, measured on the answer itself.

A pair (f, g) is D's if it is feasible (g supermodular, non-negative and increasing, f = l - g submodular) and
no feasible g' is smaller in the mean over all subsets. Optimality has two kinds of proof:

* pointwise: g meets a lower bound that holds for every feasible g, in every cell. Such a g is unique;
* by duality: multipliers y >= 0 of the second differences with ``(K^T y)(a) = w(a)`` in every column a, the
  weights w of the linear program, vanishing where a constraint is slack.

`column_residual` says how far the worst column is from that: the excess over the pointwise bound relative to
the scale of l, or the reduced cost relative to the column's own weight. An objective gap alone would not see
the small counts, whose weights are up to 1e22 times smaller than the largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from setloss.counts import AxisCurve, CountFunction, Sum
from setloss.decomposition.lower_bound import pointwise_lower_bound
from setloss.lattice import Array, axis_pairs, second_differences

FEASIBILITY_TOLERANCE = 1e-9
COLUMN_TOLERANCE = 1e-6
GAP_TOLERANCE = 1e-6

EXHAUSTIVE_CELLS = 2**12
"""Closed forms are checked in every cell up to this size, beyond it in sampled cells."""

SAMPLED_CELLS = 4096


class DecompositionError(RuntimeError):
    """D could not be computed with a certificate; the message says why and what to do."""


@dataclass(frozen=True)
class Certificate:
    """Feasibility, bound and optimality of a decomposition; `primal` and `dual` are means over all subsets."""

    rule: str
    reason: str
    feasibility: float
    column_residual: float
    primal: float
    dual: float
    unique: bool | None
    tie_broken: bool
    checked: str
    tie_break_residual: float = 0.0

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, or 0 where both vanish."""
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0

    @property
    def holds(self) -> bool:
        """Whether every measured number is within its tolerance."""
        measured = (self.feasibility, self.column_residual, self.gap, self.tie_break_residual)
        allowed = (FEASIBILITY_TOLERANCE, COLUMN_TOLERANCE, GAP_TOLERANCE, COLUMN_TOLERANCE)
        return all(number <= limit for number, limit in zip(measured, allowed, strict=True))

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        unique = {True: "unique", False: "not unique", None: "uniqueness not decided"}[self.unique]
        if self.tie_broken:
            unique += ", least sum of squares among the optima"
        return (
            f"{'certified' if self.holds else 'NOT certified'} by {self.rule} ({self.reason}): "
            f"feasibility {self.feasibility:.1e}, columns {self.column_residual:.1e}, gap {self.gap:.1e}, "
            f"{unique}; checked {self.checked}"
        )


@dataclass(frozen=True)
class Measured:
    """How far a pair is from feasible and from the pointwise bound, and where that was looked at."""

    feasibility: float
    column_residual: float
    checked: str


def infeasibility(loss: Array, supermodular: Array) -> float:
    """Largest violation of ``K g >= max(0, K l)`` and ``g >= 0``, relative to max |l|."""
    scale = float(np.max(np.abs(loss), initial=0.0)) or 1.0
    shortfall = np.maximum(second_differences(loss), 0.0) - second_differences(supermodular)
    return float(max(np.max(shortfall, initial=0.0), -np.min(supermodular, initial=0.0))) / scale + 0.0


def measure_table(loss: Array, supermodular: Array) -> Measured:
    """Every cell: feasibility, and the excess of g over the pointwise lower bound."""
    scale = float(np.max(np.abs(loss), initial=0.0)) or 1.0
    excess = np.max(np.abs(supermodular - pointwise_lower_bound(loss)), initial=0.0)
    return Measured(infeasibility(loss, supermodular), float(excess) / scale, "every cell")


def measure_curve(loss: Array, supermodular: AxisCurve) -> Measured:
    """One group: g(0) = g(1) = 0 and g'' = max(0, l'') is the pointwise bound, read off in O(p).

    Relative to the largest of |l| and of g's increments, which on rough curves exceed |l| by a factor p.
    """
    steps = supermodular.steps
    scale = max(float(np.max(np.abs(loss), initial=0.0)), float(steps[-1]) if len(steps) else 0.0) or 1.0
    bend = np.diff(steps) - np.maximum(np.diff(loss, 2), 0.0)
    start = float(np.max(np.abs(supermodular.values[:2]), initial=0.0))
    feasibility = max(float(np.max(-bend, initial=0.0)), -float(np.min(supermodular.values)))
    optimality = max(float(np.max(bend, initial=0.0)), start)
    return Measured(max(feasibility, 0.0) / scale, optimality / scale, "every cell")


def measure_sampled(loss: CountFunction, submodular: CountFunction, supermodular: CountFunction) -> Measured:
    """A closed form without a table: curvatures from exact increments at sampled counts, relative to these.

    Optimality: telescoping g over its borders (all other counts zero) and the mixed differences, it meets the
    pointwise bound iff each of those equals ``max(0, the same one of l)``.
    """
    generator = np.random.default_rng(0)
    feasibility = optimality = 0.0
    for b, c in axis_pairs(loss.shape):
        low = [
            np.concatenate(([0, n - t], generator.integers(0, n - t + 1, SAMPLED_CELLS)))
            for n, t in ((n, (axis == b) + (axis == c)) for axis, n in enumerate(loss.sizes))
        ]
        high = [count + (axis == c) for axis, count in enumerate(low)]
        bend_f, unit_f = _bend(submodular, b, low, high)
        bend_g, unit_g = _bend(supermodular, b, low, high)
        feasibility = max(feasibility, float(np.max(bend_f / unit_f)), float(np.max(-bend_g / unit_g)))
        if b == c:
            low = [count if axis == b else np.zeros_like(count) for axis, count in enumerate(low)]
            high = [count + (axis == b) for axis, count in enumerate(low)]
        bend_l, unit_l = _bend(loss, b, low, high)
        bend_g, _ = _bend(supermodular, b, low, high)
        optimality = max(optimality, float(np.max(np.abs(bend_g - np.maximum(bend_l, 0)) / unit_l)))
    return Measured(max(feasibility, 0.0), optimality, f"{SAMPLED_CELLS} sampled cells per pair of groups")


def _bend(function: CountFunction, axis: int, low: list[Array], high: list[Array]) -> tuple[Array, Array]:
    """The change of the increment along `axis` between two cells, and the size of the increments."""
    first, second = function.step(axis, *low), function.step(axis, *high)
    unit = np.maximum(np.abs(first), np.abs(second))
    return second - first, np.where(unit > 0, unit, 1.0)


def mean_over_subsets(function: CountFunction) -> float:
    """2^-p times the sum of the function over all subsets, the objective of D without its overflow."""
    if isinstance(function, Sum):
        return float(sum(weight * mean_over_subsets(term) for weight, term in function.terms))
    if isinstance(function, AxisCurve):
        return float(_binomial_weights(function.sizes[function.axis]) @ function.values)
    values = function.table()
    for n in reversed(function.sizes):
        values = values @ _binomial_weights(n)
    return float(values)


def _binomial_weights(n: int) -> Array:
    """C(n, k) 2^-n for k = 0..n; beyond 40 standard deviations they vanish in float64."""
    reach = int(20 * np.sqrt(n)) + 20
    k = np.arange(max(0, n // 2 - reach), min(n, n // 2 + reach) + 1)
    weights = np.zeros(n + 1)
    weights[k] = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * np.log(2))
    return weights
