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

from setloss.decomposition.lower_bound import pointwise_lower_bound
from setloss.setfunctions.counts import AxisCurve, CountFunction, Split, Sum
from setloss.setfunctions.differences import axis_pairs, rounding_error, second_differences, without_modular_part
from setloss.typing import Array

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
    """Feasibility, bound and optimality of a decomposition; `primal` and `dual` are means over all subsets.

    `unique` is proved among all set functions by the pointwise bound, among functions of the same counts by the
    linear program; None is undecided.
    """

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
        if self.primal == self.dual:
            return 0.0
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else float("nan")

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


def curved_scale(loss: Array) -> float:
    """Max |l(A) - sum_{i in A} l({i})|: D does not see the modular part of l, nor may its tolerances."""
    return float(np.max(np.abs(without_modular_part(loss)), initial=0.0)) or 1.0


def infeasibility(loss: Array, supermodular: Array) -> float:
    """Largest violation of ``K g >= max(0, K l)`` and ``g >= 0`` beyond rounding, relative to `curved_scale`."""
    shortfall = np.maximum(second_differences(loss), 0.0) - second_differences(supermodular)
    worst = max(float(np.max(shortfall, initial=0.0)), -float(np.min(supermodular, initial=0.0)))
    return max(worst - rounding_error(loss), 0.0) / curved_scale(loss)


def measure_table(loss: Array, supermodular: Array) -> Measured:
    """Every cell: feasibility, and the excess of g over the pointwise lower bound."""
    noise = rounding_error(loss) * sum(loss.shape) ** 2
    excess = float(np.max(np.abs(supermodular - pointwise_lower_bound(loss)), initial=0.0))
    return Measured(infeasibility(loss, supermodular), max(excess - noise, 0.0) / curved_scale(loss), "every cell")


def measure_curve(loss: CountFunction, split: Split, axis: int) -> Measured:
    """One populated group: g(0) = g(1) = 0 and g'' = max(0, l'') is the pointwise bound, all read off in O(p).

    Curvatures are compared relative to the largest increments, values relative to the largest of |l| and |g|,
    either up to the rounding error of l.
    """
    (values, steps), (g, g_steps) = loss.border(axis), split.supermodular.border(axis)
    f = split.submodular.border(axis)[0]
    noise = 8 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(values)))
    required = np.diff(steps)
    required[required <= noise] = 0.0
    unit = max(float(np.max(np.abs(g_steps), initial=0.0)), float(np.max(np.abs(steps), initial=0.0))) or 1.0
    height = max(float(np.max(np.abs(values))), float(np.max(np.abs(g)))) or 1.0
    excess = max(abs(float(g_steps[0])), _positive(np.abs(g_steps[1:] - np.cumsum(required)))) / unit
    adds_up = (
        max(_positive(np.abs(f + g - values)), _positive(np.abs(np.diff(g) - g_steps)), abs(float(g[0]))) / height
    )
    required -= np.diff(g_steps)
    broken = max((_positive(required) - noise) / unit, -float(np.min(g)) / height, adds_up)
    return Measured(broken, excess, "every cell")


def _positive(excess: Array) -> float:
    """The largest entry, at least 0."""
    return float(np.max(excess, initial=0.0))


def measure_sampled(loss: CountFunction, split: Split) -> Measured:
    """A closed form without a table: increments at sampled counts, relative to the increments of l there.

    f and g must add up to l, f bend down and g up. Optimality: telescoping g over its borders (all other counts
    zero) and the mixed differences, it meets the pointwise bound iff it starts flat, each border increment is
    the sum of ``max(0, l'')`` up to there, and each mixed difference is ``max(0, the same one of l)``.
    """
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
        unit = np.maximum(np.max(np.abs(list(steps.values())), axis=(0, 1)), np.finfo(np.float64).tiny)
        adds_up = np.abs(steps[f][0] + steps[g][0] - steps[loss][0])
        bend = {function: second - first for function, (first, second) in steps.items()}
        broken = max(broken, *(_positive(x / unit) for x in (adds_up, bend[f], -bend[g])))
        if b != c:
            excess = max(excess, _positive(np.abs(bend[g] - np.maximum(bend[loss], 0)) / unit))
    for axis, n in enumerate(loss.sizes):
        if n > 0:
            climb, bound = g.border(axis)[1], loss.border(axis)[1]
            unit_step = _positive(np.abs(bound)) or 1.0
            bound = np.concatenate(([0.0], np.cumsum(np.maximum(np.diff(bound), 0.0))))
            excess = max(excess, _positive(np.abs(climb - bound)) / unit_step)
    return Measured(broken, excess, f"{SAMPLED_CELLS} sampled cells per pair of groups")


def mean_over_subsets(function: CountFunction) -> float:
    """2^-p times the sum of the function over all subsets, the objective of D without its overflow."""
    if isinstance(function, Sum):
        return float(sum(weight * mean_over_subsets(term) for weight, term in function.terms))
    if isinstance(function, AxisCurve):
        k, weights = _binomial_weights(function.sizes[function.axis])
        return float(weights @ function.values[k])
    values = function.table()
    for n in reversed(function.sizes):
        k, weights = _binomial_weights(n)
        values = values[..., k] @ weights
    return float(values)


def _binomial_weights(n: int) -> tuple[slice, Array]:
    """C(n, k) 2^-n, and for which k: beyond 40 standard deviations they vanish in float64."""
    reach = int(20 * np.sqrt(n)) + 20
    k = np.arange(max(0, n // 2 - reach), min(n, n // 2 + reach) + 1)
    weights = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * np.log(2))
    return slice(int(k[0]), int(k[-1]) + 1), weights
