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

import numpy as np
from numpy.typing import NDArray

from setloss.solvers.deadline import check_time
from setloss.solvers.problem import Problem
from setloss.typing import Array

CHUNK = 2**19
"""Numbers in the bases of faces that are computed between two looks at the clock (4 MiB)."""

MOST_CUTS = 64
"""Maximum number of cuts of a point. A bag of p elements needs at most p + 2; beyond, the lightest are merged."""

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
        from setloss.solvers.proximal_kernels import move_to_points

        found = problem.cuts(margins)
        slopes, offsets = np.array(found.slopes), found.offsets.copy()
        widest = int(problem.surrogate.bags.sizes.max())
        cuts = min(widest + 2, MOST_CUTS)
        corral = (np.empty(cuts * widest), *np.empty((2, 1, cuts)), *np.empty((2, cuts, cuts)), *np.empty((2, cuts)))
        work = (*np.empty((5, widest)), np.empty(widest, dtype=bool), *corral)
        ranks, basis = np.zeros(problem.n_bags, dtype=np.int64), np.empty(max(CHUNK, cuts * widest))
        data = (problem.surrogate.kernel_data, (margins, centre, mu), (slopes, offsets), ranks, basis)
        bases, bag = [], 0
        while bag < problem.n_bags:
            check_time()
            bag, used = move_to_points(bag, *data, work, 4 * cuts)
            bases.append(basis[:used].copy())
        return cls(problem, mu, slopes, offsets, found.values, ranks, np.concatenate(bases))

    def smoothed(self, parameters: Array, margins: Array, centre: Array) -> float:
        """E(W)."""
        distance = self.slopes - centre
        losses = self.slopes * margins + 0.5 * self.mu * distance * distance
        risk = float(self.problem.costs @ (self.offsets - self.problem.surrogate.bags.totals(losses)))
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
        """H times a direction, without its identity part: two passes over X."""
        from setloss.solvers.proximal_kernels import project_on_faces

        check_time()
        problem, image = self.problem, np.empty(len(self.slopes))
        faces = (problem.surrogate.bags.offsets, self.ranks, self.basis)
        project_on_faces(*faces, 1.0 / self.mu, problem.margins(direction), image)
        return problem.parameters(image)

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of c_i / mu Q_i Q_i^T, one number per element."""
        from setloss.solvers.proximal_kernels import face_diagonals

        out = np.zeros(len(self.slopes))
        face_diagonals(self.problem.surrogate.bags.offsets, self.ranks, self.basis, self.problem.costs / self.mu, out)
        return out
