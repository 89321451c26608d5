"""From how many sets on is a decision worth learning? `ENOUGH_TO_LEARN`, without test parts.

``python -m benchmarks.few_sets DATA [NAME...]``: linear models are trained by slack rescaling on 10, 20 and 35 sets
drawn from the training part of every data set, and from generated ones, and judged on up to 500 others of the same
part, by sign and by a learned rule ("auto"). Differences are in points of loss, with standard errors over draws;
negative ones are in favour of what is learned.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning

from benchmarks.training_parts import training_parts
from experiments.document import Cell, ResultTable
from setloss.estimators import BagClassifier, SetClassifier
from setloss.estimators.elements import Standardizer

SIZES = (10, 20, 35)
DRAWS, JUDGED = 6, 500
Draw = Callable[[np.random.Generator, int], tuple[Any, Any, Any]]
"""Features, labels and groups (None for label sets) of so many sets, one after the other."""


def from_rows(X: Any, Y: Any) -> Draw:
    """Label sets from a table, none twice."""

    def draw(generator: np.random.Generator, n: int) -> tuple[Any, Any, None]:
        rows = generator.permutation(len(Y))[:n]
        return X[rows], Y[rows], None

    return draw


def frames(shares: Callable[[np.random.Generator, int], Any]) -> Draw:
    """Bags of 4 to 10 frames of six features, of given shares of positive ones; bags have a shift of their own."""

    def draw(generator: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
        sizes = generator.integers(4, 11, n)
        groups = np.repeat(np.arange(n), sizes)
        y = generator.random(len(groups)) < shares(generator, n)[groups]
        X = generator.normal(size=(len(groups), 6)) + 0.3 * generator.normal(size=(n, 6))[groups]
        X[:, 0] += np.where(y, 1.0, -1.0)
        return X, y.astype(int), groups

    return draw


def problems(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Draw]]:
    """Training parts, digits as label sets, then generated label sets and bags."""
    for data in training_parts(folder, names):
        yield data.name, from_rows(data.X, data.Y)
    X, digit = load_digits(return_X_y=True)
    noisy = X + np.random.default_rng(0).normal(0, 8, X.shape)
    yield "ten digits, noisy", from_rows(noisy, np.eye(10, dtype=int)[digit])
    X, Y = make_multilabel_classification(1000, n_features=12, n_classes=5, random_state=0)
    yield "generated, 5 labels", from_rows(X, Y)
    yield "bags of one label", frames(lambda generator, n: (generator.random(n) < 0.4).astype(float))
    yield "mixed bags", frames(lambda generator, n: generator.beta(0.6, 0.9, n))
    yield "bags of any frames", frames(lambda generator, n: np.full(n, 0.4))


def losses(draw: Draw, n: int, seed: int) -> tuple[float, float]:
    """Mean F1 loss by sign and by the rule that "auto" learns from so many sets."""
    X, y, groups = draw(np.random.default_rng(seed), n + JUDGED)
    some = np.arange(len(y)) < n if groups is None else groups < n
    scaler = Standardizer.of(X[some])
    train, test = ({} if groups is None else {"groups": groups[part]} for part in (some, ~some))
    kind = SetClassifier if groups is None else BagClassifier
    model, known = kind("f1", decision="counts", tol=1e-2), (scaler.apply(X[~some]), y[~some])
    try:
        model.fit(scaler.apply(X[some]), y[some], **train)
    except ValueError:  # a fold has no positive label, or nothing else: the sign decides
        sign = model.set_params(decision="sign").fit(scaler.apply(X[some]), y[some], **train).losses(*known, **test)
        return float(sign.mean()), float(sign.mean())
    sign, auto = (model.set_params(decision=rule).losses(*known, **test).mean() for rule in ("sign", "auto"))
    return float(sign), float(auto)


def row_of(name: str, draw: Draw) -> tuple[Cell, ...]:
    """A line of the table, also shown as it is made."""
    cells = []
    for n in SIZES:
        sign, auto = 100 * np.array([losses(draw, n, seed) for seed in range(DRAWS)]).T
        gains = auto - sign
        cells.append(f"{gains.mean():+.1f} ± {gains.std(ddof=1) / np.sqrt(DRAWS):.1f} ({sign.mean():.1f})")
    sys.stderr.write(f"{'  '.join((name, *cells))}\n")
    return (name, *cells)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = tuple(row_of(*one) for one in problems(Path(arguments[0]), arguments[1:]))
    title = "A learned decision of few sets against the sign"
    columns = ("data", *(f"{n} sets" for n in SIZES))
    note = "Points of F1 loss, with standard errors over six draws, and the loss by sign in brackets."
    sys.stdout.write(ResultTable(title, columns, rows, note).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
