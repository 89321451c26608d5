"""The methods that are compared on tracks, by name, each trained along a path of C."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.style import STYLES
from setloss.estimators.elements import Standardizer
from setloss.losses import loss_named
from setloss.typing import Array


@dataclass(frozen=True)
class TrackMethod:
    """How a linear frame scorer is trained.

    `kind` is an operator, an approximation of slack rescaling ("slack-greedy", "slack-released"), "linear-svc" or
    "logistic". `trains_on` is the loss it is trained for; None is the loss it is judged by. Methods that do not
    look at that loss are trained once for all of them.
    """

    key: str
    label: str
    kind: str
    scale: float = 2.0
    trains_on: str | None = None

    @property
    def per_loss(self) -> bool:
        """Whether it is trained anew for every loss it is judged by."""
        return self.trains_on is None

    def suits(self, loss: str) -> bool:
        """Whether it exists for that loss: f of curves 3 and 4 is negative and has no monotone closure."""
        if self.kind == "bd-monotone":
            return loss not in ("curve3", "curve4")
        return self.kind != "lovasz" or not self.per_loss or loss == "jaccard"


def _named(kind: str, trains_on: str | None = None) -> TrackMethod:
    return TrackMethod(kind, STYLES[kind].label, kind, trains_on=trains_on)


def _scaled(kind: str) -> list[TrackMethod]:
    return [_named(kind), TrackMethod(f"{kind}@1", f"{STYLES[kind].label}, scale 1", kind, 1.0)]


METHODS = {
    method.key: method
    for method in (
        *_scaled("bd"),
        *_scaled("bd-monotone"),
        *_scaled("slack"),
        *_scaled("margin"),
        _named("slack-greedy"),
        _named("slack-released"),
        _named("lovasz"),
        TrackMethod("lovasz-jaccard", "L of Jaccard", "lovasz", trains_on="jaccard"),
        _named("hinge", trains_on="hamming"),
        TrackMethod("hinge-per-bag", f"{STYLES['hinge'].label} / bag size", "lovasz", trains_on="hamming"),
        TrackMethod("linear-svc", "LinearSVC", "linear-svc", trains_on="hamming"),
        TrackMethod("logistic", "logistic regression", "logistic", trains_on="hamming"),
    )
}
"""Scale 2 unless the key ends in @1, as the paper prints it."""


@dataclass(frozen=True)
class Budget:
    """When a fit ends: the relative gap asked for, and the number of iterations at most.

    A large `intercept_scaling` leaves the intercept all but free of the regulariser.
    """

    tol: float = 1e-2
    max_iter: int = 200
    intercept_scaling: float = 1.0


@dataclass(frozen=True)
class LinearRule:
    """A trained linear scorer; `certified` says whether its gap was reached and is a certificate."""

    weights: Array = field(repr=False)
    intercept: float
    C: float
    seconds: float
    certified: bool

    def scores(self, X: NDArray[Any]) -> Array:
        return np.asarray(X @ self.weights.astype(X.dtype) + self.intercept, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Frames:
    """The frames of some bags with their labels."""

    X: NDArray[Any] = field(repr=False)
    y: NDArray[np.bool_] = field(repr=False)
    groups: NDArray[Any] = field(repr=False)

    def part(self, kept: NDArray[np.bool_]) -> Frames:
        return Frames(self.X[kept], self.y[kept], self.groups[kept])


def rules_along_path(
    method: TrackMethod, loss: str, frames: Frames, Cs: Sequence[float], budget: Budget, *, standardise: bool
) -> Iterator[LinearRule]:
    """Train for every C, ascending, each fit starting from the one before where the method can."""
    scaling = Standardizer.of(frames.X) if standardise else Standardizer.identity(frames.X.shape[1])
    X = scaling.apply(frames.X) if standardise else frames.X
    model = _model(method, method.trains_on or loss, budget)
    data: tuple[Any, ...] = (X, frames.y.astype(np.int8))
    if method.kind not in ("linear-svc", "logistic"):
        data = (*data, frames.groups)
    for C in sorted(Cs):
        began = time.perf_counter()
        model.set_params(C=C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that a limit ended is counted as not certified
            model.fit(*data)
        seconds = time.perf_counter() - began
        weights, intercept = scaling.folded(np.ravel(model.coef_), np.ravel(model.intercept_)[0])
        yield LinearRule(weights, float(intercept), float(C), seconds, _certified(model))


def _model(method: TrackMethod, loss: str, budget: Budget) -> Any:
    if method.kind == "linear-svc":
        from sklearn.svm import LinearSVC

        return LinearSVC(dual="auto", random_state=0)
    if method.kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000, warm_start=True)
    limits: dict[str, Any] = {
        "tol": budget.tol,
        "max_iter": budget.max_iter,
        "intercept_scaling": budget.intercept_scaling,
    }
    from experiments.paper.inexact import INEXACT_METHODS, InexactSlackClassifier

    if method.kind in INEXACT_METHODS:
        return InexactSlackClassifier(loss, INEXACT_METHODS[method.kind], scale=method.scale, **limits)
    from setloss.estimators import BagClassifier

    limits |= {"decision": "sign", "warm_start": True}
    return BagClassifier(loss_named(loss), method.kind, scale=method.scale, **limits)


def _certified(model: Any) -> bool:
    solution = getattr(model, "solution_", None)
    return solution is None or str(solution.status) == "converged"


def decisions(scores: Array, groups: NDArray[Any], *, vote: bool) -> NDArray[np.bool_]:
    """The predicted labels of the frames; with `vote` every bag takes the label of most of its frames.

    A score of 0 and a tie are negative.
    """
    positive = scores > 0
    if not vote:
        return positive
    _, bag = np.unique(groups, return_inverse=True)
    share = np.bincount(bag, weights=positive) / np.bincount(bag)
    return np.asarray(share[bag] > 0.5)
