"""Closed forms of the Tversky family: Dice, Jaccard, F-beta.

With ``m`` positives, ``n`` false negatives and ``q`` false positives (``m - n`` true positives),

    l(n, q) = 1 - (m - n) / D = (b n + a q) / D,      D = m - (1 - b) n + a q,

``a`` weighing the false positives and ``b`` the false negatives. Dice is a = b = 1/2, Jaccard a = b = 1.

**The decomposition, for b >= 1/2.** As functions of real counts,

    d2l/dq2   = -2 a^2 (m - n) / D^3                           <= 0,
    d2l/dn dq = a ((1 - 2b)(m - n) - b n - a q) / D^3          <= 0   because b >= 1/2,
    d2l/dn2   = 2 (1 - b)(b m + a q) / D^3,                    falling in q because b >= 1/3,

and discrete second differences are averages of these. So for b >= 1 all are <= 0 and l is submodular, g = 0.
For 1/2 <= b < 1 the only positive ones run along n and are largest on the border q = 0: the pointwise lower
bound ``g(n) = l(n, 0) - n l(1, 0)``, free of q, is feasible, hence it is D l, and unique. For b < 1/2 the
mixed difference at n = q = 0 is positive as soon as m (1 - 2b) > (1 - b)^2 + a b, and this g is not feasible.

Nothing here branches on the numbers of positives and negatives: with arrays for them, D of one set is D of many.
Increments are single fractions. Differencing two values of l instead loses 24 % in float32 at 1024 x 1024.
The functions of this module are plain arithmetic: they run on arrays here and in kernels (`setloss.compilation`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from setloss.setfunctions.counts import CountCurve, CountFunction, Split, Sum
from setloss.typing import Array, Shape


def denominator(n: Any, q: Any, m: Any, a: float, b: float) -> Any:
    """D = true positives + weighted mistakes; 0 only where the loss reads 0/0."""
    return (m - n) + b * n + a * q


def loss_value(n: Any, q: Any, m: Any, a: float, b: float) -> Any:
    """l(n, q); 0/0 is the caller's business."""
    return (b * n + a * q) / ((m - n) + b * n + a * q)


def false_negative_step(n: Any, q: Any, m: Any, a: float, b: float) -> Any:
    """l(n + 1, q) - l(n, q)."""
    d = (m - n) + b * n + a * q
    return (b * m + a * q) / (d * ((m - n - 1) + b * (n + 1) + a * q))


def false_positive_step(n: Any, q: Any, m: Any, a: float, b: float) -> Any:
    """l(n, q + 1) - l(n, q)."""
    d = (m - n) + b * n + a * q
    return a * (m - n) / (d * (d + a))


def supermodular_value(n: Any, m: Any, b: float) -> Any:
    """g(n) = l(n, 0) - n l(1, 0) for 1/2 <= b <= 1, without the cancellation."""
    c = 1 - b
    return b * c * n * (n - 1) / ((m - c * n) * (m - c))


def supermodular_step(n: Any, m: Any, b: float) -> Any:
    """g(n + 1) - g(n)."""
    c = 1 - b
    d = m - c * n
    return b * c * n * (2 * m - c * (n + 1)) / (d * (d - c) * (m - c))


def submodular_false_negative_step(n: Any, q: Any, m: Any, a: float, b: float) -> Any:
    """f(n + 1, q) - f(n, q) = l(1, 0) - (l's step at q = 0 minus l's step at q)."""
    c = 1 - b
    u = a * q
    d = m - c * n
    drop = u * (b * m * (2 * d + u - c) - d * (d - c)) / (d * (d - c) * (d + u) * (d + u - c))
    return b / (m - c) - drop


def some(m: Any) -> Any:
    """The number of positives, 1 where there are none: without positives g = 0, and its formula divides by m."""
    return m + (m <= 0)


@dataclass(frozen=True, eq=False)
class TverskyCounts(CountFunction):
    """l(n, q) for given numbers of positives and negatives; `undefined` is its value where it reads 0/0."""

    positives: Any
    negatives: Any
    a: float
    b: float
    undefined: float = 0.0
    concave_in_last = True

    @property
    def sizes(self) -> Shape:  # type: ignore[override]
        return (self.positives, self.negatives)

    @property
    def laws(self) -> Mapping[str, bool]:  # type: ignore[override]
        if self.b == 0 and self.undefined:
            return {"non-negative": True}
        known = {"increasing": True, "non-negative": True}
        return known | {"submodular": True} if self.b >= 1 else known

    def __call__(self, *counts: Any) -> Array:
        n, q = (np.asarray(count, dtype=np.float64) for count in counts)
        form = (n, q, self.positives, self.a, self.b)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(denominator(*form) > 0, loss_value(*form), self.undefined)

    def step(self, axis: int, *counts: Any) -> Array:
        n, q = (np.asarray(count, dtype=np.float64) for count in counts)
        rule = (false_negative_step, false_positive_step)[axis]
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = rule(n, q, self.positives, self.a, self.b)
        ends = ((n, q), (n + (axis == 0), q + (axis == 1)))
        defined = np.minimum(*(denominator(*end, self.positives, self.a, self.b) for end in ends)) > 0
        return steps if np.all(defined) else np.where(defined, steps, super().step(axis, n, q))

    def split(self) -> Split | None:
        if self.b >= 1:
            return Split(self, Sum(self.sizes), "Tversky loss, submodular for beta >= 1")
        if self.b < 0.5:
            return None
        submodular = TverskySubmodular(self)
        return Split(submodular, submodular.supermodular, "Tversky loss, closed form for 1/2 <= beta < 1")


