"""What a checkpoint claims, computed again: an edited file may cost time, but it cannot forge a gap.

The primal value is that of the parameters in the file. A dual value is that of points which are true cuts, or hulls
of some, whatever the file says: a plane is cut again at the point where it touched the risk, and dual variables
(o, sigma) of a bag are compared with the true point nearest to them,

    max over (o', sigma') in the hull of the cuts of   o'     subject to   sigma' = sigma,

found by the method of multipliers: proximal points at margins that move until sigma' is sigma. What agrees to
rounding keeps its digits, so that a run goes on as if it had never stopped; the rest is replaced by what is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.typing import Array

if TYPE_CHECKING:
    from setloss.solvers.problem import Problem

AGREES = 1e-9
"""Numbers of a file that are this close to what is computed, relative to its size, are kept as they are."""

ROUNDS = 30
"""Steps of the method of multipliers; a point that is not confirmed by then is replaced."""

LARGE_CORRAL = 256
"""Cuts that a point may be made of, at most."""


class ImpossibleStateError(ValueError):
    """A state that no run can have been in; the message says what is wrong with it."""


def agreeing(claimed: float, computed: float) -> float:
    """What is claimed if it is right to rounding, else what was computed; infinity claims nothing."""
    right = claimed == np.inf or abs(claimed - computed) <= AGREES * abs(computed)
    return claimed if right else computed


def not_above(claimed: float, computed: float) -> float:
    """A lower bound: what is claimed, unless more than what was computed."""
    return claimed if claimed <= computed + AGREES * abs(computed) else computed


def agreeing_array(claimed: Array, computed: Array) -> Array:
    """What is claimed if it is right to rounding, relative to the largest number, else what was computed."""
    close = np.abs(claimed - computed) <= AGREES * np.max(np.abs(computed), initial=0.0)
    return claimed if bool(np.all(close)) else computed


def agreeing_planes(claimed: tuple[Array, Array], computed: tuple[Array, Array]) -> tuple[Array, Array]:
    """Offsets and slopes of planes, row by row those claimed if they are right to rounding, else those computed."""
    size = np.maximum(np.max(np.abs(computed[1]), axis=1, initial=0.0), np.abs(computed[0]))
    apart = np.maximum(
        np.max(np.abs(claimed[1] - computed[1]), axis=1, initial=0.0), np.abs(claimed[0] - computed[0])
    )
    right = apart <= AGREES * size
    return np.where(right, claimed[0], computed[0]), np.where(right[:, None], claimed[1], computed[1])


def true_dual_points(
    problem: Problem, margins: Array, slopes: Array, offsets: Array, used: NDArray[np.bool_] | None = None
) -> tuple[Array, Array]:
    """Slopes and offsets of points in the hulls of the cuts of all bags: those given wherever they are such points.

    The search begins at the margins, where points of a dual solution are highest, or nearly so; `used` are the bags
    that matter.
    """
    from setloss.solvers.faces import ProximalPoints

    bags, steepest, shifted = problem.surrogate.bags, _steepest(problem), margins.copy()
    open_bags = np.ones(problem.n_bags, dtype=bool) if used is None else used.copy()
    slopes = np.clip(slopes, -1e6 * steepest, 1e6 * steepest)
    offsets = offsets.copy()
    for attempt in range(ROUNDS):
        mu = min(4.0**attempt, 1e6) / steepest
        if not open_bags.any():
            break
        elements = np.repeat(open_bags, bags.sizes)
        # A bag that is settled is asked for at one of its cuts, which takes a single call of the oracle.
        centre = np.where(elements, slopes, problem.cuts(shifted).slopes)
        points = ProximalPoints.at(problem, shifted, centre, mu, LARGE_CORRAL)
        away = points.slopes - slopes
        size = np.maximum(_largest(points.slopes, bags.offsets), np.abs(points.offsets))
        settled = _largest(away, bags.offsets) <= AGREES * size
        settled &= offsets <= points.offsets + AGREES * size
        open_bags &= ~settled
        elements = np.repeat(open_bags, bags.sizes)
        shifted = np.where(elements, shifted + mu * away, shifted)
        if attempt == ROUNDS - 1:
            slopes = np.where(elements, points.slopes, slopes)
            offsets = np.where(open_bags, points.offsets, offsets)
    return slopes, offsets


def confirm_atoms(problem: Problem, arrays: dict[str, Any]) -> None:
    """The active cuts of all bags and their weights, in place: true points, weights not negative and of sum one."""
    bags, capacity = problem.surrogate.bags, arrays["weights"].shape[1]
    margins = problem.margins(arrays["parameters"])
    first = np.repeat(bags.offsets[:-1], bags.sizes)
    for slot in range(capacity):
        used = arrays["counts"] > slot
        elements = capacity * first + slot * np.repeat(bags.sizes, bags.sizes) + np.arange(len(first)) - first
        claimed = np.repeat(used, bags.sizes) * arrays["atoms"][elements], used * arrays["atom_offsets"][:, slot]
        slopes, offsets = true_dual_points(problem, margins, *claimed, used)
        arrays["atoms"][elements], arrays["atom_offsets"][:, slot] = slopes, offsets
    weights = np.where(np.arange(capacity) < arrays["counts"][:, None], np.maximum(arrays["weights"], 0.0), 0.0)
    weights[~(weights.sum(axis=1) > 0), 0] = 1.0
    arrays["weights"] = weights


def _steepest(problem: Problem) -> float:
    """The largest slope of the cuts at W = 0; no cut is steeper by orders of magnitude."""
    slopes = np.abs(problem.cuts(np.zeros(len(problem.signs))).slopes)
    return max(float(slopes.max(initial=0.0)), 1e-12)


def _largest(values: Array, starts: NDArray[np.intp]) -> Array:
    """The largest absolute value in every bag."""
    return np.asarray(np.maximum.reduceat(np.abs(values), starts[:-1]))
