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

import numpy as np
from numpy.typing import NDArray

from experiments.document import Estimate
from experiments.protocol import Progress, in_parallel, no_progress, part_of, smallest_good_C
from experiments.tracks.data import Frames, TrackProblem
from experiments.tracks.methods import METHODS, Budget, TrackMethod, rules_along_path
from setloss.typing import Array

QUICK_GRID = tuple(float(C) for C in np.logspace(-4, 1, 5))
FULL_GRID = tuple(float(C) for C in np.logspace(-4, 1, 6))
"""Values of C from 1e-4 to 10: slopes of surrogates differ by factors of the size of a bag, so the grid is wide."""

LOSSES = ("curve1", "curve2", "curve3", "curve4", "dice", "jaccard")


@dataclass(frozen=True)
class Protocol:
    """Folds, the grid of C, and when fits end; `outer_used` of the outer folds are run, the first ones."""

    Cs: tuple[float, ...] = QUICK_GRID
    outer: int = 10
    inner: int = 3
    outer_used: int | None = None
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    n_jobs: int = 1
    progress: Progress = no_progress

    def share(self, begun: float, size: float) -> Protocol:
        """The same protocol for a part of the work; see `part_of`."""
        return replace(self, progress=part_of(self.progress, begun, size))

    def outer_folds(self, problem: TrackProblem) -> tuple[NDArray[np.intp], range]:
        """The outer fold of every frame, and the numbers of the folds that are run."""
        fold = problem.frames(next(iter(problem.targets))).folds(self.outer, self.seed)
        return fold, range(min(self.outer_used or self.outer, self.outer))

    @property
    def grid(self) -> str:
        """The values of C in words."""
        return ", ".join(f"{C:.2g}" for C in self.Cs)


@dataclass(frozen=True)
class TrackOutcome:
    """A method judged by a loss: one mean loss over the test bags per fold, and how it came about.

    Every list has one entry per fold. `Cs` and `certified` have one entry per question.
    """

    losses: tuple[float, ...]
    Cs: tuple[tuple[float, ...], ...]
    certified: tuple[tuple[bool, ...], ...]

    @property
    def estimate(self) -> Estimate:
        return Estimate.of(self.losses)


TrackOutcomes = dict[tuple[str, str], TrackOutcome]
"""By loss and key of the method."""


def run_protocol(
    problem: TrackProblem, methods: Sequence[str], losses: Sequence[str], protocol: Protocol
) -> TrackOutcomes:
    """Every method, judged by every loss it suits."""
    fold, used = protocol.outer_folds(problem)
    tasks = list(_tasks([METHODS[key] for key in methods], losses))
    jobs = [(k, *task, target) for k, task, target in product(used, tasks, problem.targets)]
    quiet = replace(protocol, progress=no_progress)  # only this process reports progress
    calls = [(method, judged, problem, target, fold, k, quiet) for k, method, judged, target in jobs]
    found: dict[tuple[str, str], dict[int, list[_Judged]]] = {}
    running = in_parallel(_judge, calls, protocol.n_jobs)
    for done, ((k, method, *_), results) in enumerate(zip(jobs, running, strict=True), 1):
        for loss, judged in results.items():
            found.setdefault((loss, method.key), {}).setdefault(k, []).append(judged)
        protocol.progress(done / len(jobs), f"{problem.title}: fold {k + 1}, {method.label}")
    return {key: _outcome([by_fold[k] for k in used]) for key, by_fold in found.items()}


def _tasks(methods: Sequence[TrackMethod], losses: Sequence[str]) -> Iterator[tuple[TrackMethod, tuple[str, ...]]]:
    """A method and the losses that one training of it serves."""
    for method in methods:
        suited = tuple(loss for loss in losses if method.suits(loss))
        if method.trains_on is None:
            yield from ((method, (loss,)) for loss in suited)
        elif suited:
            yield method, suited


@dataclass(frozen=True)
class _Judged:
    loss: float
    C: float
    certified: bool


def _outcome(folds: list[list[_Judged]]) -> TrackOutcome:
    return TrackOutcome(
        tuple(float(np.mean([judged.loss for judged in fold])) for fold in folds),
        tuple(tuple(judged.C for judged in fold) for fold in folds),
        tuple(tuple(judged.certified for judged in fold) for fold in folds),
    )


def _judge(
    method: TrackMethod,
    losses: tuple[str, ...],
    problem: TrackProblem,
    target: str,
    fold: NDArray[np.intp],
    k: int,
    protocol: Protocol,
) -> dict[str, _Judged]:
    """One method on one question and fold, for all losses that one training serves."""
    frames = problem.frames(target)
    training, test = frames.part(fold != k), frames.part(fold == k)
    chosen = choose_C(method, training, losses, protocol, standardise=problem.standardise)
    path = sorted(set(chosen.values()))
    fits = rules_along_path(method, losses[0], training, path, protocol.budget, standardise=problem.standardise)
    rules = {rule.C: rule for rule in fits}
    return {
        loss: _Judged(float(rules[C].losses(test, loss).mean()), C, rules[C].certified) for loss, C in chosen.items()
    }


def choose_C(
    method: TrackMethod, training: Frames, losses: Sequence[str], protocol: Protocol, *, standardise: bool
) -> dict[str, float]:
    """The C for every loss, by held-out losses (see `smallest_good_C`)."""
    if len(protocol.Cs) == 1:
        return dict.fromkeys(losses, protocol.Cs[0])
    inner = training.folds(protocol.inner, protocol.seed + 1)
    found: dict[str, dict[float, list[Array]]] = {loss: {C: [] for C in protocol.Cs} for loss in losses}
    for k in range(protocol.inner):
        held_out, others = training.part(inner == k), training.part(inner != k)
        fits = rules_along_path(method, losses[0], others, protocol.Cs, protocol.budget, standardise=standardise)
        for rule in fits:
            for loss in losses:
                found[loss][rule.C].append(rule.losses(held_out, loss))
    bags = {loss: {C: np.concatenate(parts) for C, parts in by_C.items()} for loss, by_C in found.items()}
    return {loss: smallest_good_C(by_C) for loss, by_C in bags.items()}
