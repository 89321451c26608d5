"""The count model as a mixture over its size, for scores and potentials that no single scale can hold.

    P(y) = sum_t pi_t P(y | |y| = t),        pi_t ~ e^{u_t} e_t(e^{s_1}, ..., e^{s_p}).

Given its size the model does not change when all scores are shifted to s_i + theta. So every size gets the shift that
makes it the expected one: its chance is then about one over the standard deviation, and nothing underflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from setloss.typing import Array

NEGLIGIBLE = 1e-30
"""Sizes of smaller probability are left out of a mixture."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Sizes t with probabilities pi_t, and for each of them shifted scores (p,) under which t is likely."""

    sizes: NDArray[np.intp]
    chances: Array
    scores: Array
    log_partition: float

    def potentials(self, width: int) -> Array:
        """Log-potentials under which each part has its own size and no other."""
        table = np.full((len(self.sizes), width), -np.inf)
        table[np.arange(len(self.sizes)), self.sizes] = 0.0
        return table


def mixture_over_sizes(scores: Array, potentials: Array) -> Mixture:
    """The mixture of one example with scores (p,) and potentials (L,).

    The logarithm of pi_t is that of its likeliest set, the t largest scores, and what all others add to it. Sums of
    scores are taken from the likeliest of these sets on, so that large scores cost no digits.
    """
    from setloss.decisions.count_kernels import chances_of_sizes

    sizes, falling = np.flatnonzero(potentials > -np.inf), -np.sort(-scores)
    shifts, potentials = _shifts(falling, sizes), potentials[sizes]
    sums = np.concatenate(([0.0], np.cumsum(falling)))
    start = int(np.argmax(sums[sizes] + potentials))
    middle = int(sizes[start])
    up, down = np.cumsum(falling[middle:]), np.cumsum(falling[:middle][::-1])
    relative = np.concatenate((-down[::-1], [0.0], up))[sizes] + (potentials - potentials[start])
    tilted = falling + shifts[:, None]
    inside = np.arange(len(falling)) < sizes[:, None]
    chances = np.empty(len(sizes))
    chances_of_sizes(tilted, sizes, chances)
    logs = relative + np.logaddexp(0.0, np.where(inside, -tilted, tilted)).sum(axis=1) + np.log(chances)
    total = float(logsumexp(logs))
    chances = np.exp(logs - total)
    kept = chances > NEGLIGIBLE
    partition = float(sums[middle] + potentials[start]) + total
    return Mixture(sizes[kept], chances[kept] / chances[kept].sum(), scores + shifts[kept, None], partition)


def _shifts(falling: Array, sizes: NDArray[np.intp]) -> Array:
    """The theta that make each size the expected one; for no or all elements one that is far enough."""
    p = len(falling)
    shifts = _bisect(np.broadcast_to(falling, (len(sizes), p)), np.clip(sizes, 0.5, p - 0.5))
    shifts[sizes == 0] = -falling[0] - 50.0
    shifts[sizes == p] = -falling[-1] + 50.0
    return shifts


def _bisect(scores: Array, target: Array) -> Array:
    """The theta with sum_i sigma(s_i + theta) = target, for every row."""
    lower, upper = -scores.max(axis=1) - 50.0, -scores.min(axis=1) + 50.0
    for _ in range(60):
        middle = (lower + upper) / 2
        too_few = (0.5 * (1 + np.tanh((scores + middle[:, None]) / 2))).sum(axis=1) < target
        lower, upper = np.where(too_few, middle, lower), np.where(too_few, upper, middle)
    return np.asarray((lower + upper) / 2)
