"""Does training reach its gap? The grid of `docs/training.md`, against LinearSVC(loss="hinge") on the same elements.

Every fit has the defaults of the estimators. The reference is LinearSVC with the hinge of every frame or label, at
the same C, run until its primal value is within 1e-3 of the best known, which our own hinge certifies. Both in CPU
seconds of one thread. The last rows count the fits that do not converge or take more than ten times as long.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.measure import Row
from setloss.estimators.elements import elements_of_frames, elements_of_labels, squared_norms
from setloss.losses import loss_named
from setloss.solvers import Limits, Problem, solve

OPERATORS = ("slack", "margin", "bd", "bd-monotone", "lovasz", "hinge")
COSTS = (0.01, 0.1, 1.0, 10.0)
FRAMES = 10
CLOSE = 1e-3
MOST_EPOCHS = 20_000
"""LinearSVC is not run for longer than this."""


@dataclass(frozen=True)
class Shape:
    """Bags of ten frames (`labels` = 0) or label sets; features correlated or not, labels with noise."""

    sets: int
    features: int
    labels: int = 0
    correlated: bool = False
    noise: float = 0.5

    def __str__(self) -> str:
        what = f"{self.labels} labels" if self.labels else "bags"
        kind = "correlated" if self.correlated else "Gaussian"
        return f"{self.sets} {what}, d = {self.features}, {kind}, noise {self.noise:g}"


QUICK = (Shape(1000, 50), Shape(1000, 250, correlated=True, noise=1.0), Shape(1000, 50, 6))
WHOLE = (
    *(Shape(1000, d, 0, c, e) for d, (c, e) in product((10, 50, 250), ((False, 0.5), (True, 1.0)))),
    Shape(1000, 1000),
    Shape(10_000, 10, noise=1.0),
    Shape(10_000, 50),
    Shape(1000, 50, 6),
    Shape(1000, 50, 14, True, 1.0),
    Shape(1000, 50, 50),
    Shape(1000, 300, 14),
    Shape(10_000, 50, 6),
)
"""Every fit of the grid in minutes: all operators and costs on these, the largest shapes at C = 1 only."""

LARGE = 400_000
"""Shapes of more than this many elements times features are fitted at C = 0.1 and 1 by the first two operators."""


@cache
def data_of(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Features of unit variance, and labels by linear rules with noise."""
    generator = np.random.default_rng(0)
    rows = shape.sets * (1 if shape.labels else FRAMES)
    X = generator.normal(size=(rows, shape.features))
    if shape.correlated:
        X = (X + generator.normal(size=(rows, 1))) / np.sqrt(2)
    scores = X @ generator.normal(size=(shape.features, shape.labels or 1))
    noisy = scores / scores.std(axis=0) + shape.noise * generator.normal(size=scores.shape)
    return X, noisy > (0.7 if shape.labels else 0.0)


def problem_of(shape: Shape, operator: str, C: float) -> Problem:
    """The problem that an estimator would solve."""
    X, Y = data_of(shape)
    loss = loss_named("jaccard" if operator == "lovasz" else "dice")
    if shape.labels:
        elements = elements_of_labels(Y, np.ones_like(Y), np.ones(len(X)))
    else:
        elements = elements_of_frames(Y[:, 0], np.repeat(np.arange(shape.sets), FRAMES), np.ones(len(X)))
    constant = float(np.sqrt(squared_norms(X).mean()))
    return elements.problem(X, constant, loss, operator, 1.0, C)


@cache
def reference(shape: Shape, C: float) -> float:
    """CPU seconds of LinearSVC, one per label, until its objective is within 1e-3 of the least."""
    X, Y = data_of(shape)
    problem = problem_of(shape, "hinge", C)
    constant, target = problem.design.constant, solve(problem, limits=Limits(1e-4, 10_000)).primal * (1 + CLOSE)
    epochs = 10
    while True:
        start, value = time.process_time(), 0.0
        for y in Y.T:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                svm = LinearSVC(loss="hinge", C=C, intercept_scaling=constant, max_iter=epochs, tol=1e-9).fit(X, y)
            weights = np.append(svm.coef_.ravel(), svm.intercept_ / constant)
            margins = np.where(y, 1.0, -1.0) * svm.decision_function(X)
            value += 0.5 * weights @ weights + C * np.maximum(1 - margins, 0).sum()
        seconds = time.process_time() - start
        if value <= target or epochs >= MOST_EPOCHS or seconds > 60:
            return seconds
        epochs *= 2


def cases(quick: bool) -> Iterator[tuple[Shape, str, float]]:
    for shape in QUICK if quick else WHOLE:
        large = shape.sets * (shape.labels or FRAMES) * shape.features > LARGE
        costs = (0.1, 1.0) if large or quick else COSTS
        for operator, C in product(OPERATORS, costs):
            yield shape, operator, C


def rows(quick: bool) -> Iterator[Row]:
    solve(problem_of(Shape(20, 3), "slack", 1.0), "newton")
    solve(problem_of(Shape(20, 3), "slack", 1.0), "frank_wolfe")
    ratios, unconverged = [], 0
    for shape, operator, C in cases(quick):
        problem, limit = problem_of(shape, operator, C), reference(shape, C)
        solve(problem, limits=Limits(max_iter=1))  # compiled before the clock starts
        start = time.process_time()
        solution = solve(problem)
        seconds = time.process_time() - start
        ratios.append(seconds / limit)
        unconverged += solution.gap > CLOSE
        note = f"gap {solution.gap:.1e} after {solution.iterations} iterations"
        note += "" if solution.gap <= CLOSE else ": NOT CONVERGED"
        yield Row(f"{shape}, {operator}, C = {C:g}", seconds, limit, 10, note=note)
    mean = float(np.exp(np.mean(np.log(ratios))))
    yield Row(f"{len(ratios)} fits / LinearSVC, geometric mean", mean, 1.0, 2)
    yield Row("worst ratio", max(ratios), 1.0, 10)
    yield Row("fits above ten times LinearSVC", sum(ratio > 10 for ratio in ratios), 1.0, 0)
    yield Row("fits that did not converge", unconverged, 1.0, 0)
