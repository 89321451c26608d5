"""Block-coordinate Frank-Wolfe with pairwise steps: the main solver.

    max over (o, sigma) of   D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2,   one block per bag

One iteration is an epoch: bags are visited in random order, those whose gap is large more often. A visit asks
for the cut at the current margins and moves weight from the lowest active cut to it, with the step length that
maximises D exactly; the Gram matrix of the bag lets it repeat this without touching X. The gap is a true one:
when the visits suggest that it is reached, all margins and W are computed afresh and both objectives compared.
Every few epochs the dual point is extrapolated along the way it took, which halves the number of epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from setloss.solvers.deadline import check_time
from setloss.solvers.grams import write_some_grams
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, State, relative_gap
from setloss.typing import Array

MIN_GRAM_ENTRIES = 2**22
"""Numbers that Gram matrices may take however small X is (32 MiB)."""


@dataclass
class ActiveCuts:
    """The dual point: the active cuts of every bag with their weights, and the combination they make.

    `atoms` holds the slopes of all cuts, bag after bag; `versions` counts how often cuts of a bag were merged.
    """

    slopes: Array
    offsets: Array
    atoms: Array
    atom_offsets: Array
    weights: Array
    counts: NDArray[np.int64]
    versions: NDArray[np.int64]

    @classmethod
    def none(cls, problem: Problem, capacity: int) -> ActiveCuts:
        """The zero cut for every bag, with room for `capacity` cuts."""
        n, size = problem.n_bags, len(problem.signs)
        return cls(
            np.zeros(size),
            np.zeros(n),
            np.zeros(size * capacity),
            np.zeros((n, capacity)),
            np.eye(1, capacity).repeat(n, axis=0),
            np.ones(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
        )

    def copy(self) -> ActiveCuts:
        return ActiveCuts(*(array.copy() for array in vars(self).values()))

    def recombine(self, problem: Problem) -> None:
        """The combination afresh from the cuts and their weights, which are normalised to sum to one."""
        from setloss.solvers.kernels import recombine

        cuts = (self.atoms, self.atom_offsets, self.weights)
        recombine(problem.surrogate.bags.offsets, *cuts, self.slopes, self.offsets)


@dataclass
class FrankWolfeState(State):
    """W = W(sigma) of the dual point, the gap of every bag, and the plan of the next extrapolation.

    `before` holds weights and versions at the last extrapolation, `wait` the epochs until the next and `pause` the
    epochs between two. `grams` are the Gram matrices of the bags and where each begins. `noted` is an epoch and the
    gap after it, from which the fall of the gap is predicted.
    """

    parameters: Array = field(default_factory=lambda: np.empty((0, 0)))
    cuts: ActiveCuts = field(kw_only=True)
    gaps: Array = field(default_factory=lambda: np.empty(0))
    before: tuple[Array, NDArray[np.int64]] | None = None
    wait: int = 0
    pause: int = 0
    noted: tuple[int, float] = (0, 1.0)
    inner_steps: int = 0
    grams: tuple[NDArray[np.int64], Array] | None = None

    def dual_slopes(self) -> Array:
        return self.cuts.slopes

    def drop_caches(self) -> None:
        self.grams = None


@dataclass(frozen=True)
class FrankWolfe:
    """Configuration of the solver; the defaults suit both frames and labels.

    A visit takes up to `inner_steps` steps, by default as many as take the time of reading the rows, or until the gap
    of the bag is down to `shrink` times what it was; a bag keeps up to `capacity` active cuts. Gram matrices take at
    most `gram_share` of the memory of X, the smallest bags first; bags without one take a single step a visit. After
    every `memory` epochs the dual point is extrapolated; 0 never does. A bag is visited in an epoch with a chance of
    `eagerness` times its share of the gap.
    """

    inner_steps: int | None = None
    capacity: int = 16
    shrink: float = 0.2
    memory: int = 5
    eagerness: float = 4.0
    check_every: int = 5
    gram_share: float = 0.25
    random_state: int = 0

    @property
    def name(self) -> str:
        return "frank_wolfe"

    def start(self, problem: Problem, warm: Solution | None) -> FrankWolfeState:
        cuts = ActiveCuts.none(problem, self.capacity)
        if warm is not None and isinstance(warm.state, FrankWolfeState):
            known = warm.state.cuts
            fits = known.atoms.shape == cuts.atoms.shape and known.weights.shape == cuts.weights.shape
            if fits and problem.surrogate.same_as(warm.surrogate):
                cuts = known.copy()
        parameters = problem.parameters(cuts.slopes)
        state = FrankWolfeState(
            parameters.copy(),
            parameters=parameters,
            cuts=cuts,
            gaps=np.full(problem.n_bags, np.inf),
            wait=self.memory,
            pause=self.memory,
        )
        if warm is not None and warm.state is None and warm.parameters.shape == problem.shape:
            self._start_at(problem, state, warm.parameters)
        return state

    def _start_at(self, problem: Problem, state: FrankWolfeState, parameters: Array) -> None:
        """Offer W itself, and begin with the cuts at W, each of the weight that raises the dual most."""
        found = problem.cuts(problem.margins(parameters))
        state.offer_primal(parameters, problem.primal(parameters, found.values))
        slopes = np.asarray(found.slopes)
        image, rise = problem.parameters(slopes), float(problem.costs @ found.offsets)
        curvature = float(np.vdot(image, image))
        weight = float(np.clip(rise / curvature, 0.0, 1.0)) if curvature > 0 else 0.0
        state.passes += 2
        if weight > 0:
            sizes, capacity = problem.surrogate.bags.sizes, self.capacity
            starts = np.repeat(problem.surrogate.bags.offsets[:-1], sizes)
            places = capacity * starts + np.repeat(sizes, sizes) + np.arange(len(slopes)) - starts
            state.cuts.atoms[places], state.cuts.atom_offsets[:, 1] = slopes, found.offsets
            state.cuts.weights[:, :2], state.cuts.counts[:] = (1.0 - weight, weight), 2
            state.cuts.recombine(problem)
            state.parameters = weight * image

    def step(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        self.epoch(problem, state, state.iteration)
        if self.memory:
            self._extrapolate(problem, state)
        estimate = float(problem.costs @ state.gaps)
        reference = max(problem.dual(state.parameters, state.cuts.offsets), 0.0)
        due = (state.iteration + 1) % self.check_every == 0
        if due or estimate <= 2 * tol * (reference + estimate):
            self._measure(problem, state, tol)

    def epoch(self, problem: Problem, state: FrankWolfeState, number: int) -> None:
        """Visit the bags once, in an order drawn for the epoch of that number."""
        from setloss.solvers.kernels import frank_wolfe_epoch

        if state.grams is None:
            state.grams, state.inner_steps = self._grams(problem), self.inner_steps or _balanced_steps(problem)
        bags = problem.surrogate.bags
        visits, widest = self._visits(state.gaps, number), int(bags.sizes.max())
        dual = (state.parameters, *vars(state.cuts).values(), state.gaps)
        work = (*np.empty((5, widest)), np.empty(widest, dtype=bool), np.empty(problem.shape))
        data = (problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        for some in np.array_split(visits, pieces_of(len(visits))):
            check_time()
            frank_wolfe_epoch(*data, state.grams, dual, some, state.inner_steps, self.shrink, work)
        state.passes += 2 * float(bags.sizes[visits].sum()) / bags.elements

    def finish(self, problem: Problem, state: FrankWolfeState) -> None:
        """Measure the last epochs."""
        self._measure(problem, state, tol=np.inf)

    def _extrapolate(self, problem: Problem, state: FrankWolfeState) -> None:
        """Go on in the direction of the last epochs, as far as that raises the dual.

        The weights of the active cuts are moved beyond where they are, negative ones clipped; a bag whose cuts were
        merged meanwhile keeps its weights. The result is a dual point in any case.
        """
        cuts = state.cuts
        if state.before is None:
            state.before = cuts.weights.copy(), cuts.versions.copy()
        state.wait -= 1
        if state.wait > 0:
            return
        weights_before, versions_before = state.before
        same = versions_before == cuts.versions
        direction = np.where(same[:, None], cuts.weights - weights_before, 0.0)
        dual = problem.dual(state.parameters, cuts.offsets)
        state.before = None
        for reach in (16.0, 4.0, 1.0):
            moved = replace(cuts, weights=np.maximum(cuts.weights + reach * direction, 0.0))
            moved.slopes, moved.offsets = np.empty_like(cuts.slopes), np.empty_like(cuts.offsets)
            moved.recombine(problem)
            parameters = problem.parameters(moved.slopes)
            state.passes += 1
            if problem.dual(parameters, moved.offsets) > dual:
                state.cuts, state.parameters = moved, parameters
                state.wait = state.pause = self.memory
                return
        # In vain: leave more time to the epochs before the next try.
        state.wait = state.pause = min(2 * state.pause, 4 * self.memory)

    def _visits(self, gaps: Array, iteration: int) -> NDArray[np.int64]:
        """Every bag once at first; then those that hold nearly all of the gap, in random order."""
        generator = np.random.default_rng([self.random_state, iteration])
        if not np.all(np.isfinite(gaps)):
            return generator.permutation(len(gaps))
        chance = np.minimum(1.0, self.eagerness * gaps / max(float(gaps.mean()), 1e-300)) + 0.05
        return generator.permutation(np.flatnonzero(generator.random(len(gaps)) < chance))

    def _measure(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        """True primal and dual values, and the gap of every bag at one and the same W."""
        values = measure_gaps(problem, state)
        state.passes += 1
        state.offer_primal(state.parameters, problem.primal(state.parameters, values))
        dual = problem.dual(state.parameters, state.cuts.offsets)
        if relative_gap(state.primal, dual) <= tol:
            # Certify the answer: the dual point afresh from its cuts, and W afresh from the dual point.
            state.parameters = recombined_parameters(problem, state)
            state.passes += 1
            dual = problem.dual(state.parameters, state.cuts.offsets)
        state.offer_dual(dual)

    def _grams(self, problem: Problem) -> tuple[NDArray[np.int64], Array]:
        bags = problem.surrogate.bags
        stored = problem.design.data.size if problem.design.sparse else problem.design.dense.size
        budget = max(self.gram_share * stored, MIN_GRAM_ENTRIES)
        entries = bags.sizes.astype(np.int64) ** 2
        by_size = np.argsort(entries, kind="stable")
        fits = np.zeros(len(entries), dtype=bool)
        fits[by_size] = np.cumsum(entries[by_size]) <= budget
        starts = np.concatenate(([0], np.cumsum(np.where(fits, entries, 0))))
        grams = np.empty(int(starts[-1]))
        for some in np.array_split(np.flatnonzero(fits), 4 * pieces_of(len(entries))):
            check_time()
            write_some_grams(problem, some, starts, grams)
        return starts, grams


def pieces_of(visits: int) -> int:
    """The number of pieces of an epoch, so that the clock is looked at more often than once per pass over X."""
    return min(8, 1 + visits // 512)


def measure_gaps(problem: Problem, state: FrankWolfeState) -> Array:
    """Write the gap of every bag at the parameters; returns the values B_i there."""
    margins = problem.margins(state.parameters)
    values = problem.cuts(margins).values
    heights = state.cuts.offsets - problem.surrogate.bags.totals(state.cuts.slopes * margins)
    state.gaps[:] = np.maximum(values - heights, 0.0)
    return values


def recombined_parameters(problem: Problem, state: FrankWolfeState) -> Array:
    """W(sigma) of the dual point, which is first computed afresh from its cuts."""
    state.cuts.recombine(problem)
    return problem.parameters(state.cuts.slopes)


def _balanced_steps(problem: Problem) -> int:
    """Inner steps that cost about as much as the two passes over the rows of a bag: none is free."""
    length = len(problem.signs) / problem.n_bags
    return int(np.clip(2 * problem.design.row_entries / (40 + length), 3, 20))
