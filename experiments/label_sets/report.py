"""Tables and a figure of the label-set benchmark: one table per metric, average ranks, paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.document import Cell, Document, Figure, ResultTable
from experiments.estimate import Estimate
from experiments.label_sets.decided import BASES, OURS, group_of, is_decided
from experiments.label_sets.methods import is_ours, style_of
from experiments.label_sets.protocol import BenchmarkPlan, DataSetOutcome
from experiments.metrics import LOWER_IS_BETTER, METRICS, average_ranks

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MAIN = "example_f1"
NAME = "multilabel"


def report(outcomes: Sequence[DataSetOutcome], plan: BenchmarkPlan) -> Document:
    """What the outcomes so far say."""
    order = by_rank(outcomes, plan.methods, MAIN)
    tables = [metric_table(outcomes, order, metric, plan) for metric in METRICS]
    tables.append(difference_table(outcomes, order))
    tables += (
        [rule_table(outcomes, plan.methods), calibration_table(outcomes, plan)] if _decided(plan.methods) else []
    )
    tables.append(metric_table(outcomes, order, "seconds", plan))
    figure = Figure(
        NAME,
        "Example F1 of every method, with standard errors, and average ranks; 1 is best.",
        partial(dot_plot, tuple(outcomes), tuple(order)),
    )
    numbers = {
        "plan": asdict(plan),
        "datasets": {outcome.name: outcome.as_dict() for outcome in outcomes},
        "ranks": {metric: _ranks(outcomes, plan.methods, metric) for metric in METRICS},
    }
    return Document(NAME, "Label sets: who predicts the best ones", tuple(tables), (figure,), numbers)


def by_rank(outcomes: Sequence[DataSetOutcome], methods: Sequence[str], metric: str) -> list[str]:
    """The methods from the best average rank to the worst."""
    ranks = _ranks(outcomes, methods, metric)
    return sorted(methods, key=lambda method: (ranks[method], -_mean(outcomes, method, metric)))


def metric_table(
    outcomes: Sequence[DataSetOutcome], methods: Sequence[str], metric: str, plan: BenchmarkPlan
) -> ResultTable:
    """A row per method: the metric on every data set, its mean over them, and the average rank."""
    ranks = _ranks(outcomes, methods, metric)
    rows: list[tuple[Cell, ...]] = []
    for method in methods:
        cells = [outcome.estimate(method, metric) for outcome in outcomes]
        rows.append(
            (style_of(method).label, *cells, f"{_mean(outcomes, method, metric):.3f}", f"{ranks[method]:.1f}")
        )
    columns = ("method", *(outcome.name for outcome in outcomes), "mean", "average rank")
    title = f"{METRICS.get(metric, 'seconds to choose and train')}, {_split_words(plan)}"
    return ResultTable(title, columns, tuple(rows), _note(metric, plan), _best(rows, metric))


def difference_table(outcomes: Sequence[DataSetOutcome], methods: Sequence[str]) -> ResultTable:
    """Every method against the competitor of largest mean example F1: mean and error of the paired differences."""
    others = [method for method in methods if not is_ours(method)] or list(methods)
    reference = max(others, key=lambda method: _mean(outcomes, method, MAIN))
    rows: list[tuple[Cell, ...]] = [
        (style_of(method).label, *_differences(outcomes, method, reference))
        for method in methods
        if method != reference
    ]
    return ResultTable(
        f"example F1 minus that of {style_of(reference).label}, the best competitor by mean",
        ("method", *(outcome.name for outcome in outcomes), "mean"),
        tuple(rows),
        "Standard errors are of the paired differences.",
    )


def rule_table(outcomes: Sequence[DataSetOutcome], methods: Sequence[str]) -> ResultTable:
    """For every base model, counts minus each other rule on the same scores, and the best of the others by mean."""
    rows: list[tuple[Cell, ...]] = []
    for base in BASES:
        others = [name for name in methods if group_of(name) == base and not is_ours(name)]
        for ours in (f"{base}+{rule}" for rule in OURS if f"{base}+{rule}" in methods):
            for other in others:
                label = f"{style_of(ours).label} - {style_of(other).label}"
                rows.append((label, *_differences(outcomes, ours, other)))
    return ResultTable(
        "example F1, differences between rules on the same scores",
        ("difference", *(outcome.name for outcome in outcomes), "mean"),
        tuple(rows),
        "Positive: counts (or the rule that held-out losses chose) is better. Standard errors of paired differences.",
    )


def calibration_table(outcomes: Sequence[DataSetOutcome], plan: BenchmarkPlan) -> ResultTable:
    """The loss that each model expected of its own decisions beside the one observed."""
    metric = f"example_{plan.choice.criterion}"
    rows: list[tuple[Cell, ...]] = []
    for method in _decided(plan.methods):
        if is_ours(method):
            pairs = []
            for outcome in outcomes:
                expected = np.mean([run.expected for run in outcome.of(method)])
                pairs.append(f"{expected:.3f} / {1 - outcome.estimate(method, metric).mean:.3f}")
            rows.append((style_of(method).label, *pairs))
    return ResultTable(
        "expected loss / observed loss",
        ("method", *(outcome.name for outcome in outcomes)),
        tuple(rows),
        "Means over test examples of what the count model expects of its own predictions, and of what came true.",
    )


def _differences(outcomes: Sequence[DataSetOutcome], ours: str, other: str) -> tuple[Cell, ...]:
    """Of example F1 on every data set, and their mean."""
    found = [outcome.difference(ours, other, MAIN) for outcome in outcomes]
    return *found, f"{sum(difference.mean for difference in found) / len(found):+.3f}"


def _decided(methods: Sequence[str]) -> list[str]:
    return [method for method in methods if is_decided(method)]


def _split_words(plan: BenchmarkPlan) -> str:
    return "standard split" if plan.folds is None else f"{plan.folds}-fold cross-validation"


def _note(metric: str, plan: BenchmarkPlan) -> str:
    over = "folds" if plan.folds is not None else "test examples"
    chosen = {"f1": "example F1", "jaccard": "example Jaccard"}[plan.choice.criterion]
    better = "less is better" if metric in LOWER_IS_BETTER else "more is better"
    return (
        f"Mean and standard error over {over}; {better}. C, thresholds and k are chosen by {chosen} on "
        f"{plan.choice.folds} folds of the training part. An empty set predicted empty counts 1."
    )


def _best(rows: Sequence[tuple[Cell, ...]], metric: str) -> frozenset[tuple[int, int]]:
    """The best cells of every column of numbers, as they are shown."""
    choose: Callable[..., str] = min if metric in LOWER_IS_BETTER else max
    best = set()
    for j in range(1, len(rows[0])):
        shown = [f"{c.mean:.3f}" if isinstance(c, Estimate) else str(c) for c in (row[j] for row in rows)]
        top = (min if j == len(rows[0]) - 1 else choose)(shown, key=float)
        best |= {(i, j) for i, text in enumerate(shown) if text == top}
    return frozenset(best)


def _ranks(outcomes: Sequence[DataSetOutcome], methods: Sequence[str], metric: str) -> dict[str, float]:
    means = {o.name: {method: o.estimate(method, metric).mean for method in methods} for o in outcomes}
    return average_ranks(means, lower_is_better=metric in LOWER_IS_BETTER)


def _mean(outcomes: Sequence[DataSetOutcome], method: str, metric: str) -> float:
    return sum(outcome.estimate(method, metric).mean for outcome in outcomes) / len(outcomes)


def dot_plot(outcomes: Sequence[DataSetOutcome], methods: Sequence[str]) -> Drawing:
    """A panel per data set with a dot and an error bar per method, best rank on top, and a panel of average ranks."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(2.2 + 2.0 * (len(outcomes) + 1), 0.7 + 0.24 * len(methods)), layout="constrained")
    panels = canvas.subplots(1, len(outcomes) + 1, sharey=True, squeeze=False)[0]
    ranks = _ranks(outcomes, methods, MAIN)
    for panel, outcome in zip(panels, outcomes, strict=False):
        for y, method in enumerate(methods):
            _dot(panel, outcome.estimate(method, MAIN), y, method)
        panel.set_title(outcome.name, fontsize=10)
        panel.set_xlabel("example F1", fontsize=9)
    for y, method in enumerate(methods):
        _dot(panels[-1], Estimate(ranks[method], None, len(outcomes)), y, method)
    panels[-1].set_title("all", fontsize=10)
    panels[-1].set_xlabel("average rank", fontsize=9)
    panels[0].set_yticks(range(len(methods)), [style_of(method).label for method in methods], fontsize=8)
    panels[0].set_ylim(len(methods) - 0.5, -0.5)
    for panel in panels:
        _tidy(panel, methods)
    return canvas


def _dot(panel: Any, found: Estimate, y: int, method: str) -> None:
    style = style_of(method)
    panel.errorbar(found.mean, y, xerr=found.error, fmt=style.marker, color=style.colour, ms=5, lw=1, capsize=0)


def _tidy(panel: Any, methods: Sequence[str]) -> None:
    for y, method in enumerate(methods):
        if not is_ours(method):  # a band behind the competitors tells them from ours without colour
            panel.axhspan(y - 0.5, y + 0.5, color="#000000", alpha=0.05, lw=0)
    panel.grid(axis="x", color="#dddddd", lw=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(axis="x", labelsize=8)
    panel.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
