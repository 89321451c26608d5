"""Linear scorers of frames in bags: the methods, each trained along a path of C, and the protocol that judges them.

Outer folds split units (bags, or the speakers of several bags), every stratum in equal shares. Inside the training
part of a fold, inner folds choose C by the loss the method is judged by; then the method is trained on the whole
training part and judged on the bags of the test part. All methods see the same folds and the same grid of C. A test
bag has no influence on anything but the loss that is reported for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from experiments.inexact_slack import InexactSlack
from experiments.protocol import Array, in_parallel, log, past_the_best, smallest_good_C
from experiments.tracks.data import Frames, TrackProblem
from setloss.estimators import SetClassifier
from setloss.losses import loss_named

INEXACT = {"slack-greedy": "greedy", "slack-released": "released"}


@dataclass(frozen=True)
class TrackMethod:
    """How a linear frame scorer is trained.

    `kind` is an operator, an approximation of slack rescaling ("slack-greedy", "slack-released"), "linear-svc" or
    "logistic". `trains_on` is the loss it is trained for; None is the loss it is judged by. Methods that do not
    look at that loss are trained once for all of them. The paper prints scale 2.
    """

    label: str
    kind: str
    trains_on: str | None = None
    scale: float = 2.0

    def suits(self, loss: str) -> bool:
        """Whether it exists for that loss: f of curves 3 and 4 is negative and has no monotone closure."""
        return self.kind != "bd-monotone" or loss not in ("curve3", "curve4")


METHODS = {
    "bd": TrackMethod("B_D", "bd"),
    "bd@1": TrackMethod("B_D, scale 1", "bd", scale=1.0),
    "bd-monotone": TrackMethod("B_D monotone", "bd-monotone"),
    "bd-monotone@1": TrackMethod("B_D monotone, scale 1", "bd-monotone", scale=1.0),
    "slack": TrackMethod("S exact", "slack"),
    "slack@1": TrackMethod("S exact, scale 1", "slack", scale=1.0),
    "slack-greedy": TrackMethod("S greedy", "slack-greedy"),
    "slack-released": TrackMethod("S as released", "slack-released"),
    "lovasz-jaccard": TrackMethod("L of Jaccard", "lovasz", "jaccard"),
    "hinge": TrackMethod("0-1 (hinge)", "hinge", "hamming"),
    "hinge-per-bag": TrackMethod("0-1 (hinge) / bag size", "lovasz", "hamming"),
    "linear-svc": TrackMethod("LinearSVC", "linear-svc", "hamming"),
    "logistic": TrackMethod("logistic regression", "logistic", "hamming"),
}


USUAL_GRID = tuple(float(C) for C in np.logspace(-4, 0, 5))
FULL_GRID = tuple(float(C) for C in np.logspace(-4, 1, 6))
"""Slopes of surrogates differ by factors of the size of a bag, so the grid of C is wide."""


@dataclass(frozen=True)
class Protocol:
    """The grid of C, folds, and when fits end: the relative gap asked for, and iterations at most.

    Of the outer folds the first `outer_used` are run. A large `intercept_scaling` leaves the intercept all but free.
    """

    Cs: tuple[float, ...] = USUAL_GRID
    outer: int = 10
    inner: int = 3
    tol: float = 1e-2
    max_iter: int = 200
    outer_used: int | None = None
    intercept_scaling: float = 1.0
    seed: int = 0

    def outer_folds(self, problem: TrackProblem) -> tuple[NDArray[np.intp], range]:
        """The outer fold of every frame, and the numbers of the folds that are run."""
        fold = problem.frames.folds(self.outer, self.seed)
        return fold, range(min(self.outer_used or self.outer, self.outer))

    @property
    def grid(self) -> str:
        """The values of C in words."""
        return ", ".join(f"{C:.2g}" for C in self.Cs)


@dataclass(frozen=True)
class LinearRule:
    """A trained linear scorer."""

    weights: Array = field(repr=False)
    intercept: float
    C: float

    def scores(self, X: NDArray[Any]) -> Array:
        return np.asarray(X @ self.weights.astype(X.dtype) + self.intercept, dtype=np.float64)

    def losses(self, frames: Frames, loss: str) -> Array:
        """The loss of every bag, frames predicted by the sign of their scores."""
        return np.asarray(loss_named(loss)(frames.y, self.scores(frames.X) > 0, groups=frames.groups))


def rules_along_path(
    method: TrackMethod, loss: str, frames: Frames, Cs: Sequence[float], limits: Protocol
) -> Iterator[LinearRule]:
    """Train for every C, ascending, each fit starting from the one before where the method can."""
    scaling = StandardScaler().fit(frames.X) if frames.standardise else None
    X = frames.X if scaling is None else scaling.transform(frames.X)
    model = _model(method, method.trains_on or loss, limits)
    sets = {} if method.kind in ("linear-svc", "logistic") else {"groups": frames.groups}
    for C in sorted(Cs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that a limit ended
            model.set_params(C=C).fit(X, frames.y.astype(np.int64), **sets)
        weights, intercept = np.ravel(model.coef_).astype(np.float64), float(np.ravel(model.intercept_)[0])
        if scaling is not None:
            weights = weights / scaling.scale_
            intercept -= float(weights @ scaling.mean_)
        yield LinearRule(weights, intercept, float(C))


def _model(method: TrackMethod, loss: str, limits: Protocol) -> Any:
    if method.kind == "linear-svc":
        return LinearSVC(dual="auto", random_state=0)
    if method.kind == "logistic":
        return LogisticRegression(max_iter=1000, warm_start=True)
    options: dict[str, Any] = {name: getattr(limits, name) for name in ("tol", "max_iter", "intercept_scaling")}
    options["scale"] = method.scale
    if method.kind in INEXACT:
        return InexactSlack(loss, INEXACT[method.kind], **options)  # type: ignore[arg-type]
    return SetClassifier(loss_named(loss), method.kind, warm_start=True, **options)


# ---------------------------------------------------------------- folds

LOSSES = ("curve1", "curve2", "curve3", "curve4", "dice", "jaccard")


@dataclass(frozen=True)
class TrackOutcome:
    """A method judged by a loss, fold by fold: mean loss of the test bags, and C."""

    losses: tuple[float, ...]
    Cs: tuple[float, ...]


TrackOutcomes = dict[tuple[str, str], TrackOutcome]
"""By loss and key of the method."""


def run_protocol(
    problem: TrackProblem, methods: Sequence[str], losses: Sequence[str], protocol: Protocol
) -> TrackOutcomes:
    """Every method, judged by every loss it suits."""
    fold, used = protocol.outer_folds(problem)
    jobs = list(product(used, _tasks(methods, losses)))
    calls = [(METHODS[key], judged, problem.frames, fold == k, protocol) for k, (key, judged) in jobs]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (k, (key, _)), results in zip(jobs, in_parallel(_judge, calls), strict=True):
        for loss, judged in results.items():
            found.setdefault((loss, key), []).append(judged)
        log.info("%s: fold %d of %d, %s", problem.title, k + 1, len(used), METHODS[key].label)
    return {key: TrackOutcome(*zip(*folds, strict=True)) for key, folds in found.items()}


def _tasks(methods: Sequence[str], losses: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A method and the losses that one training of it serves."""
    for key in methods:
        suited = tuple(loss for loss in losses if METHODS[key].suits(loss))
        if METHODS[key].trains_on is None:
            yield from ((key, (loss,)) for loss in suited)
        else:
            yield key, suited


