"""Fitting a count model to scores that some classifier gave to examples it was not trained on.

    max over (a, b, theta)   sum_i weight_i log P(y_i | a s_i + b, u(theta))  -  penalty(a, b, theta)

Scores s become log-odds by a scale a and a bias b_j for each label; u(theta) are the log-potentials of the number of
positives (`setloss.decisions.potentials`). The problem is concave. The penalties are those of normal priors: biases
near each other (a classifier knows by itself which labels are rare), potentials near those of independent labels. How
wide these are is chosen by the likelihood of held-out folds. Scale and common bias are as good as free, whatever the
unit of the scores: margins of a linear model may be a hundredth of log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import block_diag, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from setloss.bags import Bags
from setloss.decisions import CountModel
from setloss.decisions.held_out import HeldOut
from setloss.decisions.layout import Layout
from setloss.decisions.potentials import LinearPotentials, Potentials
from setloss.decisions.seen_labels import SeenLabels
from setloss.typing import Array

TYPICAL_SPREAD = 3.0
"""How many log-odds one standard deviation of the scores is expected to be; also how uncertain that is."""

COMMON_WIDTH = 3.0
"""Standard deviation of the bias that all labels share, in log-odds."""

BIAS_WIDTHS = (0.1, 0.7)
COUNT_WIDTHS = (0.3, 1.5, 0.05)
"""Standard deviations of the priors to choose from; the search begins with the first ones."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A count model on top of scores: log-odds are ``scale * scores + bias``; independent without potentials."""

    scale: float
    bias: Array
    theta: Array = field(default_factory=lambda: np.zeros(0))
    potentials: Potentials | None = None

    def scores(self, scores: Array) -> Array:
        """Log-odds, but for the potentials."""
        return np.asarray(self.scale * scores + self.bias)

    def counts(self, bags: Bags | None = None) -> Array | None:
        """Log-potentials of the number of positives, as `decide` takes them."""
        return None if self.potentials is None else self.potentials.on(bags).of(self.theta)

    def model(self, scores: Array, bags: Bags | None = None) -> CountModel:
        """The count model of sets with these scores."""
        return CountModel(self.scores(scores), self.counts(bags), bags)

    def log_likelihood(self, held_out: HeldOut) -> float:
        """The weighted sum of log P(y) over the sets."""
        model = self.model(held_out.scores, held_out.bags)
        return float(held_out.weights @ model.log_likelihood(held_out.truth, held_out.known))


@dataclass(frozen=True)
class Widths:
    """Standard deviations of the priors of biases and potentials."""

    bias: float = BIAS_WIDTHS[0]
    counts: float = COUNT_WIDTHS[0]


def calibrate(
    data: HeldOut, potentials: Potentials | None, widths: Widths, start: Calibration | None = None
) -> Calibration:
    """The most likely count model, sought from `start` on; with no potentials, that of independent labels."""
    return _Problem.of(_Sets.of(data, potentials), widths).solved(start)


def chosen_widths(data: HeldOut, potentials: Potentials | None) -> Widths:
    """The widths of largest likelihood on held-out folds: first of the potentials, then of the biases.

    With a single fold there is nothing to choose by, and the first ones are taken.
    """
    best, value = Widths(), -np.inf
    if len(np.unique(data.folds)) < 2:
        return best
    folds = [_Fold(_Sets.of(train, potentials), test) for train, test, _ in data.splits()]
    others = [Widths(best.bias, width) for width in COUNT_WIDTHS if potentials is not None]
    for widths in others or [best]:
        best, value = max((best, value), (widths, _held_out(folds, widths)), key=lambda pair: pair[1])
    for width in BIAS_WIDTHS[1:]:
        widths = Widths(width, best.counts)
        best, value = max((best, value), (widths, _held_out(folds, widths)), key=lambda pair: pair[1])
    return best


@dataclass(eq=False)
class _Fold:
    """Sets to learn from, sets to judge by, and the calibration learned last, from which the next search begins."""

    train: _Sets
    test: HeldOut
    last: Calibration | None = None


def _held_out(folds: list[_Fold], widths: Widths) -> float:
    """The likelihood of the held-out sets."""
    total = 0.0
    for fold in folds:
        fold.last = _Problem.of(fold.train, widths).solved(fold.last)
        total += fold.last.log_likelihood(fold.test)
    return total