@dataclass(frozen=True, eq=False)
class TverskySupermodular(CountCurve):
    """g(n) = l(n, 0) - n l(1, 0) for 1/2 <= b < 1; 0 without positives."""

    loss: TverskyCounts
    axis = 0
    laws = dict.fromkeys(("supermodular", "increasing", "non-negative"), True)

    @property
    def sizes(self) -> Shape:  # type: ignore[override]
        return self.loss.sizes

    @cached_property
    def values(self) -> Array:  # type: ignore[override]
        m = self.loss.positives
        return np.asarray(supermodular_value(np.arange(m + 1, dtype=np.float64), some(m), self.loss.b))

    @cached_property
    def steps(self) -> Array:  # type: ignore[override]
        m = self.loss.positives
        return np.asarray(supermodular_step(np.arange(m, dtype=np.float64), some(m), self.loss.b))


@dataclass(frozen=True, eq=False)
class TverskySubmodular(CountFunction):
    """f = l - g for 1/2 <= b < 1.

    f >= 0: it is concave in n and increasing in q, f(0, 0) = 0 and f(m, 0) = m l(1, 0) >= 0.
    """

    loss: TverskyCounts

    @property
    def sizes(self) -> Shape:  # type: ignore[override]
        return self.loss.sizes

    @cached_property
    def supermodular(self) -> TverskySupermodular:
        """G of the same loss."""
        return TverskySupermodular(self.loss)

    @cached_property
    def laws(self) -> Mapping[str, Any]:  # type: ignore[override]
        # The steps of a submodular function are smallest at the top, where all other elements are in.
        m, q = some(self.loss.positives), self.loss.negatives
        last_miss: Any = submodular_false_negative_step(m - 1, q, m, self.loss.a, self.loss.b)
        increasing = (last_miss >= 0) | (self.loss.positives <= 0)
        return {"submodular": True, "non-negative": True, "increasing": increasing}

    def __call__(self, *counts: Any) -> Array:
        return self.loss(*counts) - self.supermodular(*counts)

    def step(self, axis: int, *counts: Any) -> Array:
        if axis == 1:
            return self.loss.step(axis, *counts)
        n, q = (np.asarray(count, dtype=np.float64) for count in counts)
        return np.asarray(submodular_false_negative_step(n, q, self.loss.positives, self.loss.a, self.loss.b))

    def closure(self) -> CountFunction:
        increasing = self.laws["increasing"]
        return self if isinstance(increasing, bool | np.bool_) and increasing else TverskyClosure(self)


@dataclass(frozen=True, eq=False)
class TverskyClosure(CountFunction):
    """f_up = min(f, f(V)), the monotone closure of `TverskySubmodular`.

    f is concave in n, so the minimum over larger n is at n itself or at m; there l = 1 whatever q is, so
    f(m, q) = 1 - g(m) = f(V); and f increases in q, so nothing is gained by a larger q.
    """

    base: TverskySubmodular
    laws = dict.fromkeys(("submodular", "increasing", "non-negative"), True)

    @property
    def sizes(self) -> Shape:  # type: ignore[override]
        return self.base.sizes

    @cached_property
    def cap(self) -> Any:
        """f(V) = m l(1, 0), infinite for those of many sets on which f is increasing."""
        m, b = some(self.base.loss.positives), self.base.loss.b
        with np.errstate(divide="ignore"):
            return m * b / (m - (1 - b)) / (self.base.laws["increasing"] ^ True)

    def __call__(self, *counts: Any) -> Array:
        return np.asarray(np.minimum(self.base(*counts), self.cap))

    def step(self, axis: int, *counts: Any) -> Array:
        # A full step of f below the cap, nothing above it, and what is left of the way where it is crossed.
        room = np.maximum(self.cap - self.base(*counts), 0.0)
        return np.clip(self.base.step(axis, *counts), 0.0, room)
