"""Which loss to train a segmentation network with, and what to predict: one protocol, paired differences, tables.

A learning rate is chosen on validation images with the first seed; the other seeds train at that rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.document import Cell, Document, Estimate, ResultTable
from experiments.images.data import ImageProblem
from experiments.images.decisions import Scores, Tuning, cut, rules, score
from experiments.images.networks import FIRST, METHODS, Trained, TrainingSettings, predict, train
from experiments.protocol import log

DECIDED = ("ce", FIRST, "ce+lovasz-p", "default")
"""The methods on top of which decisions are compared."""


@dataclass(frozen=True)
class MethodOutcome:
    """What one loss came to: validation score of every rate (first seed), test scores of every rule and seed.

    The first rule is the plain cut; `milliseconds` are CPU time of a training step.
    """

    name: str
    rate: float
    by_rate: dict[float, float]
    decided: dict[str, tuple[Scores, ...]]
    milliseconds: float

    @property
    def test(self) -> tuple[Scores, ...]:
        """Scores of the plain cut."""
        return next(iter(self.decided.values()))


@dataclass(frozen=True)
class Outcome:
    """All losses on one data set."""

    problem: ImageProblem
    settings: TrainingSettings
    methods: tuple[MethodOutcome, ...]


def compare(problem: ImageProblem, methods: Sequence[str], settings: TrainingSettings) -> Outcome:
    """Train every method at every rate, then the other seeds at the rate of best validation score."""
    found = []
    for name in methods:
        log.info("%s: %s", problem.name, METHODS[name].label)
        found.append(_one(problem, name, settings))
    return Outcome(problem, settings, tuple(found))


def _one(problem: ImageProblem, name: str, settings: TrainingSettings) -> MethodOutcome:
    first, *others = settings.seeds
    tried = {rate: train(name, rate, first, problem, settings) for rate in settings.rates}
    by_rate = {rate: _validation_score(problem, one) for rate, one in tried.items()}
    rate = max(by_rate, key=by_rate.__getitem__)
    kept = [tried[rate], *(train(name, rate, seed, problem, settings) for seed in others)]
    decided: dict[str, list[Scores]] = {}
    for one in kept:
        logits, part = predict(one.network, problem.test), problem.validation
        tuning = Tuning(predict(one.network, part), part.labels, problem.classes)
        for rule, decide in (rules(tuning) if name in DECIDED else {"cut": cut}).items():
            decided.setdefault(rule, []).append(score(decide(logits), problem.test.labels, problem.classes))
    milliseconds = 1000 * float(np.mean([one.seconds for one in kept])) / settings.steps
    by_rule = {rule: tuple(scores) for rule, scores in decided.items()}
    return MethodOutcome(name, rate, by_rate, by_rule, milliseconds)


def _validation_score(problem: ImageProblem, trained: Trained) -> float:
    """Mean Dice of the masks, or the mean Jaccard of the classes, on the validation part."""
    part = problem.validation
    scores = score(cut(predict(trained.network, part)), part.labels, problem.classes)
    return float(scores.dice.mean()) if problem.classes == 1 else scores.overall


# ---------------------------------------------------------------- tables


def report(outcomes: Sequence[Outcome]) -> Document:
    """All data sets in one table, then two for each, losses and decisions."""
    tables = [summary_table(outcomes)] if len(outcomes) > 1 else []
    for outcome in outcomes:
        tables += [losses_table(outcome), decisions_table(outcome)]
    numbers = {outcome.problem.name: [_numbers(one) for one in outcome.methods] for outcome in outcomes}
    return Document("segmentation", "Losses for segmentation", tuple(tables), (), numbers)


def summary_table(outcomes: Sequence[Outcome]) -> ResultTable:
    """A row per loss, a column per data set: the scores of `FIRST`, for others what they are ahead, seed by seed."""
    found = [{one.name: _by_seed(one, outcome.problem.classes) for one in outcome.methods} for outcome in outcomes]
    rows = [_summary_row(name, found) for name in dict.fromkeys(name for scores in found for name in scores)]
    columns = ("loss", *(outcome.problem.name for outcome in outcomes), "mean", "worst")
    note = (
        f"{METHODS[FIRST].label}: mean Dice of masks, mIoU of classes; other rows: differences from it, paired by "
        f"seed, ± over {len(outcomes[0].settings.seeds)} seeds; rates of {_grid(outcomes[0])}."
    )
    return ResultTable("All data sets: what losses are ahead", columns, tuple(rows), note)


def _summary_row(name: str, found: Sequence[Mapping[str, NDArray[np.floating]]]) -> tuple[Cell, ...]:
    """Mean and worst are of losses that every data set has."""
    label = METHODS[name].label
    if name == FIRST:
        return (label, *(Estimate.of(scores[name]) if name in scores else None for scores in found), None, None)
    paired = [Estimate.of(one[name] - one[FIRST]) if {name, FIRST} <= one.keys() else None for one in found]
    gains = [gain.mean for gain in paired if gain is not None]
    ends = (f"{np.mean(gains):.3f}", f"{min(gains):.3f}") if len(gains) == len(found) else (None, None)
    return (label, *paired, *ends)


def _by_seed(one: MethodOutcome, classes: int) -> NDArray[np.floating]:
    return np.array([float(scores.dice.mean()) if classes == 1 else scores.overall for scores in one.test])


def losses_table(outcome: Outcome) -> ResultTable:
    """A row per loss; differences are taken image by image from the row of `FIRST`, averaged over seeds."""
    kind = "dice" if outcome.problem.classes == 1 else "jaccard"
    rates = [f"validation at {rate:g}" for rate in outcome.settings.rates]
    columns = ("loss", "rate", "Dice", "Jaccard", "mIoU", f"less {METHODS[FIRST].label}", *rates, "ms a step")
    base = next((one for one in outcome.methods if one.name == FIRST), None)
    rows: list[tuple[Cell, ...]] = []
    for one in outcome.methods:
        gain = None
        if base is not None and one is not base:
            gain = Estimate.of(_per_image(one.test, kind) - _per_image(base.test, kind))
        tried = [round(value, 3) for value in one.by_rate.values()]
        rows.append((METHODS[one.name].label, one.rate, *_three(one.test), gain, *tried, round(one.milliseconds)))
    means = [float(_by_seed(one, outcome.problem.classes).mean()) for one in outcome.methods]
    best = frozenset({(int(np.argmax(means)), 2 if kind == "dice" else 4)})
    return ResultTable(f"{outcome.problem.name}: losses", columns, tuple(rows), _note(outcome), best)


def decisions_table(outcome: Outcome) -> ResultTable:
    """What else could be predicted from the same networks."""
    kind = "dice" if outcome.problem.classes == 1 else "jaccard"
    columns = ("loss", "decision", "Dice", "Jaccard", "mIoU", "less the first")
    rows: list[tuple[Cell, ...]] = []
    for one in (one for one in outcome.methods if len(one.decided) > 1):
        for rule, found in one.decided.items():
            gain = Estimate.of(_per_image(found, kind) - _per_image(one.test, kind))
            rows.append((METHODS[one.name].label, rule, *_three(found), gain))
    note = "Temperatures and thresholds are chosen on the validation images; the networks are those above."
    return ResultTable(f"{outcome.problem.name}: decisions", columns, tuple(rows), note)


def _three(found: Sequence[Scores]) -> tuple[Cell, Cell, Cell]:
    """Dice and Jaccard by image, and the mIoU."""
    overall = round(float(np.mean([scores.overall for scores in found])), 3)
    return Estimate.of(_per_image(found, "dice")), Estimate.of(_per_image(found, "jaccard")), overall


def _per_image(found: Sequence[Scores], kind: str) -> Any:
    return np.mean([getattr(scores, kind) for scores in found], axis=0)


def _note(outcome: Outcome) -> str:
    problem, settings = outcome.problem, outcome.settings
    side = " x ".join(map(str, problem.test.labels.shape[1:]))
    crops = "" if problem.crop is None else f", trained on squares of {problem.crop}"
    kind = "Dice" if problem.classes == 1 else "Jaccard of the classes on the image"
    return (
        f"{len(problem.train)} images to train on, {len(problem.validation)} to choose the rate with (of "
        f"{_grid(outcome)}; first seed), {len(problem.test)} to test; {side} pixels{crops}; {settings.steps} steps "
        f"of {settings.batch} images, Adam, cosine schedule, gradients clipped to norm {settings.clip:g}. "
        f"{len(settings.seeds)} seeds; Dice and Jaccard per image, ± over test images; differences of {kind}, image "
        "by image. Milliseconds are CPU time."
    )


def _grid(outcome: Outcome) -> str:
    return ", ".join(f"{rate:g}" for rate in outcome.settings.rates)


def _numbers(one: MethodOutcome) -> dict[str, Any]:
    test = {
        rule: [{"dice": s.dice.tolist(), "jaccard": s.jaccard.tolist(), "overall": s.overall} for s in found]
        for rule, found in one.decided.items()
    }
    rates = {f"{rate:g}": value for rate, value in one.by_rate.items()}
    return {"method": one.name, "rate": one.rate, "validation": rates, "test": test}
