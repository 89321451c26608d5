"""Certificates: what proves that l = f + g is D's decomposition, measured on the answer itself.

A pair (f, g) is D's if it is feasible (g supermodular, non-negative and increasing, f = l - g submodular) and
no feasible g' is smaller in the mean over all subsets. Optimality has two kinds of proof:

* pointwise: g meets a lower bound that holds for every feasible g, in every cell. Such a g is unique;
* by duality: multipliers y >= 0 of the second differences with ``(K^T y)(a) = w(a)`` in every column a, the
  weights w of the linear program, vanishing where a constraint is slack.

`column_residual` says how far the worst cell is from that: the excess over the pointwise bound relative to g's own
value; or the reduced cost relative to the column's own weight and the largest slack that carries a multiplier. An
objective gap alone would not see the small counts, whose weights are up to 1e22 times smaller than the largest.
`feasibility` is the largest breach of a law, each relative to the magnitudes in it (`setfunctions.differences`):
what is certified, the operators accept.
"""

from dataclasses import dataclass

import numpy as np

from setloss.setfunctions.counts import CountCurve, CountFunction, Sum
from setloss.setfunctions.differences import RELATIVE_TOLERANCE
from setloss.typing import Array

FEASIBILITY_TOLERANCE = RELATIVE_TOLERANCE
OPTIMALITY_TOLERANCE = 1e-7
"""Allowed distance from optimal of cells, the gap, the tie-break."""


class DecompositionError(RuntimeError):
    """D could not be computed with a certificate; the message says why and what to do."""


class ProgramTooLargeError(DecompositionError):
    """The linear program is beyond what is solved reliably in about a minute; nothing was computed."""


class TableRangeError(DecompositionError):
    """A table has numbers of too different size for D; nothing was computed."""


@dataclass(frozen=True)
class Measured:
    """The numbers of a certificate that are measured on a pair, as `Certificate` describes them."""

    feasibility: float
    column_residual: float
    dual: float
    checked: str = "every cell"
    unique: bool = True
    tie_break_residual: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Certificate(Measured):
    """Feasibility, bound and optimality of a decomposition.

    `primal` is the mean of g over all subsets, `dual` a lower bound on that mean for every feasible g: the mean of
    the pointwise bound, or the dual value of the linear program.

    `unique` is proved among all set functions by the pointwise bound, among functions of the same counts by the
    linear program. Of several optima g has the least sum of squares; `tie_break_residual` is its distance from that.

    Examples
    --------
    >>> from setloss import Dice, decompose
    >>> certificate = decompose(Dice().on_counts(3, 2)).certificate
    >>> certificate.holds, certificate.rule, certificate.unique
    (True, 'closed form', True)
    """

    rule: str
    reason: str
    primal: float

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, or 0 where both vanish."""
        if self.primal == self.dual:
            return 0.0
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else float("nan")

    @property
    def holds(self) -> bool:
        """Whether every measured number is within its tolerance."""
        distances = (self.column_residual, self.gap, self.tie_break_residual)
        # `all of <=` rather than `any of >`: a NaN must fail.
        return self.feasibility <= FEASIBILITY_TOLERANCE and all(x <= OPTIMALITY_TOLERANCE for x in distances)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        unique = "unique" if self.unique else "not unique, least sum of squares among the optima"
        return (
            f"{'certified' if self.holds else 'NOT certified'} by {self.rule} ({self.reason}): "
            f"feasibility {self.feasibility:.1e}, columns {self.column_residual:.1e}, gap {self.gap:.1e}, "
            f"{unique}; checked {self.checked}"
        )


def mean_over_subsets(function: CountFunction) -> float:
    """2^-p times the sum of the function over all subsets, the objective of D without its overflow."""
    if isinstance(function, Sum):
        return float(sum(weight * mean_over_subsets(term) for weight, term in function.terms))
    if isinstance(function, CountCurve):
        return float(function.values @ _binomial_weights(function.sizes[function.axis]))
    values = function.table()
    for n in reversed(function.sizes):
        values = values @ _binomial_weights(n)
    return float(values)


def _binomial_weights(n: int) -> Array:
    """C(n, k) 2^-n for k = 0..n."""
    from scipy.special import gammaln  # slow to import, and few commands come here

    logs = gammaln(np.arange(1.0, n + 2))
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] - n * np.log(2)))
