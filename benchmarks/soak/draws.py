"""Random losses, operators, margins and data: everything a seed turns into."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Loss, Tversky, from_counts
from setloss.losses import PAPER_CURVES
from setloss.plans.build import surrogate_on_counts

OPERATORS = ("bd", "bd-monotone", "slack", "margin", "lovasz", "hinge")
Generator = np.random.Generator


def pick(generator: Generator, options):
    """One of the options."""
    return options[int(generator.integers(len(options)))]


def random_loss(generator: Generator) -> Loss:
    """A named loss, a weighted one, a curve of random knots, or a rough table of the counts."""
    kind = int(generator.integers(8))
    if kind < 4:
        return (
            Dice(),
            Jaccard(),
            pick(generator, list(PAPER_CURVES.values())),
            Hamming(bool(generator.random() < 0.5)),
        )[kind]
    if kind == 4:
        return Tversky(*np.round(generator.uniform(0.1, 2.0, 2), 2).tolist())
    if kind == 5:
        return FBeta(float(pick(generator, (0.5, 1.0, 2.0))))
    if kind == 6:
        shares = np.unique(np.concatenate(([0.0, 1.0], np.round(generator.random(3), 3))))
        costs = np.concatenate(([0.0], np.round(generator.random(len(shares) - 1), 3)))
        return CostCurve(tuple(zip(shares.tolist(), costs.tolist(), strict=True)))
    table = generator.integers(0, 5, (9, 9)).astype(float)
    table[0, 0] = 0.0
    return from_counts(lambda n, q, _m, _r: table[n, q])


def usable_operator(generator: Generator, loss: Loss, sizes: list[tuple[int, int]], scale: float) -> str:
    """An operator that takes this loss on sets of all these (positives, negatives)."""
    while True:
        operator = pick(generator, OPERATORS)
        try:
            for positives, negatives in sizes:
                surrogate_on_counts(loss, operator, scale, positives, negatives)
        except ValueError as refusal:
            if operator not in ("lovasz", "bd-monotone"):
                raise AssertionError(f"{operator} refuses {loss}: {refusal}") from refusal
            continue
        return operator


def random_margins(generator: Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Small, large, shifted, or full of ties."""
    margins = generator.normal(size=shape) * pick(generator, (0.1, 1.0, 1.0, 30.0)) + pick(
        generator, (0.0, 0.0, 1.0, -1.0)
    )
    return np.round(4 * margins) / 4 if generator.random() < 0.3 else margins


@dataclass(frozen=True)
class Data:
    """Bags of elements: element e has row rows[e] of X, task tasks[e] and label truth[e]."""

    X: np.ndarray
    truth: np.ndarray
    offsets: np.ndarray
    rows: np.ndarray
    tasks: np.ndarray
    weights: np.ndarray

    @property
    def n_tasks(self) -> int:
        return int(self.tasks.max()) + 1

    def bags(self):
        """The slice of every bag."""
        return [slice(int(lo), int(hi)) for lo, hi in pairwise(self.offsets)]

    def kinds(self) -> list[tuple[int, int]]:
        """The distinct (positives, negatives)."""
        counted = {(int(self.truth[here].sum()), int((~self.truth[here]).sum())) for here in self.bags()}
        return sorted(counted)


def random_rows(generator: Generator, n: int) -> np.ndarray:
    """Rows of X: normal, whole numbers full of ties, mostly zero, repeated, or of very different scales."""
    d = int(generator.integers(1, 13))
    X = generator.normal(size=(n, d))
    kind = int(generator.integers(5))
    if kind == 1:
        X = np.round(X)
    if kind == 2:
        X[generator.random(X.shape) < 0.7] = 0.0
    if kind == 3:
        X = X[generator.integers(0, max(n // 2, 1), n)]
    if kind == 4:
        X *= 10.0 ** generator.integers(-2, 3, d)
    return X.astype(pick(generator, (np.float32, np.float64)))


def random_frames(generator: Generator) -> Data:
    """Ragged bags of frames that share one w; some bags have one class only."""
    sizes = generator.integers(1, 8, int(generator.integers(2, 11)))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X = random_rows(generator, int(offsets[-1]))
    truth = X @ generator.normal(size=X.shape[1]) + generator.normal(size=len(X)) > 0
    for lo, hi in pairwise(offsets):
        if generator.random() < 0.4:
            truth[lo:hi] = generator.random() < 0.5
    truth[:1], truth[-1:] = True, False
    rows = np.arange(len(X))
    return Data(X, truth, offsets, rows, np.zeros_like(rows), generator.uniform(0.2, 2.0, len(sizes)))


def random_label_sets(generator: Generator) -> Data:
    """Examples of several labels, each with its own w; some labels are unknown."""
    n, p = int(generator.integers(2, 11)), int(generator.integers(2, 7))
    X = random_rows(generator, n)
    truth = X @ generator.normal(size=(X.shape[1], p)) + generator.normal(size=(n, p)) > 0
    known = generator.random((n, p)) >= pick(generator, (0.0, 0.3))
    known[:, 0] = known[0] = True
    truth[0, 0], truth[-1, 0], truth[0, 1] = True, False, False
    rows, tasks = map(np.ascontiguousarray, np.nonzero(known))
    offsets = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
    return Data(X, truth[rows, tasks], offsets, rows, tasks, generator.uniform(0.2, 2.0, n))
