"""Slack and margin rescaling: the structured-output SVM's surrogates (Definition 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setloss.arguments import is_positive_number
from setloss.operators.cut import Cut, OrderedMargins, Surrogate
from setloss.operators.search import (
    Found,
    Objective,
    Search,
    find_worst_set,
    margin_objective,
    slack_objective,
)
from setloss.setfunctions.properties import is_nonnegative
from setloss.setfunctions.set_function import SetFunction


@dataclass(frozen=True)
class Rescaling(Surrogate):
    """A maximum over all sets of mistakes of one affine function each."""

    function: SetFunction
    scale: float = 2.0
    search: Search = "exact"

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not is_positive_number(self.scale):
            raise ValueError(f"{name}: the scale c must be a positive number; got {self.scale}")
        if self.search not in ("exact", "greedy"):
            raise ValueError(f'{name}: search is "exact" or "greedy"; got {self.search!r}')
        if self.function.counts.by_calls:
            return
        verdict = is_nonnegative(self.function)
        if not verdict:
            raise ValueError(f"{name} needs a non-negative function; here {verdict.witness}")

    @property
    def p(self) -> int:  # type: ignore[override]
        return self.function.p

    def _worst(self, ordered: OrderedMargins, objective: Objective) -> Found:
        found = find_worst_set(self.function, ordered, objective, self.search)
        if found.loss < 0 and self.function.counts.by_calls:
            where = np.flatnonzero(found.mask).tolist()
            raise ValueError(f"{type(self).__name__} needs a non-negative function; {where} has {found.loss}")
        return found


@dataclass(frozen=True)
class SlackRescaling(Rescaling):
    """S l(m) = max_A l(A) (1 - c sum_{i in A} m_i)   (Equation 17; c = 2 as printed).

    An extension of every non-negative increasing l, for any c >= 1; c = 1 is the tightest on the unit cube.
    Exact for every table, see `setloss.operators.search`.
    """

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        found = self._worst(ordered, slack_objective(self.scale))
        return Cut(found.loss, np.where(found.mask, self.scale * found.loss, 0.0), found.exact)


@dataclass(frozen=True)
class MarginRescaling(Rescaling):
    """M l(m) = max_A l(A) - c sum_{i in A} m_i, the baseline."""

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        found = self._worst(ordered, margin_objective(self.scale))
        return Cut(found.loss, np.where(found.mask, self.scale, 0.0), found.exact)