@dataclass(frozen=True, eq=False)
class _Sets:
    """What all widths have in common: scores in the unit of log-odds, centred so that the scale does little to the
    biases, and the curvature of the likelihood at the start, in the parameters (a / unit - 1, b, theta).
    """

    family: Potentials | None
    potentials: LinearPotentials | None
    seen: SeenLabels
    weights: Array
    element_weights: Array
    unit: float
    centre: float
    centred: Array
    curvature: Array
    n_biases: int

    @classmethod
    def of(cls, data: HeldOut, family: Potentials | None) -> _Sets:
        weights = data.element_weights
        unit = _unit(data.scores, weights)
        scores = unit * data.scores
        chance = expit(scores)
        spread = chance * (1 - chance) * weights + 1e-12
        centre = float(np.average(scores, weights=spread))
        centred = scores - centre
        biases = np.atleast_1d(spread.sum(axis=0))
        curvature = [np.array([[np.sum(spread * centred**2)]]), np.diag(biases)]
        layout = Layout.of(scores.shape, data.bags)
        potentials = None if family is None else family.on(data.bags)
        if potentials is not None:
            model = CountModel(scores, potentials.of(np.zeros(potentials.length)), layout)
            curvature.append(potentials.curvature(model.count_probabilities, data.weights))
        seen = SeenLabels.of(data.truth, data.known, layout)
        found = block_diag(*curvature)
        return cls(family, potentials, seen, data.weights, weights, unit, centre, centred, found, len(biases))

    def likelihood(self, scores: Array, theta: Array) -> tuple[float, Array, Array]:
        """The weighted log-likelihood and its gradients in the score of every element and in theta."""
        if self.potentials is None:
            labels, weights = self.seen.labels, self.element_weights
            value = np.vdot(weights, labels * scores - np.logaddexp(0, scores))
            return float(value), weights * (labels - expit(scores)), theta
        found = CountModel(scores, self.potentials.of(theta), self.seen.layout).likelihood(self.seen)
        bags = self.seen.layout.bags
        weights = self.weights[:, None] if bags is None else np.repeat(self.weights, bags.sizes)
        by_count = self.potentials.gradient(found.counts, self.weights)
        return float(self.weights @ found.values), weights * found.scores, by_count


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised likelihood, in coordinates in which its curvature at the start is near the identity."""

    sets: _Sets
    precision: Array
    whitening: Array

    @classmethod
    def of(cls, sets: _Sets, widths: Widths) -> _Problem:
        prior = [np.eye(1), _precision_of_biases(sets.n_biases, widths.bias)]
        if sets.family is not None:
            prior.append(sets.family.precision(widths.counts))
        precision = block_diag(*prior)
        root = cholesky(precision + sets.curvature)
        return cls(sets, precision, solve_triangular(root, np.eye(len(root))))

    def solved(self, start: Calibration | None) -> Calibration:
        """The most likely calibration."""
        options = {"maxiter": 100, "ftol": 1e-7, "maxcor": 20}
        return self.calibration(minimize(self, self.whitened(start), jac=True, method="L-BFGS-B", options=options).x)

    def whitened(self, known: Calibration | None) -> Array:
        """The coordinates of a calibration; without one, of the typical scale and no biases."""
        if known is None:
            return np.zeros(len(self.precision))
        scale = known.scale / self.sets.unit
        bias = known.bias - self.sets.centre * (1 - scale)
        parameters = np.concatenate(([scale - 1], np.atleast_1d(bias), known.theta))
        return np.asarray(solve_triangular(self.whitening, parameters))

    def calibration(self, whitened: Array) -> Calibration:
        """The calibration with these coordinates."""
        scale, bias, theta = self._unpacked(self.whitening @ whitened)
        sets = self.sets
        return Calibration(scale * sets.unit, sets.centre * (1 - scale) + bias, theta, sets.family)

    def _unpacked(self, parameters: Array) -> tuple[float, Array, Array]:
        """(a / unit, b, theta)."""
        end = 1 + self.sets.n_biases
        return float(1 + parameters[0]), parameters[1:end], parameters[end:]

    def __call__(self, whitened: Array) -> tuple[float, Array]:
        """The negative of the objective, and its gradient."""
        parameters = self.whitening @ whitened
        scale, bias, theta = self._unpacked(parameters)
        value, by_score, by_count = self.sets.likelihood(self.sets.centre + scale * self.sets.centred + bias, theta)
        pull = self.precision @ parameters
        by_scale = np.vdot(by_score, self.sets.centred)
        gradient = np.concatenate(([by_scale], np.atleast_1d(by_score.sum(axis=0)), by_count)) - pull
        return 0.5 * float(parameters @ pull) - value, -(gradient @ self.whitening)


def _unit(scores: Array, weights: Array) -> float:
    """The scale with which scores have the spread of typical log-odds."""
    mean = np.average(scores, weights=weights)
    variance = float(np.average((scores - mean) ** 2, weights=weights))
    return TYPICAL_SPREAD / np.sqrt(variance) if variance > 0 else 1.0


def _precision_of_biases(p: int, width: float) -> Array:
    """Of p biases that share one of `COMMON_WIDTH` and differ by `width`: the inverse of width^2 I + common^2 11'."""
    shared = COMMON_WIDTH**2 / (width**2 + p * COMMON_WIDTH**2)
    return (np.eye(p) - shared) / width**2
