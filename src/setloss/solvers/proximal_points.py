"""The proximal points of all bags at given margins, and the curvature of the smoothed risk that their faces make.

    E(W) = 1/2 |W|^2 + sum_i c_i max over (o, sigma) of  o - <sigma, m_i(W)> - mu/2 |sigma - centre_i|^2

has the gradient ``W - W(sigma)`` at the proximal points sigma, and the generalised Hessian

    H = I + 1/mu sum_i c_i M_i^T Q_i Q_i^T M_i,      m_i(W) = M_i W,

Q_i an orthonormal basis of the face of bag i. Bags that sit at one cut have none: H is as sparse as the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import scratch
from setloss.solvers.deadline import check_time
from setloss.solvers.problem import Problem
from setloss.typing import Array

if TYPE_CHECKING:
    from setloss.solvers.proximal_kernels import Corrals

CHUNK = 2**19
"""Numbers in the corrals that are worked on at a time (4 MiB, so that a cache holds them)."""

ROWS_AT_ONCE = 512
"""Maximum number of rows of the curvature in memory together."""


@dataclass(frozen=True, eq=False)
class ProximalPoints:
    """Slopes and offsets of the points, the values B_i at the margins, and the faces, basis after basis."""

    problem: Problem = field(repr=False)
    mu: float
    slopes: Array
    offsets: Array
    values: Array
    ranks: NDArray[np.int64]
    basis: Array

    @classmethod
    def at(cls, problem: Problem, margins: Array, centre: Array, mu: float) -> ProximalPoints:
        """The proximal points at the margins."""
        from setloss.solvers.proximal_kernels import LARGEST_CORRAL

        found = problem.cuts(margins)
        slopes, offsets = np.array(found.slopes), found.offsets.copy()
        widest = int(problem.surrogate.bags.sizes.max())
        most = min(widest + 2, LARGEST_CORRAL) + 1
        search = _PointSearch(problem, margins, centre, mu, slopes, offsets, most)
        bags = max(CHUNK // (most * (widest + 2 * most + 2)), 1)
        basis = [search.bases(first, min(first + bags, problem.n_bags)) for first in range(0, problem.n_bags, bags)]
        return cls(problem, mu, slopes, offsets, found.values, search.ranks, np.concatenate(basis))

    def smoothed(self, parameters: Array, margins: Array, centre: Array) -> float:
        """E(W)."""
        distance = self.slopes - centre
        losses = self.slopes * margins + 0.5 * self.mu * distance * distance
        risk = float(self.problem.costs @ self.offsets) - float(self.problem.element_costs @ losses)
        return 0.5 * float(np.vdot(parameters, parameters)) + risk

    @cached_property
    def image(self) -> Array:
        """W(sigma)."""
        return self.problem.parameters(self.slopes)

    @property
    def rank(self) -> int:
        """The number of directions in which the smoothed risk is curved."""
        return int(self.ranks.sum())

    @cached_property
    def active(self) -> NDArray[np.int64]:
        """The bags that have a face."""
        return np.flatnonzero(self.ranks)

    @property
    def scales(self) -> Array:
        """sqrt(c_i / mu)."""
        return np.sqrt(self.problem.costs / self.mu)

    def rows(self) -> Iterator[Array]:
        """The rows ``sqrt(c_i / mu) q M_i`` of the square root of H - I, some hundred at a time."""
        from setloss.solvers.proximal_kernels import face_rows

        problem = self.problem
        out = np.empty((ROWS_AT_ONCE + int(self.ranks.max(initial=0)), *problem.shape))
        bag, used = 0, 0
        data = (problem.design.arrays, problem.maps, problem.surrogate.bags.offsets)
        while bag < problem.n_bags:
            check_time()
            bag, used, count = face_rows(*data, self.ranks, self.basis, self.scales, bag, used, out)
            yield out[:count].reshape(count, out[0].size)

    def curved(self, direction: Array) -> Array:
        """H times a direction, without its identity part: two passes over the rows of the active bags, or over X."""
        from setloss.solvers.proximal_kernels import face_product, project_on_faces

        check_time()
        problem, starts = self.problem, self.problem.surrogate.bags.offsets
        if problem.tabular:
            image = np.empty(len(self.slopes))
            scales = np.full(problem.n_bags, 1.0 / self.mu)  # the costs c_i are those of W(image)
            project_on_faces(starts, self.ranks, self.basis, scales, problem.margins(direction), image)
            return problem.parameters(image)
        out, room = np.zeros(problem.shape), np.empty((2, int(problem.surrogate.bags.sizes.max())))
        data = (problem.design.arrays, problem.maps, starts)
        face_product(*data, self.ranks, self.basis, problem.costs / self.mu, direction, room, out)
        return out

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of c_i / mu Q_i Q_i^T, one number per element."""
        from setloss.solvers.proximal_kernels import face_diagonals

        out = np.zeros(len(self.slopes))
        face_diagonals(self.problem.surrogate.bags.offsets, self.ranks, self.basis, self.problem.costs / self.mu, out)
        return out


