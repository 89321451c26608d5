"""The tables of ``python -m experiments segmentation``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.document import Cell, Document, ResultTable
from experiments.estimate import Estimate
from experiments.images.methods import FIRST, METHODS, OBJECTS
from experiments.images.protocol import DecidedImages, MethodOutcome, Outcome
from experiments.images.rules import VALUED_IMAGES
from experiments.images.scores import Scores


def report(outcomes: Sequence[Outcome]) -> Document:
    """All data sets in one table, then two for each, losses and decisions; one more where objects were sets."""
    tables: list[ResultTable] = []
    if len(outcomes) > 1:
        tables.append(summary_table(outcomes))
    for outcome in outcomes:
        tables += [losses_table(outcome), decisions_table(outcome), *_objects(outcome)]
    return Document("segmentation", "Losses for segmentation", tuple(tables), (), _numbers(outcomes))


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
    if len(gains) < len(found):
        return (label, *paired, None, None)
    return (label, *paired, f"{np.mean(gains):.3f}", f"{min(gains):.3f}")


def _by_seed(one: MethodOutcome, classes: int) -> NDArray[np.floating]:
    return np.array([float(scores.dice.mean()) if classes == 1 else scores.overall for scores in one.test])


def losses_table(outcome: Outcome) -> ResultTable:
    """A row per loss; differences are taken image by image from the row of `FIRST`, averaged over seeds."""
    masks = outcome.problem.classes == 1
    rates = [f"validation at {rate:g}" for rate in outcome.settings.rates]
    columns = ("loss", "rate", "Dice", "Jaccard", "mIoU", f"less {METHODS[FIRST].label}", *rates, "ms a step")
    base = next((one for one in outcome.methods if one.name == FIRST), None)
    rows: list[tuple[Cell, ...]] = []
    for one in outcome.methods:
        dice, jaccard = (_per_image(one.test, kind) for kind in ("dice", "jaccard"))
        kind = "dice" if masks else "jaccard"
        gain = None
        if base is not None and one is not base:
            gain = Estimate.of(_per_image(one.test, kind) - _per_image(base.test, kind))
        tried = [round(score, 3) for score in one.by_rate.values()]
        overall = round(float(np.mean([scores.overall for scores in one.test])), 3)
        cells = (METHODS[one.name].label, one.rate, Estimate.of(dice), Estimate.of(jaccard), overall, gain, *tried)
        rows.append((*cells, round(one.milliseconds)))
    column = 2 if masks else 4
    means = [
        float(_per_image(one.test, "dice").mean() if masks else np.mean([scores.overall for scores in one.test]))
        for one in outcome.methods
    ]
    best = frozenset({(int(np.argmax(means)), column)})
    return ResultTable(f"{outcome.problem.name}: losses", columns, tuple(rows), _note(outcome), best)


def decisions_table(outcome: Outcome) -> ResultTable:
    """What else could be predicted from the same networks."""
    masks = outcome.problem.classes == 1
    columns = ("loss", "decision", "Dice", "Jaccard", "mIoU", "less the first", "expected loss", "ms an image")
    rows: list[tuple[Cell, ...]] = []
    for one in outcome.methods:
        if len(one.decided) < 2:
            continue
        kind = "dice" if masks else "jaccard"
        base = _per_image(one.test, kind)
        for rule, decided in one.decided.items():
            found = [each.scores for each in decided]
            gain = Estimate.of(_per_image(found, kind) - base)
            estimates = [Estimate.of(_per_image(found, name)) for name in ("dice", "jaccard")]
            overall = round(float(np.mean([scores.overall for scores in found])), 3)
            time = round(float(np.mean([each.milliseconds for each in decided])), 2)
            rows.append((METHODS[one.name].label, rule, *estimates, overall, gain, _expected(decided), time))
    note = (
        "Temperatures and thresholds are chosen on the validation images; the networks are those above. Expected "
        f"losses are of independent pixels with the probabilities that the rule takes, on {VALUED_IMAGES} images."
    )
    return ResultTable(f"{outcome.problem.name}: decisions", columns, tuple(rows), note)


def _objects(outcome: Outcome) -> list[ResultTable]:
    return [objects_table(outcome)] if any(one.name == OBJECTS for one in outcome.methods) else []


def objects_table(outcome: Outcome) -> ResultTable:
    """Every object counts alike: all of them, and the quarter of the smallest."""
    columns = ("loss", "Dice of objects", "missed", "Dice of the smallest quarter", "missed", "Dice of images")
    rows: list[tuple[Cell, ...]] = []
    for one in outcome.methods:
        sizes, dice = one.objects[0].sizes, np.mean([each.dice for each in one.objects], axis=0)
        missed = np.mean([each.dice == 0 for each in one.objects], axis=0)
        small = sizes <= np.quantile(sizes, 0.25)
        parts = (dice, missed, dice[small], missed[small], _per_image(one.test, "dice"))
        rows.append((METHODS[one.name].label, *(round(float(part.mean()), 3) for part in parts)))
    note = (
        f"{len(outcome.methods[0].objects[0].sizes)} connected components of the test masks, each with the "
        "background nearest to it; missed: nothing of it is found. The networks are those above."
    )
    return ResultTable(f"{outcome.problem.name}: objects", columns, tuple(rows), note)


def _expected(decided: Sequence[DecidedImages]) -> Cell:
    values = [one.expected_loss for one in decided if one.expected_loss is not None]
    return round(float(np.mean(values)), 4) if values else None


def _per_image(found: Sequence[Scores], kind: str) -> Any:
    return np.mean([getattr(scores, kind) for scores in found], axis=0)


def _note(outcome: Outcome) -> str:
    problem, settings = outcome.problem, outcome.settings
    side = " x ".join(map(str, problem.test.labels.shape[1:]))
    crops = "" if problem.crop is None else f", trained on squares of {problem.crop}"
    grid, seeds = _grid(outcome), len(settings.seeds)
    kind = "Dice" if problem.classes == 1 else "Jaccard of the classes on the image"
    return (
        f"{len(problem.train)} images to train on, {len(problem.validation)} to choose the rate with (of {grid}; "
        f"first seed), {len(problem.test)} to test; {side} pixels{crops}; {settings.steps} steps of "
        f"{settings.batch} images, Adam, cosine schedule, gradients clipped to norm {settings.clip:g}. {seeds} "
        f"seed{'s' * (seeds > 1)}; Dice and Jaccard per image, ± over test images; differences of {kind}, image by "
        "image. Milliseconds are CPU time."
    )


def _grid(outcome: Outcome) -> str:
    return ", ".join(f"{rate:g}" for rate in outcome.settings.rates)


def _numbers(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {outcome.problem.name: [_method_numbers(one) for one in outcome.methods] for outcome in outcomes}


def _method_numbers(one: MethodOutcome) -> dict[str, Any]:
    decided = {
        rule: [
            {
                "dice": each.scores.dice.tolist(),
                "jaccard": each.scores.jaccard.tolist(),
                "overall": each.scores.overall,
                "expected_loss": each.expected_loss,
            }
            for each in found
        ]
        for rule, found in one.decided.items()
    }
    objects = [{"sizes": each.sizes.tolist(), "dice": each.dice.round(4).tolist()} for each in one.objects]
    rates = {f"{rate:g}": value for rate, value in one.by_rate.items()}
    found = {"validation": rates, "start": one.start, "test": decided, "objects": objects}
    return {"method": one.name, "rate": one.rate, **found}
