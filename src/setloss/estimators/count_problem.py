"""The penalised likelihood of a linear count model, with its gradient and certificate.

    P(W, T) = 1/2 |W|^2 + 1/2 |T|^2 + C sum_i weight_i ( -log P(y_i | s(x_i), u(x_i)) ),    s(x) = W x,  u(x) = R T x

x has one more feature of constant value, the intercept's. R, fixed, turns equal priors of T into those of
`LabelPotentials`, smooth in the number of positives; constant potentials are a T that meets the constant 1 only. P is
convex and its regulariser 1-strongly so, hence P - min P <= |grad P|^2 / 2: every gradient is a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import issparse

from setloss.decisions import CountModel
from setloss.decisions.layout import Layout
from setloss.decisions.potentials import LabelPotentials
from setloss.decisions.seen_labels import SeenLabels
from setloss.solvers.deadline import check_time
from setloss.solvers.problem import digest_of
from setloss.typing import Array

LARGEST_ROOT = 500
"""Up to this many features L-BFGS is preconditioned by the full curvature, beyond by its diagonal."""

COUNT_WIDTH = 1.5
"""Width of the prior of the potentials; see `setloss.decisions.calibration`."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """P and its gradient somewhere, and the bound |grad|^2 / 2 on the distance of P from its minimum.

    The gradient may be in other coordinates than the parameters; the bound is in theirs.
    """

    parameters: Array
    objective: float
    gradient: Array
    distance: float


@dataclass(eq=False)
class CountProblem:
    """Examples X (n, d) with labels (n, p), some of them known, and weights (n,) that C is part of."""

    X: Any
    constant: float
    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    weights: Array
    linear: bool

    def __post_init__(self) -> None:
        p = self.truth.shape[1]
        self.seen = SeenLabels.of(self.truth, self.known, Layout.of(self.truth.shape, None))
        self.potentials = LabelPotentials.seen(self.seen.positives + (~self.known).sum(axis=1), p)
        root = cholesky(self.potentials.precision(COUNT_WIDTH))
        self.root = solve_triangular(root, np.eye(len(root)))
        self.width = self.X.shape[1] + 1
        self.shapes = ((p, self.width), (len(self.root), self.width if self.linear else 1))

    def unpacked(self, flat: Array) -> tuple[Array, Array]:
        """(W, T)."""
        size = self.shapes[0][0] * self.shapes[0][1]
        return flat[:size].reshape(self.shapes[0]), flat[size:].reshape(self.shapes[1])

    @property
    def size(self) -> int:
        return sum(rows * columns for rows, columns in self.shapes)

    def __call__(self, flat: Array) -> tuple[float, Array]:
        """P and its gradient."""
        W, T = self.unpacked(flat)
        scores = self._times(W)
        counts = (self._times(T) if self.linear else T.T) @ self.root.T
        found = CountModel(scores, counts, self.seen.layout).likelihood(self.seen)
        by_score, by_count = found.scores * self.weights[:, None], found.counts * self.weights[:, None]
        by_count = by_count[:, : len(self.root)] @ self.root
        gradient = flat - np.concatenate(
            [
                self._transposed(by_score).ravel(),
                (self._transposed(by_count) if self.linear else by_count.sum(axis=0)).ravel(),
            ]
        )
        return 0.5 * float(flat @ flat) - float(self.weights @ found.values), gradient

    def root_of_curvature(self, spread: float) -> Array:
        """An upper triangular R with R^T R = I + spread X^T diag(weights) X, or the root of its diagonal."""
        weights = spread * self.weights
        if self.width > LARGEST_ROOT:
            squares = self.X.multiply(self.X) if issparse(self.X) else np.square(self.X)
            diagonal = np.append(np.ravel(squares.T @ weights), self.constant**2 * weights.sum())
            return np.asarray(np.sqrt(1 + diagonal), dtype=np.float64)
        X = np.asarray(self.X.toarray() if issparse(self.X) else self.X, dtype=np.float64)
        X = np.hstack([X, np.full((len(X), 1), self.constant)])
        return np.asarray(cholesky(np.eye(self.width) + (X * weights[:, None]).T @ X))

    def root_of_counts(self) -> Array:
        """An upper triangular R with R^T R the curvature in constant potentials, counts being as frequent as seen."""
        counts = np.bincount((self.truth & self.known).sum(axis=1), self.weights, minlength=len(self.root))
        seen = counts / counts.sum()
        curvature = np.diag(counts) - np.outer(counts, seen)
        return np.asarray(cholesky(np.eye(len(seen)) + self.root.T @ curvature @ self.root))

    def _times(self, W: Array) -> Array:
        """(n, rows of W) inner products."""
        return np.asarray(self.X @ W[:, :-1].T + self.constant * W[:, -1], dtype=np.float64)

    def _transposed(self, G: Array) -> Array:
        """(columns of G, d + 1): the sum over examples of g_i x_i."""
        features = np.asarray((self.X.T @ G).T, dtype=np.float64)
        return np.hstack([features, self.constant * G.sum(axis=0)[:, None]])


class Whitened:
    """The problem in coordinates in which its curvature at 0 is near the identity, so that L-BFGS needs few steps.

    The curvature is bounded as if labels were independent with their mean chance: the same matrix for all labels,
    ``I + v X^T X``; beyond `LARGEST_ROOT` features only its diagonal.
    """

    def __init__(self, problem: CountProblem) -> None:
        self.problem = problem
        shares = np.average(problem.truth, axis=0, weights=problem.weights[:, None] * problem.known + 1e-12)
        spread = float(np.mean(shares * (1 - shares)))
        self.root = problem.root_of_curvature(spread)
        self.counts_root = problem.root_of_counts()

    def original(self, flat: Array) -> Array:
        """The parameters of the problem."""
        return self._each(flat, lambda root, W: _solved(root, W, transposed=False))

    def whitened(self, flat: Array) -> Array:
        """The reverse of `original`."""
        return self._each(flat, _multiplied)

    def evaluate(self, flat: Array) -> Evaluation:
        """P, and its gradient in these coordinates."""
        check_time()
        parameters = self.original(flat)
        value, gradient = self.problem(parameters)
        whitened = self._each(gradient, lambda root, G: _solved(root, G, transposed=True))
        return Evaluation(parameters, value, whitened, 0.5 * float(gradient @ gradient))

    @property
    def size(self) -> int:
        return self.problem.size

    # What the loop of the solvers asks of a problem.

    @property
    def surrogate(self) -> None:
        return None

    def exact(self) -> bool:
        """Gradients are exact."""
        return True

    def fingerprint(self) -> str:
        """A digest of everything the solution depends on."""
        problem = self.problem
        X = problem.X
        rows = (X.data, X.indices, X.indptr) if issparse(X) else (np.asarray(X),)
        words = repr((problem.shapes, problem.constant, problem.linear, COUNT_WIDTH))
        return digest_of(words, *rows, problem.truth, problem.known, problem.weights)

    def _each(self, flat: Array, change: Callable[[Array, Array], Array]) -> Array:
        W, T = self.problem.unpacked(flat)
        changed = change(self.root, T.T).T if self.problem.linear else change(self.counts_root, T)
        return np.concatenate([change(self.root, W.T).T.ravel(), changed.ravel()])


def _solved(root: Array, right: Array, *, transposed: bool) -> Array:
    if root.ndim == 1:
        return right / root[:, None]
    return np.asarray(solve_triangular(root, right, trans="T" if transposed else "N"))


def _multiplied(root: Array, right: Array) -> Array:
    return right * root[:, None] if root.ndim == 1 else root @ right
