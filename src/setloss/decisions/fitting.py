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

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from setloss.decisions.calibration import LONGEST, Calibration, LinearPotentials, Potentials
from setloss.decisions.count_model import ContradictionError, CountModel
from setloss.decisions.held_out import HeldOut, thinned
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

FAR = 1e300
"""The objective where potentials contradict scores."""

ENOUGH_FOR_HALVES = 1000
"""Fewest sets of which two halves, instead of all folds, choose the widths."""


@dataclass(frozen=True)
class Widths:
    """Standard deviations of the priors of biases and potentials."""

    bias: float = BIAS_WIDTHS[0]
    counts: float = COUNT_WIDTHS[0]


def within_work(data: HeldOut, potentials: Potentials | None, most: int) -> HeldOut:
    """As many of the sets, at random, as have at most so many pairs of an element and a count; long bags thinned."""
    if data.bags is not None:
        some, bags = thinned(data.scores, data.bags, LONGEST)
        data = HeldOut(data.scores[some], data.truth[some], data.known[some], data.weights, data.folds, bags)
    return data.sample(most // max(1, int(work_of_a_set(data, potentials))))


def work_of_a_set(data: HeldOut, potentials: Potentials | None) -> float:
    """Pairs of an element and a count in a set, on average; with no potentials, elements."""
    sizes = np.minimum(data.sizes, LONGEST) if data.bags is not None else data.sizes[:1]
    return float(np.mean(sizes if potentials is None else sizes * (np.minimum(sizes, potentials.most) + 1)))


def calibrate(
    data: HeldOut, potentials: Potentials | None, widths: Widths, start: Calibration | None = None
) -> Calibration:
    """The most likely count model, sought from `start` on; with no potentials, that of independent labels.

    Without a start the search begins at independent labels: elsewhere its first steps lead to potentials so large
    that sums underflow.
    """
    studied = within_work(data, potentials, MOST_WORK)
    if start is None and potentials is not None:
        start = _Problem.of(studied, None, widths).solved(None)
    return _Problem.of(studied, potentials, widths).solved(start)


def chosen_widths(data: HeldOut, potentials: Potentials | None) -> Widths:
    """The widths of largest likelihood on held-out folds: first of the potentials, then of the biases.

    With a single fold there is nothing to choose by, and the first ones are taken.
    """
    data = within_work(data, potentials, WIDTH_WORK)
    if len(data) >= ENOUGH_FOR_HALVES:
        data = replace(data, folds=data.folds % 2)
    best, value = Widths(), -np.inf
    if len(np.unique(data.folds)) < 2:
        return best
    folds = list(data.splits())
    starts = [calibrate(train, None, best) for train, _, _ in folds]  # each search begins where the one before ended
    for bias in BIAS_WIDTHS:
        counts = COUNT_WIDTHS if potentials is not None and bias == BIAS_WIDTHS[0] else [best.counts]
        for widths in [Widths(bias, count) for count in counts]:
            found = 0.0
            for i, (train, test, _) in enumerate(folds):
                starts[i] = end = _Problem.of(train, potentials, widths).solved(starts[i])
                found += end.log_likelihood(test)
            best, value = (widths, found) if found > value else (best, value)
    return best


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised likelihood of (a / unit - 1, b, theta) as a function of whitened coordinates z.

    Scores are in the `unit` of log-odds, and centred so that their scale does little to the biases. The bias of a
    label is the sum of a common one and of its own, b_j = c + o_j, with normal priors of `COMMON_WIDTH` and of
    `Widths.bias`. In each of the numbers (a / unit - 1, c, o) a step of 1 in z is one standard deviation by the
    curvature; for theta all of the curvature, prior + likelihood = root' root, is whitened.
    """

    data: HeldOut
    seen: SeenLabels
    family: Potentials | None
    potentials: LinearPotentials | None
    unit: float
    centre: float
    precisions: Array
    steps: Array
    prior: Array
    root: Array

    @classmethod
    def of(cls, data: HeldOut, family: Potentials | None, widths: Widths) -> _Problem:
        weights = data.element_weights
        unit = _unit(data.scores, weights)
        chance = expit(unit * data.scores)
        spread = chance * (1 - chance) * weights + 1e-12
        centre = float(np.average(data.scores, weights=spread))
        by_bias, by_scale = _by_bias(spread), float(np.sum(spread * (unit * (data.scores - centre)) ** 2))
        precisions = np.concatenate(([1.0, COMMON_WIDTH**-2], np.full(len(by_bias), widths.bias**-2)))
        steps = 1 / np.sqrt(precisions + np.concatenate(([by_scale, by_bias.sum()], by_bias)))
        seen = SeenLabels.of(data.truth, data.known, Layout.of(data.scores.shape, data.bags))
        if family is None:
            return cls(data, seen, None, None, unit, centre, precisions, steps, *np.zeros((2, 0, 0)))
        potentials, prior = family.on(data.bags), family.precision(widths.counts)
        root = cholesky(prior + potentials.curvature(seen.positives, data.weights))
        return cls(data, seen, family, potentials, unit, centre, precisions, steps, prior, root)

    def parameters(self, z: Array) -> tuple[Array, Array]:
        """(a / unit - 1, c, o) and theta at these coordinates."""
        rest = z[len(self.steps) :]
        return self.steps * z[: len(self.steps)], solve_triangular(self.root, rest) if len(rest) else rest

    def solved(self, start: Calibration | None) -> Calibration:
        """The most likely calibration."""
        options = {"maxiter": 100, "ftol": 1e-8, "maxcor": 20}
        found = minimize(self, self.coordinates(start), jac=True, method="L-BFGS-B", options=options)
        return self.calibration(found.x)

    def coordinates(self, known: Calibration | None) -> Array:
        """Those of a calibration, its biases split as the prior likes best; else of typical scale and no biases.

        One of independent labels has no theta; its potentials are 0.
        """
        if known is None:
            return np.zeros(len(self.steps) + len(self.root))
        bias = np.atleast_1d(known.bias + (known.scale - self.unit) * self.centre)
        common = bias.sum() / (len(bias) + self.precisions[1] / self.precisions[2])
        numbers = np.concatenate(([known.scale / self.unit - 1, common], bias - common))
        theta = self.root @ known.theta if len(known.theta) else np.zeros(len(self.root))
        return np.concatenate((numbers / self.steps, theta))

    def calibration(self, z: Array) -> Calibration:
        """The calibration with these coordinates."""
        (change, common, *own), theta = self.parameters(z)
        bias = common + np.array(own) - change * self.unit * self.centre
        return Calibration((1 + change) * self.unit, bias, theta, self.family)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The negative of the objective, and its gradient."""
        numbers, theta = self.parameters(z)
        try:
            value, by_score, by_count = self._likelihood(self.calibration(z))
        except ContradictionError:  # a step that went much too far: the search takes a shorter one
            return FAR, np.zeros_like(z)
        by_bias, by_scale = _by_bias(by_score), self.unit * np.vdot(by_score, self.data.scores - self.centre)
        pull, pull_theta = self.precisions * numbers, self.prior @ theta
        slopes = self.steps * (pull - np.concatenate(([by_scale, by_bias.sum()], by_bias)))
        by_theta = solve_triangular(self.root, pull_theta - by_count, trans="T") if len(theta) else theta
        return 0.5 * float(numbers @ pull + theta @ pull_theta) - value, np.concatenate((slopes, by_theta))

    def _likelihood(self, found: Calibration) -> tuple[float, Array, Array]:
        """The weighted log-likelihood and its gradients in the score of every element and in theta."""
        scores, weights = found.log_odds(self.data.scores), self.data.weights
        if self.potentials is None:
            labels, each, small = self.seen.labels, self.data.element_weights, np.exp(-np.abs(scores))
            value = np.vdot(each, labels * scores - np.maximum(scores, 0) - np.log1p(small))
            return float(value), each * (labels - np.where(scores > 0, 1, small) / (1 + small)), found.theta
        model = CountModel(scores, self.potentials.of(found.theta), self.seen.layout).likelihood(self.seen)
        bags = self.data.bags
        each = weights[:, None] if bags is None else np.repeat(weights, bags.sizes)
        return float(weights @ model.values), each * model.scores, self.potentials.gradient(model.counts, weights)


def _by_bias(values: Array) -> Array:
    """Sums over the elements that share a bias: those of a label, in bags all."""
    return np.atleast_1d(values.sum(axis=0))


def _unit(scores: Array, weights: Array) -> float:
    """The scale with which scores have the spread of typical log-odds."""
    mean = np.average(scores, weights=weights)
    variance = float(np.average((scores - mean) ** 2, weights=weights))
    return TYPICAL_SPREAD / np.sqrt(variance) if variance > 0 else 1.0
