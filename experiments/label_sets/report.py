"""Tables of the label-set benchmark: one table per metric, paired differences, a front table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from experiments.document import Cell, Document, Estimate, ResultTable, lowest
from experiments.label_sets.methods import DEFAULT, OURS, PLAIN, group_of, is_ours, label_of
from experiments.label_sets.protocol import METRICS, BenchmarkPlan, DataSetOutcome

MAIN = "example_f1"
NAME = "multilabel"
LEVEL = 2.0
"""A method is ahead or behind on a data set if the difference is more than so many standard errors."""

Outcomes = Sequence[DataSetOutcome]


def report(outcomes: Outcomes, plan: BenchmarkPlan) -> Document:
    """What the outcomes so far say."""
    tables = [metric_table(outcomes, metric, plan) for metric in METRICS]
    tables += [rule_table(outcomes, plan.methods), expected_table(outcomes, plan.methods)]
    numbers = {"plan": asdict(plan), "datasets": {outcome.name: outcome.as_dict() for outcome in outcomes}}
    shown = tuple(table for table in tables if table.rows)
    name = f"{NAME}_folds" if plan.folds else f"{NAME}_halves" if plan.halves else NAME
    return Document(name, "Label sets: who predicts the best ones", shown, (), numbers)


def metric_table(outcomes: Outcomes, metric: str, plan: BenchmarkPlan) -> ResultTable:
    """A row per method, the best first: the metric on every data set, mean and median over them."""
    methods = sorted(plan.methods, key=lambda method: -_mean(outcomes, method))
    rows = [(label_of(m), *_with_means([outcome.estimate(m, metric) for outcome in outcomes])) for m in methods]
    columns = ("method", *(outcome.name for outcome in outcomes), "mean", "median")
    split = f"{plan.folds}-fold cross-validation" if plan.folds else f"{plan.halves} random halves"
    split = "standard split" if plan.folds is plan.halves is None else split
    best = lowest(rows, highest=metric != "hamming")
    return ResultTable(f"{METRICS[metric]}, {split}", columns, tuple(rows), _note(metric, plan), best)


def _note(metric: str, plan: BenchmarkPlan) -> str:
    over = "test examples" if plan.folds is plan.halves is None else "folds" if plan.folds else "random halves"
    better = "less is better" if metric == "hamming" else "more is better"
    empty = "0, and sets are decided for that" if metric == "example_f1_zero" else "1"
    return (
        f"Mean and standard error over {over}; {better}. Preparation and C by held-out likelihood, one C for "
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


def rule_table(outcomes: Outcomes, methods: Sequence[str]) -> ResultTable:
    """For every base model the rules on its scores, then "auto" minus the best other rule of each data set."""
    rows: list[tuple[Cell, ...]] = []
    behind = []
    for base in PLAIN:
        here = [name for name in methods if group_of(name) == base]
        rows += [(label_of(name), *_with_means([o.estimate(name, MAIN) for o in outcomes])) for name in here]
        ours, others = f"{base}+auto", [name for name in here if name.partition("+")[2] not in OURS]
        if ours in here and others:
            best = [max(others, key=lambda name: o.estimate(name, MAIN).mean) for o in outcomes]
            found = [o.difference(ours, other, MAIN) for o, other in zip(outcomes, best, strict=True)]
            rows.append((f"**{label_of(ours)} - the best other rule**", *_with_means(found)))
            late = [o.name for o, one in zip(outcomes, found, strict=True) if -one.mean > (one.error or 0.0)]
            behind.append(f"{label_of(ours)}: {', '.join(late) or 'none'}")
    note = (
        "Rules decide from the same scores. The best other rule is picked for each data set by the numbers shown, "
        "which favours it. Errors of differences are of paired ones. "
        f"Behind the best other rule by more than one standard error: {'; '.join(behind) or 'none'}."
    )
    columns = ("rule", *(outcome.name for outcome in outcomes), "mean", "median")
    return ResultTable("example F1 of rules on the same scores", columns, tuple(rows), note)


def expected_table(outcomes: Outcomes, methods: Sequence[str]) -> ResultTable:
    """What `expected_score` says of the test parts without their labels, minus what is observed."""
    rows: list[tuple[Cell, ...]] = []
    covered = []
    for method in [name for name in methods if name == DEFAULT or name.endswith("+auto")]:
        cells = []
        for outcome in outcomes:
            said = [
                (run.expected, run.judgement.means[MAIN]) for run in outcome.of(method) if run.expected is not None
            ]
            cells.append(Estimate.of([expected.value - seen for expected, seen in said]))
            covered += [expected.low <= seen <= expected.high for expected, seen in said]
        rows.append((label_of(method), *_with_means(cells)))
    note = f"Intervals of 90 % cover the observed score in {sum(covered)} of {len(covered)} cases."
    columns = ("expected - observed", *(outcome.name for outcome in outcomes), "mean", "median")
    return ResultTable("What expected_score says without labels", columns, tuple(rows), note)


def _with_means(cells: Sequence[Estimate]) -> tuple[Cell, ...]:
    means = [cell.mean for cell in cells]
    return *cells, f"{np.mean(means):.3f}", f"{np.median(means):.3f}"


def tables_of_pages(outcomes: Outcomes, plan: BenchmarkPlan) -> dict[str, ResultTable]:
    """The tables that README and docs/evidence.md show, by the names of their files in docs/results."""
    if plan.folds is not None:
        rules, expected = rule_table(outcomes, plan.methods), expected_table(outcomes, plan.methods)
        return {"label_sets_folds": rules, "label_sets_expected": expected}
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
        against.append(f"{label_of(rival)}: ahead on {ahead}, level on {level}, behind on {behind}")
    note = (
        f"{', '.join(outcome.name for outcome in outcomes)}; bold: the best of a column. `SetDecisionCV()` by two "
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
