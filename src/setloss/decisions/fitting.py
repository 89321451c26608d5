"""The most likely count model of held-out scores, and how strongly it is shrunk.

    max over (a, b, theta)   sum_i weight_i log P(y_i | a s_i + b, u(theta))  -  penalty(a, b, theta)

The problem is concave. The penalties are those of normal priors: biases near each other (a classifier knows by itself
which labels are rare), potentials near those of independent labels. How wide these are is chosen by the likelihood of
held-out folds. Scale and common bias are as good as free, whatever the unit of the scores: margins of a linear model
may be a hundredth of log-odds.

A quasi-Newton method takes about ten passes over the sets, in coordinates in which the curvature at the start is near
the identity.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from setloss.decisions.calibration import LONGEST, Calibration, Potentials, chunks
from setloss.decisions.count_model import ContradictionError, SetsOfOneSize
from setloss.decisions.held_out import HeldOut, thinned
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

SETS_FOR_A_NUMBER = 100
"""Largest number of sets a model is fitted to, for each number that it learns. A number estimated from n sets costs
about 1 / (2 n) of log-likelihood on a new one, so all of them together 1/200."""

WIDTH_WORK = 600_000
"""The same for the sets by which widths are chosen: the more sets there are, the less the prior matters."""

TOLERANCE = 1e-6
"""The search ends where a step makes labels likelier by this part of the log-likelihood, some hundredths of it."""

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
    """As many of the sets, at random, as have at most so many pairs of an element and a count; long bags thinned.

    More than `SETS_FOR_A_NUMBER` for each number that is learned are not needed.
    """
    if data.bags is not None:
        some, bags = thinned(data.scores, data.bags, LONGEST)
        data = HeldOut(data.scores[some], data.truth[some], data.known[some], data.weights, data.folds, bags)
    numbers = _biases(data) + (1 if potentials is None else len(potentials.precision(1.0)))
    return data.sample(min(most // max(1, int(work_of_a_set(data, potentials))), SETS_FOR_A_NUMBER * numbers))


def work_of_a_set(data: HeldOut, potentials: Potentials | None) -> float:
    """Pairs of an element and a count in a set, on average; with no potentials, elements."""
    sizes = np.minimum(data.sizes, LONGEST) if data.bags is not None else data.sizes[:1]
    return float(np.mean(sizes if potentials is None else sizes * (np.minimum(sizes, potentials.most) + 1)))


def _biases(data: HeldOut) -> int:
    """The number of biases: of labels one each, of frames one for all."""
    return 1 if data.bags is not None else data.scores.shape[1]


def calibrate(
    data: HeldOut, potentials: Potentials | None, widths: Widths, start: Calibration | None = None
) -> Calibration:
    """The most likely count model, sought from `start` on; with no potentials, that of independent labels.

    Without a start the search begins at independent labels: elsewhere its first steps lead to potentials so large
    that sums underflow.
    """
    if start is None and potentials is not None:
        start = _Problem.of(data, None, widths).solved(None)
    return _Problem.of(data, potentials, widths).solved(start)


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
    folds = [(data.part(data.folds != fold), data.part(data.folds == fold)) for fold in np.unique(data.folds)]
    starts = [calibrate(train, None, best) for train, _ in folds]  # each search begins where the one before ended
    for bias in BIAS_WIDTHS:
        counts = COUNT_WIDTHS if potentials is not None and bias == BIAS_WIDTHS[0] else [best.counts]
        for widths in [Widths(bias, count) for count in counts]:
            likelihood = 0.0
            for i, (train, test) in enumerate(folds):
                starts[i] = calibrate(train, potentials, widths, starts[i])
                likelihood += float(test.weights @ starts[i].log_likelihoods(test))
            best, value = (widths, likelihood) if likelihood > value else (best, value)
    return best


def _parts_of(data: HeldOut) -> list[HeldOut]:
    """The sets by size, and those in rows in chunks: scores (n, p) without bags, no label true that is not known."""
    rows = [(some, some) for some in chunks(*data.scores.shape)] if data.bags is None else data.bags.by_size
    parts = []
    for sets, some in rows:
        scores, truth, known = data.scores[some], data.truth[some], data.known[some]
        parts.append(HeldOut(scores, truth & known, known, data.weights[sets], data.folds[sets]))
    return parts


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised likelihood of (a / unit - 1, b, theta) as a function of whitened coordinates z.

    Scores are in the `unit` of log-odds, and centred so that their scale does little to the biases. The bias of a
    label is the sum of a common one and of its own, b_j = c + o_j, with normal priors of `COMMON_WIDTH` and of
    `Widths.bias`. In each of the numbers (a / unit - 1, c, o) a step of 1 in z is one standard deviation by the
    curvature; for theta all of the curvature, prior + likelihood = root' root, is whitened.
    """

    parts: list[HeldOut]
    family: Potentials | None
    unit: float
    centre: float
    precisions: Array
    steps: Array
    prior: Array
    root: Array

    @classmethod
    def of(cls, data: HeldOut, family: Potentials | None, widths: Widths) -> Self:
        parts = _parts_of(data)
        mean, unit = _mean_and_unit(parts)
        by_bias, first, second = np.zeros(_biases(data)), 0.0, 0.0
        for part in parts:
            chance, apart = expit(unit * part.scores), part.scores - mean
            spread = chance * (1 - chance) * part.element_weights + 1e-12
            by_bias += _by_bias(spread, by_bias)
            first, second = first + np.vdot(spread, apart), second + np.vdot(spread, apart**2)
        shift = first / by_bias.sum()
        by_scale = unit**2 * (second - first * shift)
        precisions = np.concatenate(([1.0, COMMON_WIDTH**-2], np.full(len(by_bias), widths.bias**-2)))
        steps = 1 / np.sqrt(precisions + np.concatenate(([by_scale, by_bias.sum()], by_bias)))
        prior = np.zeros((0, 0)) if family is None else family.precision(widths.counts)
        curvature = prior.copy()
        if family is not None:
            for part in parts:
                seen = family.statistics(part.scores.shape[1])[part.truth.sum(axis=1)]
                curvature += (seen * part.weights[:, None]).T @ seen
        root = cholesky(curvature) if family else curvature
        return cls(parts, family, unit, mean + shift, precisions, steps, prior, root)

    def parameters(self, z: Array) -> tuple[Array, Array]:
        """(a / unit - 1, c, o) and theta at these coordinates."""
        rest = z[len(self.steps) :]
        return self.steps * z[: len(self.steps)], solve_triangular(self.root, rest) if len(rest) else rest

    def solved(self, start: Calibration | None) -> Calibration:
        """The most likely calibration."""
        options = {"maxiter": 100, "ftol": TOLERANCE, "maxcor": 20}
        optimum = minimize(self, self.coordinates(start), jac=True, method="L-BFGS-B", options=options)
        return self.calibration(optimum.x)

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
        (numbers, theta), calibration = self.parameters(z), self.calibration(z)
        value, by_scale, by_bias, by_theta = 0.0, 0.0, np.zeros_like(calibration.bias), np.zeros_like(theta)
        for part in self.parts:
            try:
                more, by_score, more_by_theta = _likelihood(part, calibration)
            except ContradictionError:  # a step that went much too far: the search takes a shorter one
                return FAR, np.zeros_like(z)
            value += more
            by_scale += self.unit * float(np.vdot(by_score, part.scores - self.centre))
            by_bias += _by_bias(by_score, by_bias)
            by_theta += more_by_theta
        pull, pull_theta = self.precisions * numbers, self.prior @ theta
        slopes = self.steps * (pull - np.concatenate(([by_scale, by_bias.sum()], by_bias)))
        slopes_theta = solve_triangular(self.root, pull_theta - by_theta, trans="T") if len(theta) else theta
        return 0.5 * float(numbers @ pull + theta @ pull_theta) - value, np.concatenate((slopes, slopes_theta))


