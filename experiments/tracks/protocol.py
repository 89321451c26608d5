"""The protocol on bags of frames: what is the loss of a method on bags it has never seen?

Outer folds split units (bags, or the speakers of several bags), every stratum in equal shares. Inside the training
part of a fold, inner folds choose C by the loss the method is judged by; then the method is trained on the whole
training part and judged on the bags of the test part. All methods see the same folds and the same grid of C. A test
bag has no influence on anything but the loss that is reported for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.estimate import Estimate
from experiments.running import Progress, no_progress, part_of
from experiments.selection import choose_C
from experiments.tracks.data import TrackProblem
from experiments.tracks.methods import (
    METHODS,
    Budget,
    Frames,
    LinearRule,
    TrackMethod,
    decisions,
    rules_along_path,
)
from setloss.losses import loss_named
from setloss.typing import Array

QUICK_GRID = tuple(float(C) for C in np.logspace(-4, 1, 5))
FULL_GRID = tuple(float(C) for C in np.logspace(-4, 1, 6))
"""Values of C from 1e-4 to 10: slopes of surrogates differ by factors of the size of a bag, so the grid is wide."""

LOSSES = ("curve1", "curve2", "curve3", "curve4", "dice", "jaccard")
VOTE = "+vote"
"""What the key of a method ends with where every bag takes the label of most of its frames."""


@dataclass(frozen=True)
class Protocol:
    """Folds, the grid of C, and when fits end; `outer_used` of the outer folds are run, the first ones."""

    Cs: tuple[float, ...] = QUICK_GRID
    outer: int = 10
    inner: int = 3
    outer_used: int | None = None
    votes: tuple[bool, ...] = (False,)
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    n_jobs: int = 1
    progress: Progress = no_progress

    def share(self, begun: float, size: float) -> Protocol:
        """The same protocol for a part of the work; see `part_of`."""
        return replace(self, progress=part_of(self.progress, begun, size))

    def outer_folds(self, problem: TrackProblem) -> tuple[NDArray[np.intp], range]:
        """The outer fold of every frame, and the numbers of the folds that are run."""
        fold = stratified_folds(problem.units, problem.strata, self.outer, self.seed)
        return fold, range(min(self.outer_used or self.outer, self.outer))


TRAINED = 0.9
"""The share of the work that training for the bag takes where decisions for the bag follow."""


@dataclass(frozen=True)
class TrackOutcome:
    """A method judged by a loss: one mean loss over the test bags per fold, and how it came about.

    Every list has one entry per fold. `Cs` and `certified` have one entry per question; `seconds` is all training
    of the fold, the choice of C included.
    """

    losses: tuple[float, ...]
    Cs: tuple[tuple[float, ...], ...]
    seconds: tuple[float, ...]
    certified: tuple[tuple[bool, ...], ...]

    @property
    def estimate(self) -> Estimate:
        return Estimate.of(self.losses)


TrackOutcomes = dict[tuple[str, str], TrackOutcome]
"""By loss and key of the method."""


def stratified_folds(units: NDArray[Any], strata: NDArray[Any], folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of every frame: units stay whole, and the units of a stratum are dealt out one by one."""
    names, first, unit = np.unique(units, return_index=True, return_inverse=True)
    if len(names) < folds:
        raise ValueError(f"{folds} folds need at least as many bags or speakers; there are {len(names)}")
    shuffled = np.random.default_rng(seed).permutation(len(names))
    dealt = shuffled[np.argsort(strata[first][shuffled], kind="stable")]
    fold = np.empty(len(names), dtype=np.intp)
    fold[dealt] = np.arange(len(names)) % folds
    return fold[unit.ravel()]


def run_protocol(
    problem: TrackProblem, methods: Sequence[str], losses: Sequence[str], protocol: Protocol
) -> TrackOutcomes:
    """Every method, judged by every loss it suits."""
    from joblib import Parallel, delayed

    fold, used = protocol.outer_folds(problem)
    tasks = list(_tasks([METHODS[key] for key in methods], losses))
    jobs = [(k, *task, target) for k, task, target in product(used, tasks, problem.targets)]
    quiet = replace(protocol, progress=no_progress)  # only this process reports progress
    running = Parallel(n_jobs=protocol.n_jobs, return_as="generator")(
        delayed(_judge)(method, judged, problem, target, fold, k, quiet) for k, method, judged, target in jobs
    )
    found: dict[tuple[str, str], dict[int, list[_Judged]]] = {}
    for done, ((k, method, *_), results) in enumerate(zip(jobs, running, strict=True), 1):
        for key, judged in results.items():
            found.setdefault(key, {}).setdefault(k, []).append(judged)
        protocol.progress(done / len(jobs), f"{problem.title}: fold {k + 1}, {method.label}")
    return {key: _outcome([by_fold[k] for k in used]) for key, by_fold in found.items()}


def _tasks(methods: Sequence[TrackMethod], losses: Sequence[str]) -> Iterator[tuple[TrackMethod, tuple[str, ...]]]:
    """A method and the losses that one training of it serves."""
    for method in methods:
        suited = tuple(loss for loss in losses if method.suits(loss))
        if method.per_loss:
            yield from ((method, (loss,)) for loss in suited)
        elif suited:
            yield method, suited


