"""Which loss to train a segmentation network with, and what to predict: one protocol, paired differences, tables.

All losses train at the same rate. The scores of every network are kept, so that an interrupted comparison goes on
where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import NDArray

import setloss
from experiments.document import Cell, Document, Estimate, ResultTable
from experiments.images.data import ImageProblem
from experiments.images.decisions import Scores, cut, dice_of_objects, rules, score
from experiments.images.networks import FIRST, METHODS, TrainingSettings, predict, train
from experiments.protocol import log

DECIDED = ("ce", FIRST, "default")
"""The methods on top of which decisions are compared, for networks of the first seed."""

DECIDED_IMAGES = 32
"""Most validation and test images for decisions, which cost more than the networks."""


@dataclass(frozen=True)
class Run:
    """One network: test scores of the plain cut, and of every rule on the first test images.

    `objects` has the Dice and the area of every object of a mask, `milliseconds` is CPU time of a training step.
    """

    milliseconds: float
    test: Scores
    decided: dict[str, Scores]
    objects: tuple[NDArray[np.floating], NDArray[np.int64]] | None


@dataclass(frozen=True)
class Outcome:
    """All losses on one data set: the runs of all seeds."""

    problem: ImageProblem
    settings: TrainingSettings
    seeds: dict[str, tuple[Run, ...]]

    @property
    def has_objects(self) -> NDArray[np.bool_]:
        """Test images of masks on which there is something to find."""
        return np.asarray(self.problem.test.labels.any((1, 2)))

    @property
    def kind(self) -> str:
        """What differences are of: Dice of masks, Jaccard of classes."""
        return "dice" if self.problem.classes == 1 else "jaccard"


def compare(
    problems: Sequence[ImageProblem], methods: Sequence[str], settings: TrainingSettings, folder: Path
) -> list[Outcome]:
    """Train every method on every data set, all with one seed before the next seed."""
    kept: dict[tuple[str, str], list[Run]] = {}
    first = replace(settings, seeds=settings.seeds[:1])  # networks are kept whatever the number of seeds
    remembered = Memory(folder / setloss.__version__, verbose=0).cache(made_run)
    for seed in settings.seeds:
        for problem, method in product(problems, methods):
            log.info("seed %d, %s: %s", seed, problem.name, METHODS[method].label)
            kept.setdefault((problem.name, method), []).append(remembered(problem, method, seed, first))
    return [
        Outcome(problem, settings, {method: tuple(kept[problem.name, method]) for method in methods})
        for problem in problems
    ]


def made_run(problem: ImageProblem, method: str, seed: int, settings: TrainingSettings) -> Run:
    """Train a network and judge it on the test part."""
    trained = train(method, seed, problem, settings)
    logits, labels, classes = predict(trained.network, problem.test), problem.test.labels, problem.classes
    decided, few = {}, slice(DECIDED_IMAGES)
    if method in DECIDED and seed == settings.seeds[0]:
        known = predict(trained.network, problem.validation)
        for rule, decide in rules(known[few], problem.validation.labels[few]).items():
            decided[rule] = score(decide(logits[few]), labels[few], classes)
    objects = dice_of_objects(cut(logits), labels) if classes == 1 else None
    return Run(trained.milliseconds, score(cut(logits), labels, classes), decided, objects)


# ---------------------------------------------------------------- tables


def report(outcomes: Sequence[Outcome]) -> Document:
    """Losses, decisions, empty images and objects, the data sets side by side."""
    tables = [losses_table(outcomes), decisions_table(outcomes)]
    partly = [one for one in outcomes if one.problem.classes == 1 and not one.has_objects.all()]
    tables += [empty_table(partly)] if partly else []
    tables += [objects_table(one) for one in outcomes if "objects" in one.seeds and one.problem.classes == 1]
    numbers = {outcome.problem.name: _numbers(outcome) for outcome in outcomes}
    return Document("segmentation", "Losses for segmentation", tuple(tables), (), numbers)


def losses_table(outcomes: Sequence[Outcome]) -> ResultTable:
    """A row per loss, a column per data set: the scores of `FIRST`, for others what they are ahead, seed by seed."""
    rows = [_losses_row(method, outcomes) for method in outcomes[0].seeds]
    columns = ("loss", *(outcome.problem.name for outcome in outcomes), "mean", "worst", "ms a step")
    note = (
        f"{METHODS[FIRST].label}: mean Dice of masks, mIoU of classes; other rows: differences from it, paired by "
        f"seed, {_over_seeds(outcomes[0])}. {_note(outcomes)}"
    )
    return ResultTable("Losses", columns, tuple(rows), note)


def _losses_row(method: str, outcomes: Sequence[Outcome]) -> tuple[Cell, ...]:
    found = [_by_seed(outcome, method) for outcome in outcomes]
    time = round(float(np.mean([run.milliseconds for outcome in outcomes for run in outcome.seeds[method]])))
    if method == FIRST or any(FIRST not in outcome.seeds for outcome in outcomes):
        return (METHODS[method].label, *map(Estimate.of, found), None, None, time)
    ahead = [scores - _by_seed(outcome, FIRST) for scores, outcome in zip(found, outcomes, strict=True)]
    gains = [float(one.mean()) for one in ahead]
    ends = f"{np.mean(gains):.3f}", f"{min(gains):.3f}"
    return (METHODS[method].label, *map(Estimate.of, ahead), *ends, time)


def _by_seed(outcome: Outcome, method: str) -> NDArray[np.floating]:
    scores = [run.test for run in outcome.seeds[method]]
    return np.array([float(one.dice.mean()) if outcome.problem.classes == 1 else one.overall for one in scores])


def decisions_table(outcomes: Sequence[Outcome]) -> ResultTable:
    """What else could be predicted from the same networks; differences are taken image by image."""
    columns = ("loss", "decision", *(outcome.problem.name for outcome in outcomes))
    rows: list[tuple[Cell, ...]] = []
    for method in (method for method in outcomes[0].seeds if method in DECIDED):
        found = [(outcome.seeds[method][0].decided, outcome.kind) for outcome in outcomes]
        plain = [(getattr(next(iter(decided.values())), kind), kind) for decided, kind in found]
        rows.append((METHODS[method].label, "plain: 1/2, argmax", *(Estimate.of(one) for one, _ in plain)))
        for rule in dict.fromkeys(rule for decided, _ in found for rule in list(decided)[1:]):
            gains = [
                Estimate.of(getattr(decided[rule], kind) - one) if rule in decided else None
                for (decided, _), (one, kind) in zip(found, plain, strict=True)
            ]
            rows.append((METHODS[method].label, rule, *gains))
    note = (
        f"The networks of the first seed, the first {DECIDED_IMAGES} test images: Dice of masks, Jaccard of the "
        "classes on an image, ± over images; other rows: differences from the first, image by image. Everything that "
        f"is learned is learned on at most {DECIDED_IMAGES} validation images."
    )
    return ResultTable("Decisions", columns, tuple(rows), note)


def empty_table(outcomes: Sequence[Outcome]) -> ResultTable:
    """Masks some of which are empty: Dice where something is to be found, and the share of the others left empty."""
    names = [outcome.problem.name for outcome in outcomes]
    columns = ("loss", *(f"{name}: {what}" for name in names for what in ("Dice with objects", "left empty", "all")))
    rows: list[tuple[Cell, ...]] = []
    for method in outcomes[0].seeds:
        cells: list[Cell] = []
        for outcome in outcomes:
            dice, some = np.stack([run.test.dice for run in outcome.seeds[method]]), outcome.has_objects
            cells += [Estimate.of(one.mean(1)) for one in (dice[:, some], dice[:, ~some], dice)]
        rows.append((METHODS[method].label, *cells))
    note = (
        "Mean Dice of the test images with objects, of the others (1 if nothing is marked), and of all; "
        f"{_over_seeds(outcomes[0])}."
    )
    return ResultTable("Empty images", columns, tuple(rows), note)


def objects_table(outcome: Outcome) -> ResultTable:
    """Connected components of the test masks one by one: all of them, and the quarter of least area."""
    parts = product(("all", "smallest quarter"), ("Dice", "missed"))
    columns = ("loss", *(f"{name}: {what}" for name, what in parts), "Dice of images")
    rows: list[tuple[Cell, ...]] = []
    for method, runs in outcome.seeds.items():
        dice, areas = (np.stack(one) for one in zip(*(run.objects or () for run in runs), strict=True))
        small = dice[:, areas[0] <= np.quantile(areas[0], 0.25)]
        cells = [Estimate.of(one) for part in (dice, small) for one in (part.mean(1), (part == 0).mean(1))]
        images = Estimate.of([float(run.test.dice.mean()) for run in runs])
        rows.append((METHODS[method].label, *cells, images))
    note = (
        f"{areas.shape[1]} connected components of the test masks, each with the background nearest to it; missed: "
        f"nothing of it is found. {_over_seeds(outcome).capitalize()}."
    )
    return ResultTable(f"Objects of {outcome.problem.name}", columns, tuple(rows), note)


def _over_seeds(outcome: Outcome) -> str:
    return f"± over {len(outcome.settings.seeds)} seeds" if len(outcome.settings.seeds) > 1 else "one seed"


def _note(outcomes: Sequence[Outcome]) -> str:
    settings, sizes = outcomes[0].settings, []
    for problem in (outcome.problem for outcome in outcomes):
        side = " x ".join(map(str, problem.test.labels.shape[1:]))
        crops = "" if problem.crop is None else f" in squares of {problem.crop}"
        parts = " + ".join(str(len(part)) for part in (problem.train, problem.validation, problem.test))
        sizes.append(f"{problem.name} {parts} of {side}{crops}")
    return (
        f"Images to train on, to choose with and to test: {'; '.join(sizes)}. {settings.steps} steps of "
        f"{settings.batch} images, Adam, rate {settings.rate:g}, cosine schedule, gradients clipped to norm "
        f"{settings.clip:g}; a U-Net of {settings.width} to {4 * settings.width} channels."
    )


def _numbers(outcome: Outcome) -> list[dict[str, Any]]:
    """One entry per loss: mean test scores seed by seed."""
    return [
        {
            "method": method,
            "dice": [float(run.test.dice.mean()) for run in runs],
            "jaccard": [float(run.test.jaccard.mean()) for run in runs],
            "overall": [run.test.overall for run in runs],
        }
        for method, runs in outcome.seeds.items()
    ]
