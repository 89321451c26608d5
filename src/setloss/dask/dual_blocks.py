"""The dual variables of one partition, and the steps made on them between two rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from setloss.dask.tasks import FitDescription, ParameterPoint, PartitionProblem, PartitionSource, problem_of
from setloss.solvers import FrankWolfe
from setloss.solvers.frank_wolfe import FrankWolfeState, measure_gaps, recombined_parameters
from setloss.typing import Array

FEWER_CUTS = 8
"""Active cuts per bag: half of what a fit in one process keeps."""


@dataclass(frozen=True, eq=False)
class LocalRound:
    """Round `number` from W, which is the sum of planes in these proportions; its own planes get the last two ids."""

    number: int
    parameters: Array
    proportions: dict[int, float]
    epochs: int

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.parameters.nbytes

    @property
    def new_ids(self) -> tuple[int, int]:
        """The plane that touches the risk, and the one of the blocks."""
        return 2 * self.number, 2 * self.number + 1


@dataclass(eq=False)
class Block:
    """The dual variables of a partition, their W(sigma), and its shares of the planes so far, by id."""

    state: FrankWolfeState
    image: Array
    shares: dict[int, Array] = field(default_factory=dict)

    def view(self, order: LocalRound) -> Array:
        """W with the block in place of what the partition is worth in it.

        What its share of a plane was, a new worker does not know; the block itself stands in for it.
        """
        self.shares = {id: share for id, share in self.shares.items() if id in order.proportions}
        known = sum(order.proportions[id] for id in self.shares)
        unknown = sum(order.proportions.values()) - known
        worth = unknown * self.image
        for id, share in self.shares.items():
            worth = worth + order.proportions[id] * share
        return np.asarray(order.parameters + self.image - worth)


def cut_and_step(
    source: PartitionSource, index: int, spec: FitDescription, point: ParameterPoint, order: LocalRound
) -> tuple[Array, ...]:
    """The shares of offset and slope of the plane that touches R at a point, and of the plane of the blocks."""
    share = problem_of(source, index, spec)
    with share.notes.lock:
        problem = share.problem
        cuts = problem.cuts(share.margins(point))
        plane = problem.parameters(np.asarray(cuts.slopes))
        block: Block = share.notes.get("block") or _empty_block(share, index)
        if problem.surrogate.compiled:
            _improve(share, block, order, index)
        arrays = block.state.arrays
        block.image = recombined_parameters(problem, arrays)
        block.shares |= dict(zip(order.new_ids, (plane, block.image), strict=True))
        share.notes["block"] = block
        offsets = (problem.costs @ cuts.offsets, problem.costs @ arrays["offsets"])
        return np.asarray(offsets[0]), plane, np.asarray(offsets[1]), block.image


def _empty_block(share: PartitionProblem, index: int) -> Block:
    return Block(_method(share.spec, index).start(share.problem, None), np.zeros(share.problem.shape))


def _method(spec: FitDescription, index: int) -> FrankWolfe:
    seed = int(np.random.default_rng([spec.seed, index]).integers(2**31))
    return FrankWolfe(capacity=FEWER_CUTS, random_state=seed)


def _improve(share: PartitionProblem, block: Block, order: LocalRound, index: int) -> None:
    """Epochs of Frank-Wolfe on the block, beginning with its gaps at the view of W."""
    problem, arrays = share.problem, block.state.arrays
    arrays["parameters"] = block.view(order)
    measure_gaps(problem, arrays)
    method = _method(share.spec, index)
    for epoch in range(order.epochs):
        method.epoch(problem, block.state, order.number * order.epochs + epoch)
