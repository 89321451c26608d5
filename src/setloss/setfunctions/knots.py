"""Piecewise linear curves of the share of mistakes, given by knots (share, cost), at the sizes of one set."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from setloss.setfunctions.counts import AxisCurve

Knots = tuple[tuple[float, float], ...]


def curve_through(knots: Knots, p: int) -> AxisCurve:
    """l(A) = the curve at the share |A| / p, for a set of p elements."""
    shares, costs = np.transpose(knots)
    place = np.arange(p + 1) / max(p, 1)
    values = np.interp(place, shares, costs)
    # Within one piece every step is the same number, so that straight pieces have no curvature at all.
    piece = np.clip(np.searchsorted(shares, place[:-1], side="right") - 1, 0, len(shares) - 2)
    slopes = np.diff(costs) / np.diff(shares) / max(p, 1)
    steps = slopes[piece]
    for k in np.flatnonzero(place[1:] > shares[piece + 1]):
        steps[k] = _exact_cost(knots, Fraction(int(k) + 1, p)) - _exact_cost(knots, Fraction(int(k), p))
    return AxisCurve((p,), 0, values, steps)


def _exact_cost(knots: Knots, share: Fraction) -> Fraction:
    """The curve in rational arithmetic, for the few steps across a knot, which floats would cancel."""
    right = next(k for k in range(1, len(knots)) if knots[k][0] >= share)
    (r0, c0), (r1, c1) = (tuple(map(Fraction, knots[k])) for k in (right - 1, right))
    return c0 + (c1 - c0) * (share - r0) / (r1 - r0)


def checked_knots(knots: Any) -> Knots:
    """Knots of a cost curve as pairs of floats; the shares climb from 0 to 1 and the first cost is 0."""
    try:
        pairs = tuple((float(share), float(cost)) for share, cost in knots)
    except (TypeError, ValueError):
        raise ValueError(f"knots are pairs (share, cost) of numbers; got {knots!r}") from None
    shares = [share for share, _ in pairs]
    if len(pairs) < 2 or shares[0] != 0 or shares[-1] != 1 or not np.all(np.diff(shares) > 0):
        raise ValueError(f"the shares of the knots must climb from 0 to 1; got {shares}")
    for share, cost in pairs:
        if not np.isfinite(cost) or cost < 0:
            raise ValueError(f"the cost at share {share:g} is {cost}; costs are finite and non-negative")
    if pairs[0][1] != 0:
        raise ValueError(f"l(empty) must be 0: the curve starts at cost {pairs[0][1]:g} without any mistake")
    return pairs
