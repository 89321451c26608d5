"""Log-potentials u of the number of positives, linear in some numbers theta, with normal priors.

For label sets, u_0, ..., u_K themselves: second differences are small, so that without data the potentials are a
straight line, which is the independent model with one more bias; u_0, the empty set, may stand apart. For bags of
frames of any size p, u(k, p) is a sum of atoms at k = 0 and k = p and of a smooth part in the share r = k / p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.typing import Array

EMPTY_STANDS_APART = 4.0
"""How much wider the prior of the second difference at the empty set is than that of the others."""

SLOPE_WIDTH = 3.0
"""Standard deviation of the slope of the straight line, a bias of all labels, in log-odds."""


class LinearPotentials(Protocol):
    """Potentials of some sets as a linear function of theta."""

    @property
    def length(self) -> int:
        """How many numbers theta are."""
        ...

    def of(self, theta: Array) -> Array:
        """The potentials as `CountModel` takes them."""
        ...

    def gradient(self, counts: Array, weights: Array) -> Array:
        """The weighted sum over sets of a gradient in their potentials, as a gradient in theta."""
        ...

    def curvature(self, chances: Array, weights: Array) -> Array:
        """The weighted sum over sets of the covariance of theta's statistics, given the chances of every count."""
        ...


class Potentials(Protocol):
    """A family of potentials."""

    def precision(self, width: float) -> Array:
        """The precision of the prior of theta, whose width is a standard deviation."""
        ...

    def on(self, bags: Bags | None) -> LinearPotentials:
        """The potentials of label sets (None), or of these bags."""
        ...

    def work(self, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Pairs of an element and a count in sets of these sizes: what a count model takes time for."""
        ...


@dataclass(frozen=True)
class LabelPotentials:
    """u_0, ..., u_K, the same for all examples; more than K positives are impossible.

    A prior of equal width leaves potentials equal freedom over the `spread` of the counts, their standard deviation:
    second differences of size e add up to e spread^1.5 over that range.
    """

    most: int
    spread: float = 1.0

    @classmethod
    def seen(cls, counts: NDArray[np.intp], labels: int) -> LabelPotentials:
        """For numbers of positives as they were seen; somewhat larger ones are possible, up to all `labels`."""
        most = int(counts.max(initial=0))
        return cls(min(labels, most + max(2, most // 4)), max(1.0, float(counts.std())))

    def precision(self, width: float) -> Array:
        differences = np.diff(np.eye(self.most + 1), 2, axis=0)
        widths = np.full(len(differences), width / self.spread**1.5)
        widths[:1] *= EMPTY_STANDS_APART
        rows = differences / widths[:, None]
        slope = np.zeros(self.most + 1)
        slope[-1], slope[0] = 1.0, -1.0
        slope /= SLOPE_WIDTH * max(self.most, 1)
        return np.asarray(rows.T @ rows + np.outer(slope, slope) + 1e-6 * np.eye(self.most + 1))

    def on(self, bags: Bags | None) -> LabelPotentials:
        return self

    def work(self, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        return sizes * (self.most + 1)

    @property
    def length(self) -> int:
        return self.most + 1

    def of(self, theta: Array) -> Array:
        return theta

    def gradient(self, counts: Array, weights: Array) -> Array:
        return np.asarray(weights @ counts)

    def curvature(self, chances: Array, weights: Array) -> Array:
        return np.asarray(np.diag(weights @ chances) - (chances * weights[:, None]).T @ chances)


@dataclass(frozen=True)
class BagPotentials:
    """u(k, p) = theta . ([k = 0], [k = p], r, r (1 - r), p r (1 - r)) with r = k / p, for bags of any size p."""

    def precision(self, width: float) -> Array:
        return np.diag([1 / (10 * width) ** 2] * 2 + [1 / (3 * width) ** 2] * 2 + [1 / width**2])

    def on(self, bags: Bags | None) -> PotentialsOfBags:
        if bags is None:
            raise ValueError("potentials of bags need bags")
        known = {int(p): self.statistics(int(p)) for p in np.unique(bags.sizes)}
        return PotentialsOfBags(np.concatenate([known[int(p)] for p in bags.sizes]), bags.sizes + 1)

    def work(self, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        return sizes * (sizes + 1)

    @staticmethod
    def statistics(p: int) -> Array:
        """A row of numbers for each k = 0, ..., p."""
        k = np.arange(p + 1)
        share = k / p
        mixed = share * (1 - share)
        return np.column_stack([k == 0, k == p, share, mixed, p * mixed]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PotentialsOfBags:
    """The statistics of every bag and count, one bag after the other, and the number of counts of each bag."""

    statistics: Array
    lengths: NDArray[np.intp]

    @property
    def length(self) -> int:
        return int(self.statistics.shape[1])

    def of(self, theta: Array) -> Array:
        return np.asarray(self.statistics @ theta)

    def gradient(self, counts: Array, weights: Array) -> Array:
        return np.asarray((counts * np.repeat(weights, self.lengths)) @ self.statistics)

    def curvature(self, chances: Array, weights: Array) -> Array:
        each = chances[:, None] * self.statistics
        means = np.add.reduceat(each, np.cumsum(self.lengths) - self.lengths, axis=0)
        squares = (each * np.repeat(weights, self.lengths)[:, None]).T @ self.statistics
        return np.asarray(squares - (means * weights[:, None]).T @ means)
