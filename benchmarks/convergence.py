"""Does training reach its gap? The grid of `docs/training.md`, against LinearSVC(loss="hinge") on the same elements.

Every fit has the defaults of the estimators. The reference is LinearSVC with the hinge of every frame or label, at
the same C, run until its primal value is within 1e-3 of the best known, which is our own hinge, certified. Both in
CPU seconds of one thread. The last rows count the fits that do not converge or take more than ten times as long.

``--quick`` takes a few small shapes. The default visits every size of the grid once, with kind of features, noise and
C in turn. ``python -m benchmarks.convergence 3/40`` takes the third of forty pieces of the whole grid, 1920 fits.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.convergence_table import add_fit, read_fits, summary
from benchmarks.measure import Row
from setloss.estimators.set_layout import SetLayout
from setloss.losses import loss_named
from setloss.solvers import Design, Limits, Problem, solve

OPERATORS = ("slack", "margin", "bd", "bd-monotone", "lovasz", "hinge")
COSTS = (0.01, 0.1, 1.0, 10.0)
FRAMES = 10
CLOSE = 1e-3

REFERENCE_SECONDS = 8.0
"""LinearSVC is not run for longer than this; where it has not arrived by then, the ratio is an upper bound."""

LARGE = 4_000_000
"""Cells of more elements times features than this are fitted by two operators in turn, not by all, unless the whole
grid is asked for."""


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

    @property
    def work(self) -> int:
        """Elements times features."""
        return self.sets * (self.labels or FRAMES) * self.features


@dataclass(frozen=True)
class Cell:
    """One problem of the grid, for the operators given."""

    shape: Shape
    C: float
    operators: tuple[str, ...] = OPERATORS

    def name(self, operator: str) -> str:
        """What the fit by one of the operators is called."""
        return f"{self.shape}, {operator}, C = {self.C:g}"


SIZES = (*product((1000, 10_000), (10, 50, 250, 1000), (0,)), *product((1000, 10_000), (50, 300), (6, 14, 50)))
KINDS = tuple(product((False, True), (0.5, 1.0)))
QUICK = (
    Cell(Shape(1000, 10, 0, True, 1.0), 10.0),
    Cell(Shape(1000, 50), 1.0),
    Cell(Shape(1000, 250, 0, True, 1.0), 0.1),
    Cell(Shape(1000, 50, 6), 10.0),
    Cell(Shape(1000, 50, 14, True, 1.0), 0.01),
)


def whole_grid() -> list[Cell]:
    """All 320 problems, the large ones spread evenly."""
    shapes = [Shape(*size, *kind) for kind in KINDS for size in SIZES]
    return [Cell(shape, C) for C in COSTS for shape in shapes]


def sample() -> list[Cell]:
    """Every size once, kinds and costs in turn; large ones by two operators, which change from one to the next."""
    cells = []
    for i, size in enumerate(SIZES):
        shape = Shape(*size, *KINDS[(i + i // 4) % 4])
        some = OPERATORS[2 * i % 6 : 2 * i % 6 + 2]
        cells.append(Cell(shape, COSTS[(3 * i + i // 4) % 4], some if shape.work > LARGE else OPERATORS))
    return sorted(cells, key=lambda cell: cell.shape.work)


@lru_cache(maxsize=2)
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
    groups = None if shape.labels else np.arange(len(X)) // FRAMES
    elements = SetLayout.of(len(X), groups, not shape.labels).elements(Y, np.ones_like(Y), np.ones(len(X)))
    constant = float(np.sqrt(Design.of(X).squared_norms().mean()))
    return elements.problem(X, constant, loss, operator, 1.0, C)


def linear_svc(shape: Shape, C: float, constant: float, epochs: int) -> tuple[float, float]:
    """The objective after so many epochs, one machine per label, and the CPU seconds it took."""
    X, Y = data_of(shape)
    start, value = time.process_time(), 0.0
    for y in Y.T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm = LinearSVC(loss="hinge", C=C, intercept_scaling=constant, max_iter=epochs, tol=1e-9).fit(X, y)
        weights = np.append(svm.coef_.ravel(), svm.intercept_ / constant)
        margins = np.where(y, 1.0, -1.0) * svm.decision_function(X)
        value += 0.5 * weights @ weights + C * np.maximum(1 - margins, 0).sum()
    return value, time.process_time() - start


def reference(shape: Shape, C: float) -> tuple[float, bool]:
    """CPU seconds of LinearSVC until its objective is within 1e-3 of the least, and whether it came there.

    Epochs double until then, each run from scratch; only the last one counts.
    """
    problem = problem_of(shape, "hinge", C)
    target = solve(problem, limits=Limits(CLOSE / 4)).primal * (1 + CLOSE)
    epochs = 4
    while True:
        value, seconds = linear_svc(shape, C, problem.design.constant, epochs)
        if value <= target or 2 * seconds > REFERENCE_SECONDS:
            return seconds, bool(value <= target)
        epochs *= 2


def fits(cells: Iterable[Cell]) -> Iterator[dict[str, Any]]:
    """One record per fit."""
    for cell in cells:
        seconds, arrived = reference(cell.shape, cell.C)
        for operator in cell.operators:
            problem = problem_of(cell.shape, operator, cell.C)
            compile_kernels(operator, cell.shape.labels)
            start = time.process_time()
            solution = solve(problem)
            yield {
                "what": cell.name(operator),
                **asdict(cell.shape),
                "operator": operator,
                "C": cell.C,
                "gap": solution.gap,
                "converged": bool(solution.gap <= CLOSE),
                "iterations": solution.iterations,
                "seconds": time.process_time() - start,
                "reference": seconds,
                "reference_arrived": arrived,
            }


@cache
def compile_kernels(operator: str, labels: int) -> None:
    """Let no clock see the compilation."""
    problem = problem_of(Shape(20, 3, labels), operator, 1.0)
    for solver in ("cutting_plane", "frank_wolfe", "admm"):
        solve(problem, solver, Limits(max_iter=3))


def row_of(fit: dict[str, Any]) -> Row:
    """A fit as a line of the table."""
    note = f"gap {fit['gap']:.1e} after {fit['iterations']} iterations"
    note += "" if fit["converged"] else ": NOT CONVERGED"
    note += "" if fit["reference_arrived"] else "; LinearSVC stopped before it arrived"
    return Row(fit["what"], fit["seconds"], fit["reference"], 10, note=note)


def rows(quick: bool) -> Iterator[Row]:
    found = []
    for fit in fits(QUICK if quick else sample()):
        found.append(fit)
        yield row_of(fit)
    numbers = summary(found)
    yield Row(f"{len(found)} fits / LinearSVC, geometric mean", numbers.mean, 1.0, 2)
    yield Row("worst ratio", numbers.worst, 1.0, 10)
    yield Row("fits above ten times LinearSVC", numbers.slow, 1.0, 0)
    yield Row("fits that did not converge", numbers.unconverged, 1.0, 0)


def main(arguments: list[str]) -> None:
    """Add fits to a file: a piece of the whole grid, or those of the sample that are not in it yet."""
    cells = sample()
    if arguments:
        piece, pieces = map(int, arguments[0].split("/"))
        cells = whole_grid()[piece - 1 :: pieces]
    known = {fit["what"] for fit in read_fits()}
    left = [replace(cell, operators=tuple(o for o in cell.operators if cell.name(o) not in known)) for cell in cells]
    for fit in fits(cell for cell in left if cell.operators):
        print(row_of(fit).line(), flush=True)
        add_fit(fit)


if __name__ == "__main__":
    main(sys.argv[1:])