def _judge(
    method: TrackMethod, losses: tuple[str, ...], frames: Frames, inside: NDArray[np.bool_], protocol: Protocol
) -> dict[str, tuple[float, float]]:
    """One method on one fold, for all losses that one training serves: mean loss and C."""
    training, test = frames.part(~inside), frames.part(inside)
    chosen = choose_C(method, training, losses, protocol)
    fits = rules_along_path(method, losses[0], training, sorted(set(chosen.values())), protocol)
    rules = {rule.C: rule for rule in fits}
    return {loss: (float(rules[C].losses(test, loss).mean()), C) for loss, C in chosen.items()}


def choose_C(method: TrackMethod, training: Frames, losses: Sequence[str], protocol: Protocol) -> dict[str, float]:
    """The C for every loss, by held-out losses (see `smallest_good_C`), ascending until all are past their best."""
    if len(protocol.Cs) == 1:
        return dict.fromkeys(losses, protocol.Cs[0])
    inner = training.folds(protocol.inner, protocol.seed + 1)
    parts = [(training.part(inner != k), training.part(inner == k)) for k in range(protocol.inner)]
    paths = [rules_along_path(method, losses[0], others, protocol.Cs, protocol) for others, _ in parts]
    found: dict[str, dict[float, Array]] = {loss: {} for loss in losses}
    for rules in zip(*paths, strict=True):
        for loss, by_C in found.items():
            held_out = [rule.losses(part, loss) for rule, (_, part) in zip(rules, parts, strict=True)]
            by_C[rules[0].C] = np.concatenate(held_out)
        if all(map(past_the_best, found.values())):
            break
    return {loss: smallest_good_C(by_C) for loss, by_C in found.items()}
