"""Slack and margin rescaling: the structured-output SVM's surrogates (Definition 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from setloss.arguments import is_positive_number
from setloss.operators.cut import Cut, FunctionSurrogate, OrderedMargins
from setloss.operators.search import (
    Found,
    Objective,
    Search,
    find_worst_set,
    margin_objective,
    slack_objective,
)
from setloss.setfunctions.properties import is_nonnegative

Scale = float | Literal["mean"]
"""The scale c of a rescaled part: a number, or "mean" for 2 / |V|, so that the mean margin of a set counts."""


def check_scale(scale: Scale, owner: str = "") -> None:
    """Raise a `ValueError` unless the scale c is a positive number or "mean"."""
    if scale != "mean" and not is_positive_number(scale):
        raise ValueError(f'{owner}the scale c must be a positive number or "mean"; got {scale!r}')


@dataclass(frozen=True)
class Rescaling(FunctionSurrogate):
    """A maximum over all sets of mistakes of one affine function each."""

    scale: Scale = 2.0
    search: Search = "exact"

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_scale(self.scale, f"{name}: ")
        if self.search not in ("exact", "greedy"):
            raise ValueError(f'{name}: search is "exact" or "greedy"; got {self.search!r}')
        if self.of_family:
            return
        if self.scale == "mean":
            object.__setattr__(self, "scale", 2 / self.p)
        if self.one.counts.by_calls:
            return
        verdict = is_nonnegative(self.one)
        if not verdict:
            raise ValueError(f"{name} needs a non-negative function; here {verdict.witness}")

    def _worst(self, ordered: OrderedMargins, objective: Objective) -> Found:
        found = find_worst_set(self.one, ordered, objective, self.search)
        if found.loss < 0 and self.one.counts.by_calls:
            where = np.flatnonzero(found.mask).tolist()
            raise ValueError(f"{type(self).__name__} needs a non-negative function; {where} has {found.loss}")
        return found


@dataclass(frozen=True)
class SlackRescaling(Rescaling):
    """S l(m) = max_A l(A) (1 - c sum_{i in A} m_i)   (Equation 17; c = 2 as printed).

    An extension of every non-negative increasing l, for any c >= 1; c = 1 is the tightest on the unit cube.
    Exact for every table, see `setloss.operators.search`.

    Examples
    --------
    >>> from setloss import SetFunction
    >>> surrogate = SlackRescaling(SetFunction.symmetric([0.0, 0.25, 1.0]), scale=1.0)
    >>> surrogate([1.0, 0.5]), surrogate([0.0, 0.0])
    (0.125, 1.0)
    """

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        found = self._worst(ordered, slack_objective(float(self.scale)))
        return Cut(found.loss, np.where(found.mask, float(self.scale) * found.loss, 0.0), found.exact)


@dataclass(frozen=True)
class MarginRescaling(Rescaling):
    """M l(m) = max_A l(A) - c sum_{i in A} m_i, the baseline.

    Examples
    --------
    >>> from setloss import SetFunction
    >>> MarginRescaling(SetFunction.symmetric([0.0, 0.25, 1.0]), scale=1.0)([0.0, 0.0])
    1.0
    """

    def cut_ordered(self, ordered: OrderedMargins) -> Cut:
        found = self._worst(ordered, margin_objective(float(self.scale)))
        return Cut(found.loss, np.where(found.mask, float(self.scale), 0.0), found.exact)
