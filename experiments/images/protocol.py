"""One protocol for all losses: a learning rate chosen on validation images, the same seeds, paired differences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.images.data import ImageProblem
from experiments.images.methods import FIRST
from experiments.images.rules import ImageRule, Logits, Tuning, cut, expected_loss, rules
from experiments.images.scores import ObjectScores, Scores, object_scores, score
from experiments.images.training import NetworkRun, Trained, TrainingSettings, predict, train_once

DECIDED = ("ce", FIRST, "ce+lovasz-p", "default")
"""The methods on top of which decisions are compared."""


@dataclass(frozen=True)
class DecidedImages:
    """What one rule came to: test scores, the expected loss of its sets if it has one, CPU time an image."""

    scores: Scores
    expected_loss: float | None
    milliseconds: float


Hear = Callable[[str], None]


@dataclass(frozen=True)
class MethodOutcome:
    """What one loss came to: validation score of every rate (first seed), test scores of every seed at the best.

    For masks `objects` are the scores of their components by the plain cut, seed by seed.
    """

    name: str
    rate: float
    by_rate: dict[float, float]
    test: tuple[Scores, ...]
    decided: dict[str, tuple[DecidedImages, ...]]
    objects: tuple[ObjectScores, ...]
    milliseconds: float
    start: float


@dataclass(frozen=True)
class Outcome:
    """All losses on one data set."""

    problem: ImageProblem
    settings: TrainingSettings
    methods: tuple[MethodOutcome, ...]


def compare(
    problem: ImageProblem,
    methods: Sequence[str],
    settings: TrainingSettings,
    folder: Path | None,
    hear: Hear = lambda done: None,
) -> Outcome:
    """Train every method at every rate, then the other seeds at the rate of best validation score."""
    return Outcome(problem, settings, tuple(_one(problem, name, settings, folder, hear) for name in methods))


def _one(
    problem: ImageProblem, name: str, settings: TrainingSettings, folder: Path | None, hear: Hear
) -> MethodOutcome:
    first, *others = settings.seeds

    def trained(rate: float, seed: int) -> Trained:
        run = NetworkRun(name, rate, seed)
        found = train_once(run, problem, settings, folder)
        hear(f"{problem.name}: {run}")
        return found

    tried = {rate: trained(rate, first) for rate in settings.rates}
    by_rate = {rate: validation_score(problem, one) for rate, one in tried.items()}
    rate = max(by_rate, key=by_rate.__getitem__)
    kept = [tried[rate], *(trained(rate, seed) for seed in others)]
    decided: dict[str, list[DecidedImages]] = {}
    for one in kept:
        for rule, found in _test_scores(problem, one, name in DECIDED).items():
            decided.setdefault(rule, []).append(found)
    by_rule = {rule: tuple(found) for rule, found in decided.items()}
    test = tuple(each.scores for each in next(iter(by_rule.values())))
    objects = tuple(_object_scores(problem, one) for one in kept) if problem.classes == 1 else ()
    milliseconds = 1000 * float(np.mean([one.seconds for one in kept])) / settings.steps
    return MethodOutcome(
        name, rate, by_rate, test, by_rule, objects, milliseconds, float(np.mean([one.values[0] for one in kept]))
    )


def validation_score(problem: ImageProblem, trained: Trained) -> float:
    """Mean Dice of the masks, or the mean Jaccard of the classes, on the validation part."""
    part = problem.validation
    scores = score(cut(predict(trained.network, part)), part.labels, problem.classes)
    return float(scores.dice.mean()) if problem.classes == 1 else scores.overall


def _test_scores(problem: ImageProblem, trained: Trained, decide: bool) -> dict[str, DecidedImages]:
    logits = predict(trained.network, problem.test)
    if not decide:
        return {"": _decided(ImageRule(cut), logits, problem)}
    tuning = Tuning(predict(trained.network, problem.validation), problem.validation.labels, problem.classes)
    return {name: _decided(rule, logits, problem) for name, rule in rules(tuning).items()}


def _object_scores(problem: ImageProblem, trained: Trained) -> ObjectScores:
    return object_scores(cut(predict(trained.network, problem.test)), problem.test.labels)


def _decided(rule: ImageRule, logits: Logits, problem: ImageProblem) -> DecidedImages:
    started = time.process_time()
    predicted = rule.decide(logits)
    milliseconds = 1000 * (time.process_time() - started) / len(logits)
    expected = None if rule.temperature is None else expected_loss(predicted, logits, rule.temperature)
    return DecidedImages(score(predicted, problem.test.labels, problem.classes), expected, milliseconds)