@dataclass(frozen=True, eq=False)
class _PointSearch:
    """Moves `slopes` and `offsets`, at first the cuts at the margins, to the proximal points, chunk by chunk."""

    problem: Problem
    margins: Array
    centre: Array
    mu: float
    slopes: Array
    offsets: Array
    most: int

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The dimensions of the faces."""
        return np.zeros(self.problem.n_bags, dtype=np.int64)

    @cached_property
    def room(self) -> tuple[Any, ...]:
        """What the oracle writes on."""
        return scratch(self.problem.surrogate, np.float64)

    @cached_property
    def shifted(self) -> Array:
        """The margins where the next cuts are asked for."""
        return np.asarray(self.margins + self.mu * (self.slopes - self.centre))

    @cached_property
    def away(self) -> NDArray[np.bool_]:
        """Whether a bag is not at its centre."""
        return np.logical_or.reduceat(self.slopes != self.centre, self.problem.surrogate.bags.offsets[:-1])

    @cached_property
    def entering(self) -> tuple[Array, NDArray[np.bool_], Array]:
        """Slopes, worst sets, and offsets and values of the cuts that come next."""
        return np.empty_like(self.slopes), np.empty(len(self.slopes), dtype=bool), np.empty((self.problem.n_bags, 2))

    def bases(self, first: int, last: int) -> Array:
        """Move the bags from `first` up to `last`; returns the bases of their faces."""
        from setloss.plans.kernels import write_cuts
        from setloss.solvers.proximal_kernels import advance, faces

        starts, partitions, which, *plans = self.problem.surrogate.arrays
        sizes = np.diff(starts)
        corrals = _empty_corrals(last - first, self.most, int(sizes.max()))
        visits = first + np.flatnonzero(self.away[first:last])
        data, points = (self.margins, self.centre, self.mu, starts), (self.slopes, self.offsets)
        slopes, _, totals = self.entering
        for _ in range(4 * len(corrals.targets)):
            if not len(visits):
                break
            check_time()
            write_cuts(visits, (self.shifted, starts, partitions, which), tuple(plans), self.room, self.entering)
            left = advance(visits, first, data, (self.shifted, slopes, totals), corrals, points)
            visits = visits[:left]
        basis = np.empty(int(corrals.counts @ sizes[first:last]))
        return basis[: faces(first, starts, corrals, self.ranks, basis)]


def _empty_corrals(bags: int, most: int, widest: int) -> Corrals:
    """Room for up to `most` cuts per bag."""
    from setloss.solvers.proximal_kernels import Corrals

    return Corrals(
        slopes=np.empty((bags, most, widest)),
        offsets=np.empty((bags, most)),
        weights=np.empty((bags, most)),
        products=np.empty((bags, most, most)),
        factor=np.empty((bags, most, most)),
        counts=np.zeros(bags, dtype=np.int64),
        targets=np.empty(most),
        ones=np.empty(most),
    )