def _likelihood(part: HeldOut, calibration: Calibration) -> tuple[float, Array, Array]:
    """The weighted log-likelihood of some sets and its gradients in the score of every element and in theta."""
    scores = calibration.log_odds(part.scores)
    if calibration.potentials is None:
        each, small = part.element_weights, np.exp(-np.abs(scores))
        value = np.vdot(each, part.truth * scores - np.maximum(scores, 0) - np.log1p(small))
        return float(value), each * (part.truth - np.where(scores > 0, 1, small) / (1 + small)), np.zeros(0)
    statistics = calibration.potentials.statistics(scores.shape[1])
    seen = SetsOfOneSize(scores, (statistics @ calibration.theta)[None]).likelihood(part.truth, part.known)
    weights = part.weights
    return float(weights @ seen.values), weights[:, None] * seen.scores, weights @ seen.counts @ statistics


def _by_bias(values: Array, biases: Array) -> Array:
    """Sums over the elements that share a bias: those of a label, in bags all."""
    return np.asarray(values.sum(axis=0 if len(biases) == values.shape[1] else None))


def _mean_and_unit(parts: list[HeldOut]) -> tuple[float, float]:
    """The mean of the scores, and the scale with which they have the spread of typical log-odds."""
    total = sum(float(part.element_weights.sum()) for part in parts)
    mean = sum(float(np.vdot(part.element_weights, part.scores)) for part in parts) / total
    variance = sum(float(np.vdot(part.element_weights, (part.scores - mean) ** 2)) for part in parts) / total
    return mean, TYPICAL_SPREAD / np.sqrt(variance) if variance > 0 else 1.0
