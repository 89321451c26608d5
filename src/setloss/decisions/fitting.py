"""The most likely count model of held-out scores, and how strongly it is shrunk.

    max over (a, b, theta)   sum_i weight_i log P(y_i | a s_i + b, u(theta))  -  penalty(a, b, theta)

The problem is concave. The penalties are those of normal priors: biases near each other (a classifier knows by itself
which labels are rare), potentials near those of independent labels. How wide these are is chosen by the likelihood of
held-out folds. Scale and common bias are as good as free, whatever the unit of the scores: margins of a linear model
may be a hundredth of log-odds.

A quasi-Newton method takes about ten passes over the sets, in coordinates in which the curvature at the start is near
the identity; for p biases with a shared part that is a diagonal and a rank-one matrix, O(p).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    biases, and the curvature of the likelihood at the start in a / unit - 1, in each bias, and in theta.
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
        layout = Layout.of(scores.shape, data.bags)
        potentials = None if family is None else family.on(data.bags)
        by_theta = np.zeros((0, 0))
        if potentials is not None:
            model = CountModel(scores, potentials.of(np.zeros(potentials.length)), layout)
            by_theta = potentials.curvature(model.count_probabilities, data.weights)
        seen = SeenLabels.of(data.truth, data.known, layout)
        by_scale, by_bias = float(np.sum(spread * centred**2)), _by_bias(spread)
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
    """The penalised likelihood of (a / unit - 1, b, theta), in coordinates z that whiten its curvature at the start.

    The precision of p biases that share one of `COMMON_WIDTH` and differ by `width` is (I - share 11') / width^2.
    With the likelihood's curvature it is D^(1/2) (I - v v') D^(1/2), D diagonal; b = D^(-1/2) (I - v v')^(-1/2) z.
    """

    sets: _Sets
    width: float
    prior: Array
    root: Array

    @classmethod
    def of(cls, sets: _Sets, widths: Widths) -> _Problem:
        prior = np.zeros((0, 0)) if sets.family is None else sets.family.precision(widths.counts)
        root = cholesky(prior + sets.by_theta) if prior.size else prior
        return cls(sets, widths.bias, prior, root)

    @cached_property
    def _share(self) -> float:
        return COMMON_WIDTH**2 / (self.width**2 + len(self.sets.by_bias) * COMMON_WIDTH**2)

    @cached_property
    def _diagonal(self) -> Array:
        """D^(-1/2)."""
        return np.asarray(1 / np.sqrt(1 / self.width**2 + self.sets.by_bias))

    def _turned(self, values: Array, power: float) -> Array:
        """(I - v v')^power times a vector."""
        v = np.sqrt(self._share) / self.width * self._diagonal
        length = float(v @ v)
        return np.asarray(values + ((1 - length) ** power - 1) / length * (v @ values) * v)

    def _solve(self, values: Array, trans: str = "N") -> Array:
        return np.asarray(solve_triangular(self.root, values, trans=trans)) if len(values) else values

    def parameters(self, z: Array) -> tuple[float, Array, Array]:
        """(a / unit - 1, b, theta) at these coordinates."""
        end = 1 + len(self._diagonal)
        bias = self._diagonal * self._turned(z[1:end], -0.5)
        return float(z[0]) / np.sqrt(1 + self.sets.by_scale), bias, self._solve(z[end:])

    def solved(self, start: Calibration | None) -> Calibration:
        """The most likely calibration."""
        options = {"maxiter": 100, "ftol": 1e-7, "maxcor": 20}
        return self.calibration(
            minimize(self, self.coordinates(start), jac=True, method="L-BFGS-B", options=options).x
        )

    def coordinates(self, known: Calibration | None) -> Array:
        """Those of a calibration; without one, of the typical scale and no biases."""
        if known is None:
            return np.zeros(1 + len(self._diagonal) + len(self.root))
        scale = known.scale / self.sets.unit
        bias = np.atleast_1d(known.bias - self.sets.centre * (1 - scale))
        whitened = self._turned(bias / self._diagonal, 0.5)
        return np.concatenate(([(scale - 1) * np.sqrt(1 + self.sets.by_scale)], whitened, self.root @ known.theta))

    def calibration(self, z: Array) -> Calibration:
        """The calibration with these coordinates."""
        change, bias, theta = self.parameters(z)
        sets = self.sets
        return Calibration((1 + change) * sets.unit, bias - sets.centre * change, theta, sets.family)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The negative of the objective, and its gradient."""
        change, bias, theta = self.parameters(z)
        sets = self.sets
        value, by_score, by_count = sets.likelihood(sets.centre + (1 + change) * sets.centred + bias, theta)
        pull, pull_theta = (bias - self._share * bias.sum()) / self.width**2, self.prior @ theta
        by_bias = pull - _by_bias(by_score)
        gradient = (
            [(change - np.vdot(by_score, sets.centred)) / np.sqrt(1 + sets.by_scale)],
            self._turned(self._diagonal * by_bias, -0.5),
            self._solve(pull_theta - by_count, "T"),
        )
        penalty = 0.5 * (change**2 + float(bias @ pull) + float(theta @ pull_theta))
        return penalty - value, np.concatenate(gradient)


def _by_bias(values: Array) -> Array:
    """Sums over the elements that share a bias: those of a label, or all, in bags or with very many labels."""
    return np.asarray(values.sum(axis=0) if values.ndim == 2 and values.shape[1] <= MOST_BIASES else [values.sum()])


def _unit(scores: Array, weights: Array) -> float:
    """The scale with which scores have the spread of typical log-odds."""
    mean = np.average(scores, weights=weights)
    variance = float(np.average((scores - mean) ** 2, weights=weights))
    return TYPICAL_SPREAD / np.sqrt(variance) if variance > 0 else 1.0
