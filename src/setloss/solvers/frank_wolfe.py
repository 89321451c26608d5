"""Block-coordinate Frank-Wolfe with pairwise steps: the main solver.

    max over (o, sigma) of   D(o, sigma) = sum_i c_i o_i - 1/2 |W(sigma)|^2,   one block per bag

One iteration is an epoch: bags are visited in random order, those whose gap is large more often. A visit asks
for the cut at the current margins and moves weight from the lowest active cut to it, with the step length that
maximises D exactly; the Gram matrix of the bag lets it repeat this without touching X. The gap is a true one:
when the visits suggest that it is reached, all margins and W are computed afresh and both objectives compared.
Every few epochs the dual point is extrapolated along the way it took, which halves the number of epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.solvers.deadline import check_time
from setloss.solvers.grams import write_some_grams
from setloss.solvers.loop import State
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Solution, relative_gap
from setloss.solvers.verification import agreeing, agreeing_array, confirm_atoms, not_above
from setloss.typing import Array

MIN_GRAM_ENTRIES = 2**22
"""Gram matrices may take this many numbers (32 MiB) however small X is."""


@dataclass
class FrankWolfeState(State):
    """Where the Gram matrices of the bags begin and what they are, and how many steps a visit takes.

    `noted` is an epoch and the gap after it, from which the fall of the gap is predicted.
    """

    grams: tuple[NDArray[np.int64], Array] | None = None
    inner_steps: int = 0
    noted: tuple[int, float] = (0, 1.0)


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
        n, size = problem.n_bags, len(problem.signs)
        arrays: dict[str, Any] = {
            "slopes": np.zeros(size),
            "offsets": np.zeros(n),
            "atoms": np.zeros(size * self.capacity),
            "atom_offsets": np.zeros((n, self.capacity)),
            "weights": np.eye(1, self.capacity).repeat(n, axis=0),
            "counts": np.ones(n, dtype=np.int64),
            "versions": np.zeros(n, dtype=np.int64),
            "gaps": np.full(n, np.inf),
            "weights_before": np.zeros((n, self.capacity)),
            "versions_before": np.zeros(n, dtype=np.int64),
            "wait": np.array([self.memory, self.memory]),
        }
        known = warm is not None and all(warm.arrays.get(n, _NONE).shape == a.shape for n, a in arrays.items())
        if warm is not None and known and problem.surrogate.same_as(warm.surrogate):
            arrays = {name: np.array(warm.arrays[name]) for name in arrays}
            arrays["gaps"][:] = np.inf
            arrays["wait"] = np.array([self.memory, self.memory])
        arrays["parameters"] = problem.parameters(arrays["slopes"])
        return FrankWolfeState(arrays, best=arrays["parameters"].copy())

    def verify(self, problem: Problem, state: FrankWolfeState) -> None:
        """Every active cut as far as it is one, the dual point afresh from them; both values from there."""
        arrays = state.arrays
        confirm_atoms(problem, arrays)
        afresh = dict(arrays, **{name: arrays[name].copy() for name in ("weights", "slopes", "offsets")})
        image = recombined_parameters(problem, afresh)
        afresh["parameters"] = image
        for name in ("weights", "slopes", "offsets", "parameters"):
            arrays[name] = agreeing_array(arrays[name], afresh[name])
        state.dual = not_above(state.dual, problem.dual(image, afresh["offsets"]))
        state.primal = agreeing(state.primal, problem.objective(state.best))

    def step(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        self.epoch(problem, state, state.iteration)
        if self.memory:
            self._extrapolate(problem, state)
        arrays = state.arrays
        estimate = float(problem.costs @ arrays["gaps"])
        reference = max(problem.dual(arrays["parameters"], arrays["offsets"]), 0.0)
        due = (state.iteration + 1) % self.check_every == 0
        if due or estimate <= 2 * tol * (reference + estimate):
            self._measure(problem, state, tol)

    def epoch(self, problem: Problem, state: FrankWolfeState, number: int) -> None:
        """Visit the bags once, in an order drawn for the epoch of that number."""
        from setloss.solvers.kernels import frank_wolfe_epoch

        if state.grams is None:
            state.grams, state.inner_steps = self._grams(problem), self.inner_steps or _balanced_steps(problem)
        arrays, bags = state.arrays, problem.surrogate.bags
        visits, widest = self._visits(arrays["gaps"], number), int(bags.sizes.max())
        dual = tuple(arrays[name] for name in _KERNEL_ORDER)
        work = (*np.empty((5, widest)), np.empty(widest, dtype=bool), np.empty(problem.shape))
        data = (problem.design.arrays, problem.maps, problem.surrogate.kernel_data, problem.costs)
        for some in np.array_split(visits, pieces_of(len(visits))):
            check_time()
            frank_wolfe_epoch(*data, state.grams, dual, some, state.inner_steps, self.shrink, work)
        state.passes += 2 * float(bags.sizes[visits].sum()) / bags.elements

    def finish(self, problem: Problem, state: FrankWolfeState) -> None:
        """Before any other exit than convergence: what the last epochs were worth."""
        self._measure(problem, state, tol=np.inf)

    def _extrapolate(self, problem: Problem, state: FrankWolfeState) -> None:
        """Go on in the direction of the last epochs, as far as that raises the dual.

        The weights of the active cuts are moved beyond where they are, negative ones clipped; a bag whose cuts were
        replaced meanwhile keeps its weights. Whatever comes out is a dual point.
        """
        from setloss.solvers.kernels import recombine

        arrays = state.arrays
        wait, pause = arrays["wait"]
        arrays["wait"] = np.array([wait - 1, pause])
        if wait == self.memory:
            arrays.update(weights_before=arrays["weights"].copy(), versions_before=arrays["versions"].copy())
        if wait > 1:
            return
        same = arrays["versions_before"] == arrays["versions"]
        direction = np.where(same[:, None], arrays["weights"] - arrays["weights_before"], 0.0)
        dual = problem.dual(arrays["parameters"], arrays["offsets"])
        for reach in (16.0, 4.0, 1.0):
            weights = np.maximum(arrays["weights"] + reach * direction, 0.0)
            slopes, offsets = np.empty_like(arrays["slopes"]), np.empty_like(arrays["offsets"])
            recombine(
                problem.surrogate.bags.offsets, arrays["atoms"], arrays["atom_offsets"], weights, slopes, offsets
            )
            parameters = problem.parameters(slopes)
            state.passes += 1
            if problem.dual(parameters, offsets) > dual:
                arrays.update(weights=weights, slopes=slopes, offsets=offsets, parameters=parameters)
                arrays["wait"] = np.array([self.memory, self.memory])
                return
        # In vain: leave more time to the epochs before the next try.
        arrays["wait"] = np.full(2, min(2 * pause, 4 * self.memory))

    def _visits(self, gaps: Array, iteration: int) -> NDArray[np.int64]:
        """Every bag once at first; then those that hold nearly all of the gap, in random order."""
        generator = np.random.default_rng([self.random_state, iteration])
        if not np.all(np.isfinite(gaps)):
            return generator.permutation(len(gaps))
        chance = np.minimum(1.0, self.eagerness * gaps / max(float(gaps.mean()), 1e-300)) + 0.05
        return generator.permutation(np.flatnonzero(generator.random(len(gaps)) < chance))

    def _measure(self, problem: Problem, state: FrankWolfeState, tol: float) -> None:
        """True primal and dual values, and the gap of every bag at one and the same W."""
        arrays = state.arrays
        values = measure_gaps(problem, arrays)
        state.passes += 1
        state.offer_primal(arrays["parameters"], problem.primal(arrays["parameters"], values))
        dual = problem.dual(arrays["parameters"], arrays["offsets"])
        if relative_gap(state.primal, dual) <= tol:
            # Certify the answer: the dual point afresh from its cuts, and W afresh from the dual point.
            arrays["parameters"][:] = recombined_parameters(problem, arrays)
            state.passes += 1
            dual = problem.dual(arrays["parameters"], arrays["offsets"])
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
    """In how many pieces bags are visited, the clock looked at in between: none takes longer than a pass over X."""
    return min(8, 1 + visits // 512)


def measure_gaps(problem: Problem, arrays: dict[str, Any]) -> Array:
    """The gap of every bag at the parameters, in place; returns the values B_i there."""
    margins = problem.margins(arrays["parameters"])
    values = problem.cuts(margins).values
    heights = arrays["offsets"] - problem.surrogate.bags.totals(arrays["slopes"] * margins)
    arrays["gaps"][:] = np.maximum(values - heights, 0.0)
    return values


def recombined_parameters(problem: Problem, arrays: dict[str, Any]) -> Array:
    """The dual point afresh from its cuts, in place, and W afresh from the dual point."""
    from setloss.solvers.kernels import recombine

    names = ("atoms", "atom_offsets", "weights", "slopes", "offsets")
    recombine(problem.surrogate.bags.offsets, *(arrays[name] for name in names))
    return problem.parameters(arrays["slopes"])


def _balanced_steps(problem: Problem) -> int:
    """Inner steps that cost about as much as the two passes over the rows of a bag: none is free."""
    length = len(problem.signs) / problem.n_bags
    return int(np.clip(2 * problem.design.row_entries / (40 + length), 3, 20))


_NONE = np.empty(0)
_KERNEL_ORDER = ("parameters", "slopes", "offsets", "atoms", "atom_offsets", "weights", "counts", "versions", "gaps")