@dataclass(frozen=True)
class _Judged:
    loss: float
    C: float
    seconds: float
    certified: bool


def _outcome(folds: list[list[_Judged]]) -> TrackOutcome:
    return TrackOutcome(
        tuple(float(np.mean([judged.loss for judged in fold])) for fold in folds),
        tuple(tuple(judged.C for judged in fold) for fold in folds),
        tuple(float(sum(judged.seconds for judged in fold)) for fold in folds),
        tuple(tuple(judged.certified for judged in fold) for fold in folds),
    )


@dataclass(frozen=True, eq=False)
class _Training:
    """Frames to train on, and what their inner folds keep together and share out."""

    frames: Frames
    units: NDArray[Any]
    strata: NDArray[Any]
    standardise: bool

    @classmethod
    def of(cls, problem: TrackProblem, target: str, kept: NDArray[np.bool_]) -> _Training:
        frames = Frames(problem.X, problem.targets[target], problem.groups)
        return cls(frames, problem.units, problem.strata, problem.standardise).part(kept)

    def part(self, kept: NDArray[np.bool_]) -> _Training:
        return _Training(self.frames.part(kept), self.units[kept], self.strata[kept], self.standardise)

    def rules(self, method: TrackMethod, loss: str, Cs: Sequence[float], protocol: Protocol) -> Iterator[LinearRule]:
        return rules_along_path(method, loss, self.frames, Cs, protocol.budget, standardise=self.standardise)


def _judge(
    method: TrackMethod,
    losses: tuple[str, ...],
    problem: TrackProblem,
    target: str,
    fold: NDArray[np.intp],
    k: int,
    protocol: Protocol,
) -> dict[tuple[str, str], _Judged]:
    """One method on one question and fold, for all losses that one training serves."""
    frames, inside = Frames(problem.X, problem.targets[target], problem.groups), fold != k
    training, test = _Training.of(problem, target, inside), frames.part(~inside)
    variants = list(product(losses, protocol.votes))
    chosen, spent = _choose(method, training, variants, protocol)
    rules = {rule.C: rule for rule in training.rules(method, losses[0], sorted(set(chosen.values())), protocol)}
    seconds = spent + sum(rule.seconds for rule in rules.values())
    return {
        (loss, method.key + VOTE * vote): _Judged(
            float(mean_loss(rules[chosen[loss, vote]], test, loss, vote=vote)),
            chosen[loss, vote],
            seconds,
            rules[chosen[loss, vote]].certified,
        )
        for loss, vote in variants
    }


def _choose(
    method: TrackMethod, training: _Training, variants: list[tuple[str, bool]], protocol: Protocol
) -> tuple[dict[tuple[str, bool], float], float]:
    """The C of least inner loss for every loss and way to decide; the smallest of equally good ones."""
    grid = sorted(protocol.Cs)
    if len(grid) == 1:
        return dict.fromkeys(variants, grid[0]), 0.0
    inner = stratified_folds(training.units, training.strata, protocol.inner, protocol.seed + 1)
    # Lists, not generators: one fold at a time is in memory.
    folds = [_along_path(method, training, inner == k, variants, protocol) for k in range(protocol.inner)]

    def judge(held_out: list[_HeldOut]) -> list[tuple[float, None]]:
        totals = np.concatenate([fold.losses for fold in held_out], axis=1).sum(axis=1)
        return [(float(total), None) for total in totals]

    best = choose_C(grid, folds, judge)
    seconds = sum(one.seconds for fold in folds for one in fold)
    return {variant: choice.C for variant, choice in zip(variants, best, strict=True)}, seconds


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """The losses (variants, bags) of held-out bags by one C, and the seconds of training."""

    losses: Array
    seconds: float


def _along_path(
    method: TrackMethod,
    training: _Training,
    held_out: NDArray[np.bool_],
    variants: list[tuple[str, bool]],
    protocol: Protocol,
) -> list[_HeldOut]:
    """What every C is worth on the held-out bags."""
    frames, found = training.frames.part(held_out), []
    for rule in training.part(~held_out).rules(method, variants[0][0], protocol.Cs, protocol):
        losses = [bag_losses(rule, frames, loss, vote=vote) for loss, vote in variants]
        found.append(_HeldOut(np.array(losses), rule.seconds))
    return found


def best_C(problem: TrackProblem, method: TrackMethod, loss: str, protocol: Protocol) -> float:
    """The C of least inner loss, all bags being training bags."""
    training = _Training.of(problem, next(iter(problem.targets)), np.ones(len(problem.X), dtype=bool))
    chosen, _ = _choose(method, training, [(loss, False)], protocol)
    return chosen[loss, False]


def bag_losses(rule: LinearRule, frames: Frames, loss: str, *, vote: bool) -> Array:
    """The loss of every bag."""
    predicted = decisions(rule.scores(frames.X), frames.groups, vote=vote)
    return np.asarray(loss_named(loss)(frames.y, predicted, groups=frames.groups))


def mean_loss(rule: LinearRule, frames: Frames, loss: str, *, vote: bool) -> float:
    """The mean loss over the bags."""
    return float(bag_losses(rule, frames, loss, vote=vote).mean())
