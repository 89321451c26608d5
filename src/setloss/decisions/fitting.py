"""The most likely count model of held-out scores, and how strongly it is shrunk.

    max over (a, b, theta)   sum_i weight_i log P(y_i | a s_i + b, u(theta))  -  penalty(a, b, theta)

The problem is concave. The penalties are those of normal priors: biases near each other (a classifier knows by itself
which labels are rare), potentials near those of independent labels. How wide these are is chosen by the likelihood of
held-out folds. Scale and common bias are as good as free, whatever the unit of the scores: margins of a linear model
may be a hundredth of log-odds.

A quasi-Newton method takes about ten passes over the sets, in coordinates in which the curvature at the start is near
the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from setloss.decisions.calibration import LONGEST, Calibration, LinearPotentials, Potentials
from setloss.decisions.count_model import CountModel
from setloss.decisions.held_out import HeldOut
from setloss.decisions.scores import Layout, SeenLabels
from setloss.typing import Array

TYPICAL_SPREAD = 3.0
"""Expected standard deviation of the scores in log-odds; also how uncertain that is."""

COMMON_WIDTH = 3.0
"""Standard deviation of the bias that all labels share, in log-odds."""

BIAS_WIDTHS = (0.1, 0.7)
COUNT_WIDTHS = (0.3, 1.5, 0.05)
"""Standard deviations of the priors to choose from; the search begins with the first ones."""

MOST_WORK = 12_000_000
"""Largest number of pairs of an element and a count in the sets a model is fitted to: a tenth of a second a pass."""

WIDTH_WORK = 2_500_000
"""The same for the sets by which widths are chosen, in some hundred passes."""

MOST_BIASES = 2000
"""Largest number of labels that get a bias each; more of them, most seen once or never, share one."""

ENOUGH_FOR_HALVES = 1000
"""Fewest sets of which two halves, instead of all folds, choose the widths."""


@dataclass(frozen=True)
class Widths:
    """Standard deviations of the priors of biases and potentials."""

    bias: float = BIAS_WIDTHS[0]
    counts: float = COUNT_WIDTHS[0]


def within_work(data: HeldOut, potentials: Potentials | None, most: int) -> HeldOut:
    """As many of the sets, at random, as have at most so many pairs of an element and a count; long bags thinned."""
    data = data.thinned(LONGEST)
    return data.sample(most // max(1, int(work_of_a_set(data, potentials))))


def work_of_a_set(data: HeldOut, potentials: Potentials | None) -> float:
    """Pairs of an element and a count in a set, on average; with no potentials, elements."""
    sizes = np.minimum(data.sizes, LONGEST) if data.bags is not None else data.sizes[:1]
    return float(np.mean(sizes if potentials is None else potentials.work(sizes)))


def calibrate(
    data: HeldOut, potentials: Potentials | None, widths: Widths, start: Calibration | None = None
) -> Calibration:
    """The most likely count model, sought from `start` on; with no potentials, that of independent labels."""
    return _Problem.of(_Sets.of(within_work(data, potentials, MOST_WORK), potentials), widths).solved(start)


def chosen_widths(data: HeldOut, potentials: Potentials | None) -> Widths:
    """The widths of largest likelihood on held-out folds: first of the potentials, then of the biases.

    With a single fold there is nothing to choose by, and the first ones are taken.
    """
    data = within_work(data, potentials, WIDTH_WORK)
    if len(data) >= ENOUGH_FOR_HALVES:
        data = HeldOut(data.scores, data.truth, data.known, data.weights, data.folds % 2, data.bags)
    best, value = Widths(), -np.inf
    if len(np.unique(data.folds)) < 2:
        return best
    folds = [(_Sets.of(train, potentials), test) for train, test, _ in data.splits()]
    starts: list[Calibration | None] = [None] * len(folds)  # each search begins where the one before ended
    for bias in BIAS_WIDTHS:
        counts = COUNT_WIDTHS if potentials is not None and bias == BIAS_WIDTHS[0] else [best.counts]
        for widths in [Widths(bias, count) for count in counts]:
            ends = [_Problem.of(fold[0], widths).solved(start) for fold, start in zip(folds, starts, strict=True)]
            found = float(sum(end.log_likelihood(test) for end, (_, test) in zip(ends, folds, strict=True)))
            best, value = (widths, found) if found > value else (best, value)
            starts = [*ends]
    return best


@dataclass(frozen=True, eq=False)
class _Sets:
    """What all widths have in common: scores in the unit of log-odds, centred so that the scale does little to the
    biases, and about how curved the likelihood is in a / unit - 1, in each bias, and in theta.
    """

    family: Potentials | None
    potentials: LinearPotentials | None
    seen: SeenLabels
    weights: Array
    element_weights: Array
    unit: float
    centre: float
    centred: Array
    by_scale: float
    by_bias: Array
    by_theta: Array

    @classmethod
    def of(cls, data: HeldOut, family: Potentials | None) -> _Sets:
        weights = data.element_weights
        unit = _unit(data.scores, weights)
        scores = unit * data.scores
        chance = expit(scores)
        spread = chance * (1 - chance) * weights + 1e-12
        centre = float(np.average(scores, weights=spread))
        centred = scores - centre
        seen = SeenLabels.of(data.truth, data.known, Layout.of(scores.shape, data.bags))
        potentials = None if family is None else family.on(data.bags)
        by_scale, by_bias = float(np.sum(spread * centred**2)), _by_bias(spread)
        by_theta = np.zeros((0, 0)) if potentials is None else potentials.curvature(seen.positives, data.weights)
        return cls(
            family, potentials, seen, data.weights, weights, unit, centre, centred, by_scale, by_bias, by_theta
        )

    def likelihood(self, scores: Array, theta: Array) -> tuple[float, Array, Array]:
        """The weighted log-likelihood and its gradients in the score of every element and in theta."""
        if self.potentials is None:
            labels, weights, small = self.seen.labels, self.element_weights, np.exp(-np.abs(scores))
            value = np.vdot(weights, labels * scores - np.maximum(scores, 0) - np.log1p(small))
            return float(value), weights * (labels - np.where(scores > 0, 1, small) / (1 + small)), theta
        found = CountModel(scores, self.potentials.of(theta), self.seen.layout).likelihood(self.seen)
        bags = self.seen.layout.bags
        weights = self.weights[:, None] if bags is None else np.repeat(self.weights, bags.sizes)
        by_count = self.potentials.gradient(found.counts, self.weights)
        return float(self.weights @ found.values), weights * found.scores, by_count


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised likelihood of (a / unit - 1, b, theta) as a function of whitened coordinates z.

    The bias of a label is the sum of a common one and of its own, b_j = c + o_j, with normal priors of `COMMON_WIDTH`
    and of a `width`. In each of the numbers (a / unit - 1, c, o) a step of 1 in z is one standard deviation by the
    curvature; for theta all of the curvature, prior + likelihood = root' root, is whitened.
    """

    sets: _Sets
    precisions: Array
    steps: Array
    prior: Array
    root: Array

    @classmethod
    def of(cls, sets: _Sets, widths: Widths) -> _Problem:
        own = np.full(len(sets.by_bias), widths.bias**-2)
        precisions = np.concatenate(([1.0, COMMON_WIDTH**-2], own))
        curvatures = np.concatenate(([sets.by_scale, sets.by_bias.sum()], sets.by_bias))
        prior = np.zeros((0, 0)) if sets.family is None else sets.family.precision(widths.counts)
        root = cholesky(prior + sets.by_theta) if prior.size else prior
        return cls(sets, precisions, 1 / np.sqrt(precisions + curvatures), prior, root)

    def parameters(self, z: Array) -> tuple[Array, Array]:
        """(a / unit - 1, c, o) and theta at these coordinates."""
        rest = z[len(self.steps) :]
        return self.steps * z[: len(self.steps)], solve_triangular(self.root, rest) if len(rest) else rest

    def solved(self, start: Calibration | None) -> Calibration:
        """The most likely calibration."""
        options = {"maxiter": 100, "ftol": 1e-7, "maxcor": 20}
        found = minimize(self, self.coordinates(start), jac=True, method="L-BFGS-B", options=options)
        return self.calibration(found.x)

    def coordinates(self, known: Calibration | None) -> Array:
        """Those of a calibration, its biases split as the prior likes best; else of typical scale and no biases."""
        if known is None:
            return np.zeros(len(self.steps) + len(self.root))
        change = known.scale / self.sets.unit - 1
        bias = np.atleast_1d(known.bias + self.sets.centre * change)
        common = bias.sum() / (len(bias) + self.precisions[1] / self.precisions[2])
        return np.concatenate((np.concatenate(([change, common], bias - common)) / self.steps, self.root @ known.theta))

    def calibration(self, z: Array) -> Calibration:
        """The calibration with these coordinates."""
        (change, common, *own), theta = self.parameters(z)
        sets = self.sets
        return Calibration((1 + change) * sets.unit, common + np.array(own) - sets.centre * change, theta, sets.family)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The negative of the objective, and its gradient."""
        numbers, theta = self.parameters(z)
        sets, change, bias = self.sets, numbers[0], numbers[1] + numbers[2:]
        value, by_score, by_count = sets.likelihood(sets.centre + (1 + change) * sets.centred + bias, theta)
        by_bias = _by_bias(by_score)
        pull, pull_theta = self.precisions * numbers, self.prior @ theta
        slopes = self.steps * (pull - np.concatenate(([np.vdot(by_score, sets.centred), by_bias.sum()], by_bias)))
        by_theta = solve_triangular(self.root, pull_theta - by_count, trans="T") if len(theta) else theta
        return 0.5 * float(numbers @ pull + theta @ pull_theta) - value, np.concatenate((slopes, by_theta))


def _by_bias(values: Array) -> Array:
    """Sums over the elements that share a bias: those of a label, or all, in bags or with very many labels."""
    return np.asarray(values.sum(axis=0) if values.ndim == 2 and values.shape[1] <= MOST_BIASES else [values.sum()])


def _unit(scores: Array, weights: Array) -> float:
    """The scale with which scores have the spread of typical log-odds."""
    mean = np.average(scores, weights=weights)
    variance = float(np.average((scores - mean) ** 2, weights=weights))
    return TYPICAL_SPREAD / np.sqrt(variance) if variance > 0 else 1.0
