"""The methods that are compared on tracks, by name, each trained along a path of C."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from experiments.document import STYLES
from experiments.inexact_slack import InexactSlack
from experiments.tracks.data import Frames
from setloss.estimators import BagClassifier
from setloss.losses import loss_named
from setloss.typing import Array

INEXACT = {"slack-greedy": "greedy", "slack-released": "released"}


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

    def suits(self, loss: str) -> bool:
        """Whether it exists for that loss: f of curves 3 and 4 is negative and has no monotone closure."""
        if self.kind == "bd-monotone":
            return loss not in ("curve3", "curve4")
        return self.kind != "lovasz" or self.trains_on is not None or loss == "jaccard"


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
    certified: bool

    def scores(self, X: NDArray[Any]) -> Array:
        return np.asarray(X @ self.weights.astype(X.dtype) + self.intercept, dtype=np.float64)

    def losses(self, frames: Frames, loss: str) -> Array:
        """The loss of every bag, frames predicted by the sign of their scores."""
        return np.asarray(loss_named(loss)(frames.y, self.scores(frames.X) > 0, groups=frames.groups))


def rules_along_path(
    method: TrackMethod, loss: str, frames: Frames, Cs: Sequence[float], budget: Budget, *, standardise: bool
) -> Iterator[LinearRule]:
    """Train for every C, ascending, each fit starting from the one before where the method can."""
    scaling = StandardScaler().fit(frames.X) if standardise else None
    X = frames.X if scaling is None else scaling.transform(frames.X)
    model = _model(method, method.trains_on or loss, budget)
    data = (X, frames.y.astype(np.int64), *(() if method.kind in ("linear-svc", "logistic") else (frames.groups,)))
    for C in sorted(Cs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that a limit ended is counted as not certified
            model.set_params(C=C).fit(*data)
        weights, intercept = np.ravel(model.coef_).astype(np.float64), float(np.ravel(model.intercept_)[0])
        if scaling is not None:
            weights = weights / scaling.scale_
            intercept -= float(weights @ scaling.mean_)
        solution = getattr(model, "solution_", None)
        certified = solution is None or str(solution.status) == "converged"
        yield LinearRule(weights, intercept, float(C), certified)


def _model(method: TrackMethod, loss: str, budget: Budget) -> Any:
    if method.kind == "linear-svc":
        return LinearSVC(dual="auto", random_state=0)
    if method.kind == "logistic":
        return LogisticRegression(max_iter=1000, warm_start=True)
    limits: dict[str, Any] = {
        "tol": budget.tol,
        "max_iter": budget.max_iter,
        "intercept_scaling": budget.intercept_scaling,
        "scale": method.scale,
    }
    if method.kind in INEXACT:
        return InexactSlack(loss, INEXACT[method.kind], **limits)  # type: ignore[arg-type]
    return BagClassifier(loss_named(loss), method.kind, warm_start=True, **limits)
