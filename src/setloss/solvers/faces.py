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

ROWS_AT_ONCE = 512
"""Rows of the curvature that are held in memory together."""


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
    def at(
        cls, problem: Problem, margins: Array, centre: Array, mu: float, largest: int | None = None
    ) -> ProximalPoints:
        """The proximal points at the margins, each of at most `largest` cuts."""
        from setloss.solvers.projection_kernels import LARGEST_CORRAL, Corral, Room, proximal_points

        check_time()
        n, widest = problem.n_bags, int(problem.surrogate.bags.sizes.max())
        out = np.empty(len(margins)), np.empty(n), np.empty(n), np.zeros(n, dtype=np.int64)
        most = min(widest + 2, largest or LARGEST_CORRAL) + 1
        corral = Corral(
            np.empty((most, widest)), *np.empty((2, most)), *np.empty((2, most, most)), *np.empty((2, most))
        )
        room = Room(np.empty(widest), np.empty(widest), np.empty(widest, dtype=bool), np.empty(widest))
        basis = np.empty(2 * len(margins) + most * widest)
        bag = used = 0
        data, batch = (margins, centre, mu), problem.surrogate.kernel_data
        while True:
            bag, used = proximal_points(bag, data, batch, out, basis, used, corral, room)
            if bag == n:
                return cls(problem, mu, *out, basis[:used])
            basis = np.concatenate([basis, np.empty_like(basis)])

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
        from setloss.solvers.face_kernels import face_rows

        problem = self.problem
        out = np.empty((ROWS_AT_ONCE + int(self.ranks.max(initial=0)), *problem.shape))
        bag, used = 0, 0
        data = (problem.design.arrays, problem.maps, problem.surrogate.bags.offsets)
        while bag < problem.n_bags:
            check_time()
            bag, used, count = face_rows(*data, self.ranks, self.basis, self.scales, bag, used, out)
            yield out[:count].reshape(count, out[0].size)

    def curved(self, direction: Array) -> Array:
        """H times a direction, without its identity part: two passes over the rows of the active bags."""
        from setloss.solvers.face_kernels import face_product

        check_time()
        problem = self.problem
        out = np.zeros(problem.shape)
        data = (problem.design.arrays, problem.maps, problem.surrogate.bags.offsets)
        face_product(*data, self.ranks, self.basis, problem.costs / self.mu, direction, out)
        return out

    @cached_property
    def diagonals(self) -> Array:
        """The diagonal of c_i / mu Q_i Q_i^T, one number per element."""
        from setloss.solvers.face_kernels import face_diagonals

        out = np.zeros(len(self.slopes))
        face_diagonals(self.problem.surrogate.bags.offsets, self.ranks, self.basis, self.problem.costs / self.mu, out)
        return out
