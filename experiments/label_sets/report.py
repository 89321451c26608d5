"""Tables of the label-set benchmark: one table per metric, paired differences, a front table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from experiments.document import Cell, Document, Estimate, ResultTable, lowest
from experiments.label_sets.methods import DEFAULT, PLAIN, is_ours, label_of
from experiments.label_sets.protocol import METRICS, BenchmarkPlan, DataSetOutcome

MAIN = "example_f1"
LEVEL = 2.0
"""A method is ahead or behind on a data set if the difference is more than so many standard errors."""

Outcomes = Sequence[DataSetOutcome]


def report(outcomes: Outcomes, plan: BenchmarkPlan) -> Document:
    """What the outcomes so far say."""
    tables = [metric_table(outcomes, metric, plan) for metric in METRICS]
    numbers = {"plan": asdict(plan), "datasets": {outcome.name: outcome.as_dict() for outcome in outcomes}}
    shown = tuple(table for table in tables if table.rows)
    name = "multilabel_halves" if plan.halves else "multilabel"
    return Document(name, "Label sets: who predicts the best ones", shown, (), numbers)


def write(document: Document, folder: Path) -> None:
    """Write the document; numbers of data sets and methods that the folder has already stay beside the new ones."""
    file, found = folder / f"{document.name}.json", document.numbers["datasets"]
    if file.is_file():
        for name, old in json.loads(file.read_text("utf-8"))["numbers"]["datasets"].items():
            found[name] = {"methods": old["methods"] | found.get(name, {"methods": {}})["methods"]}
    document.write(folder)


def metric_table(outcomes: Outcomes, metric: str, plan: BenchmarkPlan) -> ResultTable:
    """A row per method, the best first: the metric on every data set, mean and median over them."""
    methods = sorted(plan.methods, key=lambda method: -_mean(outcomes, method))
    rows = [(label_of(m), *_with_means([outcome.estimate(m, metric) for outcome in outcomes])) for m in methods]
    columns = ("method", *(outcome.name for outcome in outcomes), "mean", "median")
    split = f"{plan.halves} random halves" if plan.halves else "standard split"
    best = lowest(rows, highest=True)
    return ResultTable(f"{METRICS[metric]}, {split}", columns, tuple(rows), _note(metric, plan), best)


def _note(metric: str, plan: BenchmarkPlan) -> str:
    over = "the test examples of all halves" if plan.halves else "test examples"
    empty = "0, and sets are decided for that" if metric == "example_f1_zero" else "1"
    return (
        f"Mean and standard error over {over}. Preparation and C by held-out likelihood, one C for "
        "logistic regression and one for every model of rivals, or by smoothed F (smoothed thresholds); thresholds "
        "and k by example F1; the same folds of the training part for all. An empty set predicted empty counts "
        f"{empty}."
    )


# ---------------------------------------------------------------- who is ahead


def best_rival(outcomes: Outcomes, methods: Sequence[str]) -> str:
    """The method of others with the largest mean example F1; any method where there is none."""
    return max([m for m in methods if not is_ours(m)] or methods, key=lambda method: _mean(outcomes, method))


def standing(outcomes: Outcomes, ours: str, other: str) -> tuple[int, int, int]:
    """On how many data sets we are ahead, level and behind, by `LEVEL` standard errors of paired differences."""
    found = [outcome.difference(ours, other, MAIN) for outcome in outcomes]
    ahead = sum(one.mean > LEVEL * (one.error or 0.0) for one in found)
    behind = sum(-one.mean > LEVEL * (one.error or 0.0) for one in found)
    return ahead, len(found) - ahead - behind, behind


def _with_means(cells: Sequence[Estimate]) -> tuple[Cell, ...]:
    means = [cell.mean for cell in cells]
    return *cells, f"{np.mean(means):.3f}", f"{np.median(means):.3f}"


def tables_of_pages(outcomes: Outcomes, plan: BenchmarkPlan) -> dict[str, ResultTable]:
    """The tables that README and docs/evidence.md show, by the names of their files in docs/results."""
    return {"front": front_table(outcomes, plan), "label_sets": metric_table(outcomes, MAIN, plan)}


def front_table(outcomes: Outcomes, plan: BenchmarkPlan) -> ResultTable:
    """The table of the front page: rules on the same scores, the best of the published rivals, and the default."""
    words = {
        "threshold": "all above one tuned threshold",
        "plug-in": "the plug-in rule for F1 (labels taken as independent)",
        "auto": "`SetDecisionCV` around the same classifier",
    }
    lines: list[tuple[str, tuple[str | None, ...]]] = [
        (text, tuple(f"{base}+{rule}" for base in PLAIN)) for rule, text in words.items()
    ]
    rivals = [m for m in plan.methods if not is_ours(m) and "+" not in m]
    linear, trees = ([m for m in rivals if m.endswith("-trees") == of_trees] for of_trees in (False, True))
    published = [best_rival(outcomes, some) if some else None for some in (linear, trees)]
    names = " / ".join(label_of(one) for one in published if one)
    lines.insert(-1, (f"the best published rival: {names}", tuple(published)))
    lines.append(("`SetDecisionCV()`, which chooses the classifier", (DEFAULT, None)))
    against = []
    for rival in dict.fromkeys((best_rival(outcomes, plan.methods), best_rival(outcomes, rivals))):
        ahead, level, behind = standing(outcomes, DEFAULT, rival)
        against.append(f"{label_of(rival)}: ahead on {ahead}, level on {level}, behind on {behind} of the sets")
    note = (
        f"{', '.join(outcome.name for outcome in outcomes)}; bold: the best of a column. EFP: models of each label "
        "together with the number of labels (Dembczyński et al. 2013). `SetDecisionCV()` against others, by two "
        f"standard errors of paired differences: {'; '.join(against)}. "
        "`python -m experiments multilabel --data DIR`; more: [Evidence](docs/evidence.md)."
    )
    title = f"F1 of the labels of an example, mean (median) of {len(outcomes)} public data sets, standard splits"
    columns = ("which labels to predict", "logistic regression per label", "extra trees")
    rows = [(text, *(_mean_and_median(outcomes, one) if one else None for one in methods)) for text, methods in lines]
    top = [max((row[j] for row in rows if row[j]), default=None) for j in (1, 2)]  # the mean comes first
    best = frozenset((i, j) for i, row in enumerate(rows) for j in (1, 2) if row[j] and row[j] == top[j - 1])
    return ResultTable(title, columns, tuple(rows), note, best)


def _mean_and_median(outcomes: Outcomes, method: str) -> str:
    means = [outcome.estimate(method, MAIN).mean for outcome in outcomes]
    return f"{np.mean(means):.3f} ({np.median(means):.3f})"


def _mean(outcomes: Outcomes, method: str) -> float:
    return float(np.mean([outcome.estimate(method, MAIN).mean for outcome in outcomes]))
