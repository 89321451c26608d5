"""The training problem: regularised risk of a set-level surrogate, linear in its parameters.

    min over W of   P(W) = 1/2 |W|^2 + sum_i c_i B_i(m_i(W)),      c_i = C weight_i

Element e of bag i has the margin ``m_e = y_e <x_{row(e)}, W_{task(e)}>``. There are two layouts. Frames share one
task, and every frame has a row. In a label set the bag has the row, and its elements are labels: each is a task. An
intercept is one more feature of constant value s (`intercept_scaling`), regularised like the others.

Every B_i is a maximum of cuts, so a dual point is one convex combination of cuts (o_i, sigma_i) per bag:

    D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2,      W(sigma)_t = sum_{e : task(e) = t} c_i y_e sigma_e x_{row(e)}

and P(W) >= D(o, sigma) for every W and every dual point. The dual variables live on the elements, never on
bags times features.

Margins are linear in W: with those of both ends of a line known, any point in between costs no pass over X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.plans.batch import BatchSurrogate, space_for_cuts
from setloss.plans.records import BatchCuts, Plans
from setloss.solvers.deadline import check_time
from setloss.solvers.kernel_arrays import Design, Surrogates
from setloss.typing import Array

AT_ONCE = 2**15
"""Elements that are computed together, about; more where W has more numbers."""


class Block(NamedTuple):
    """Some neighbouring bags, their elements, and where these are in the table of bags and labels."""

    bags: slice
    elements: slice
    cells: Any


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, surrogates and costs; see the module's docstring for the notation.

    `tasks` names the label of every element of label sets; it is empty where all bags have all labels in their order.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.plans.batch import batch_surrogate
    >>> surrogate = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3])  # a bag of two frames, and a bag of one
    >>> problem = Problem(Design.of([[1.0], [-1.0], [2.0]]), surrogate, [1, -1, 1], [0, 1, 2], np.ones(2))
    >>> problem.n_bags, problem.shape
    (2, (1, 2))
    """

    design: Design
    surrogate: BatchSurrogate = field(repr=False)
    signs: NDArray[np.int8] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    costs: Array = field(repr=False)
    n_tasks: int = 1
    tasks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    def __post_init__(self) -> None:
        """Bring arrays into the types of the kernels, and see that they belong together."""
        for name, dtype in (("signs", np.int8), ("rows", np.int64), ("tasks", np.int64)):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        bags = self.surrogate.bags
        rows = bags.elements if self.n_tasks == 1 else self.n_bags
        if (len(self.signs), len(self.costs), len(self.rows)) != (bags.elements, self.n_bags, rows):
            raise ValueError(
                f"{self.n_bags} bags of {bags.elements} elements need a sign per element, a cost per bag, and a row "
                f"of X per frame or per label set; got {len(self.signs)}, {len(self.costs)} and {len(self.rows)}"
            )
        if not np.all(np.isfinite(self.costs) & (self.costs >= 0)):
            raise ValueError(
                "costs are C times the weight of each bag, finite numbers >= 0: look at C and the weights"
            )
        named = bags.elements if self.n_tasks > 1 and np.any(bags.sizes != self.n_tasks) else 0
        if len(self.tasks) not in (named, bags.elements):
            raise ValueError("label sets that lack labels need `tasks`, the label of every element")

    @property
    def n_bags(self) -> int:
        return len(self.surrogate.bags)

    @property
    def surrogates(self) -> Surrogates:
        """The arguments of kernels, where the surrogate is compiled."""
        batch = self.surrogate
        assert isinstance(batch.plans, Plans)
        space = space_for_cuts(batch.plans, int(batch.bags.sizes.max(initial=0)), np.float64)
        return Surrogates(*(*batch.arrays, space))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the parameters: tasks times features and the constant one."""
        return self.n_tasks, self.design.features + 1

    def exact(self) -> bool:
        """Whether every cut so far touched its surrogate, so that a gap is a certificate."""
        return self.surrogate.exact

    def margins(self, parameters: Array) -> Array:
        """m(W), one pass over X."""
        out = np.empty(len(self.signs))
        for block, margins in self.margins_by_block(parameters):
            out[block.elements] = margins
        return out

    def margins_by_block(self, parameters: Array) -> Iterator[tuple[Block, Array]]:
        """m(W), block by block: for passes that keep nothing of the size of all elements."""
        from setloss.solvers.visits import all_margins

        weights, bias = np.ascontiguousarray(parameters[:, :-1].T), self.design.constant * parameters[:, -1]
        for block in self.blocks():
            check_time()
            if self.n_tasks == 1:
                margins = np.empty(block.elements.stop - block.elements.start)
                all_margins(self.design.arrays, self.rows[block.elements], parameters[0], margins)
            else:
                scores = self.design.some(self.rows[block.bags]) @ weights
                scores += bias
                margins = scores.ravel()[block.cells]
            margins *= self.signs[block.elements]
            yield block, margins

    def parameters(self, slopes: Array) -> Array:
        """W(sigma), one pass over X."""
        out = np.zeros(self.shape)
        for block in self.blocks():
            self.add_parameters(block, slopes[block.elements], out)
        return out

    def add_parameters(self, block: Block, slopes: Array, out: Array) -> None:
        """Add the share of a block to W(sigma), with the slopes of its elements."""
        from setloss.solvers.visits import accumulate_rows

        check_time()
        signed = self.signs[block.elements] * slopes
        if self.n_tasks == 1:
            signed *= np.repeat(self.costs[block.bags], self.surrogate.bags.sizes[block.bags])
            accumulate_rows(self.design.arrays, self.rows[block.elements], signed, out[0])
            return
        if len(self.tasks):  # 0 where a label is missing
            table = np.zeros((block.bags.stop - block.bags.start, self.n_tasks))
            table.ravel()[block.cells] = signed
        else:
            table = signed.reshape(-1, self.n_tasks)
        table *= self.costs[block.bags, None]
        out[:, :-1] += np.asarray(self.design.some(self.rows[block.bags]).T @ table).T
        out[:, -1] += self.design.constant * table.sum(axis=0)

    def blocks(self) -> Iterator[Block]:
        """All bags, some at a time."""
        offsets, sizes = self.surrogate.bags.offsets, self.surrogate.bags.sizes
        together = max(AT_ONCE, self.shape[0] * self.shape[1])
        step = max(together * self.n_bags // max(len(self.signs), 1), 1)
        for start in range(0, self.n_bags, step):
            bags = slice(start, min(start + step, self.n_bags))
            elements = slice(offsets[bags.start], offsets[bags.stop])
            cells: Any = slice(None)
            if len(self.tasks):
                first = np.arange(0, (bags.stop - start) * self.n_tasks, self.n_tasks)
                cells = np.repeat(first, sizes[bags]) + self.tasks[elements]
            yield Block(bags, elements, cells)

    def cuts(self, margins: Array, *, consume: bool = False) -> BatchCuts:
        """The cut of every bag at the given margins, which slopes may take the place of with `consume`."""
        check_time()
        return self.surrogate.cuts(margins, consume=consume)

    def risk_along(self, start: Array, way: Array, length: float, space: Array) -> tuple[float, float]:
        """R and a slope of it at ``start + length way``; reuse `space`, for allocating large arrays is slow."""
        np.multiply(way, length, out=space)
        space += start
        cuts = self.cuts(space, consume=True)
        np.multiply(cuts.slopes, way, out=space)
        return float(self.costs @ cuts.values), -float(self.costs @ self.surrogate.bags.totals(space))

    def place(self, parameters: Array) -> KnownMargins:
        """A point whose margins are known, one pass over X."""
        return KnownMargins(self, parameters, self.margins(parameters))

    def line(self, start: KnownMargins, target: Array) -> Segment:
        """The way from a place to other parameters, one pass over X."""
        return Segment(start, self.place(target))

    def objective(self, parameters: Array) -> float:
        """P(W), one pass over X."""
        risk = 0.0
        for block, margins in self.margins_by_block(parameters):
            cuts = self.surrogate.of_bags(block.bags).cuts(margins, consume=True)
            risk += float(self.costs[block.bags] @ cuts.values)
        return objective_at(parameters, risk)

    def dual(self, parameters: Array, offsets: Array) -> float:
        """D(o, sigma) from W(sigma)."""
        return float(self.costs @ offsets) - 0.5 * float(np.vdot(parameters, parameters))


def objective_at(parameters: Array, risk: float) -> float:
    """P(W) from R(W) = sum_i c_i B_i(m_i(W))."""
    return 0.5 * float(np.vdot(parameters, parameters)) + risk


@dataclass(frozen=True, eq=False)
class KnownMargins:
    """A place of a problem in memory."""

    problem: Problem = field(repr=False)
    parameters: Array
    margins: Array = field(repr=False)

    @cached_property
    def cuts(self) -> BatchCuts:
        """The cut of every bag here."""
        return self.problem.cuts(self.margins)

    def risk(self) -> float:
        return float(self.problem.costs @ self.cuts.values)

    def cut(self) -> tuple[float, Array]:
        plane = self.problem.parameters(np.asarray(self.cuts.slopes)).ravel()
        return float(self.problem.costs @ self.cuts.offsets), plane


@dataclass(frozen=True, eq=False)
class Segment:
    """A line between two places of a problem in memory."""

    start: KnownMargins
    end: KnownMargins

    @cached_property
    def way(self) -> Array:
        """How the margins change."""
        return self.end.margins - self.start.margins

    @cached_property
    def _space(self) -> Array:
        return np.empty_like(self.way)

    def at(self, length: float) -> tuple[float, float]:
        return self.start.problem.risk_along(self.start.margins, self.way, length, self._space)

    def place(self, length: float) -> KnownMargins:
        if length in (0.0, 1.0):
            return self.end if length else self.start
        start, end = self.start.parameters, self.end.parameters
        margins = self.start.margins + length * self.way
        return KnownMargins(self.start.problem, start + length * (end - start), margins)
