"""Cutting planes with dual steps where the data lie: fewer rounds, each with more work between them.

    max over (o, sigma) of   D = sum_i c_i o_i - 1/2 |W(sigma)|^2,      one block of (o, sigma) per partition

Every dual point is a plane below the risk, R(W) >= o - <W(sigma), W>. So beside the plane that touches the risk, each
round brings a second one: every partition k improves its own block by some epochs of Frank-Wolfe, for

    max over its block of   sum_i c_i o_i - 1/2 |W - w_k + W(sigma of the block)|^2,      w_k its part of W,

as if the other partitions stood still, and the sum of what they arrive at is the plane. This is the local work of
CoCoA (Jaggi et al. 2014); how far to go along the sum of the changes is not a fixed factor here but part of the small
program over all planes, whose value is the dual bound. Nothing rests on the blocks being good: a partition that comes
to a new worker begins with an empty one, and the planes stay true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.dask.driver_problem import PartitionedProblem
from setloss.dask.dual_blocks import LocalRound
from setloss.solvers import CuttingPlane
from setloss.solvers.cutting_plane import PlaneState, keep_planes
from setloss.solvers.solution import Solution


@dataclass(frozen=True)
class LocalSteps(CuttingPlane):
    """`epochs` epochs of local steps a round."""

    epochs: int = 5

    @property
    def name(self) -> str:
        return "local_steps"

    def start(self, problem: Any, warm: Solution | None) -> PlaneState:
        state = super().start(problem, warm)
        state.arrays["ids"] = np.empty(0, dtype=np.int64)
        return state

    def verify(self, problem: Any, state: PlaneState) -> None:
        """Planes of blocks cannot be computed again: the dual variables they are made of went with their workers."""
        keep_planes(state.arrays, state.arrays["ids"] % 2 == 0)
        super().verify(problem, state)

    def _extend(self, problem: PartitionedProblem, state: PlaneState, where: Any) -> None:
        """Add the plane that touches the risk there, and that of the blocks, in one round."""
        arrays = state.arrays
        weights = arrays["multipliers"]
        planes = len(arrays["planes"])
        target = (weights @ arrays["planes"]).reshape(problem.shape) if planes else state.best
        order = LocalRound(
            state.iteration, target, dict(zip(arrays["ids"].tolist(), weights.tolist(), strict=True)), self.epochs
        )
        offset, plane, dual_offset, dual_plane = problem.cut_and_step(where, order)
        for identity, (b, A) in zip(order.new_ids, ((offset, plane), (dual_offset, dual_plane)), strict=True):
            ids = np.append(arrays["ids"], identity)
            self._add(state, A, b, where.parameters)
            arrays["ids"] = ids
        state.passes += 1  # of what is read; the epochs work on what is in memory then
