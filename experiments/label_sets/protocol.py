"""The benchmark on label sets: who predicts the best sets, when all choose C and thresholds on training data only?

For every data set and split the features are scaled on the training part, every method chooses on the same inner
folds of the training part (`ChosenLabelSets`), trains on all of it, and is judged on the test part once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from experiments.estimate import Estimate
from experiments.label_sets.chosen import ChosenLabelSets, SelectionSettings, UnitRows
from experiments.label_sets.data import DataSet, Split
from experiments.label_sets.decided import Decided, decided_sets, group_of, is_decided
from experiments.label_sets.kept import KeptRuns
from experiments.label_sets.methods import METHODS, make_method
from experiments.metrics import METRICS, Judgement, judge
from experiments.running import Progress, no_progress
from setloss.io import DatasetError
from setloss.typing import Array


@dataclass(frozen=True)
class BenchmarkPlan:
    """What to run: the methods, folds (None: the standard split), how all methods choose, and processes at a time."""

    methods: tuple[str, ...] = METHODS
    folds: int | None = None
    choice: SelectionSettings = field(default_factory=SelectionSettings)
    jobs: int = 1

    def __post_init__(self) -> None:
        for name in self.methods:
            if not is_decided(name):
                make_method(name, self.choice)
        if len(set(self.methods)) < len(self.methods):
            raise ValueError("a method is named twice; name each of them once")


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one split: how it was judged, what it chose, and how long choosing and training took.

    `expected` is the mean loss of the criterion that a model of the labels expected of its own predictions.
    """

    method: str
    split: int
    judgement: Judgement
    seconds: float
    chosen: dict[str, Any]
    expected: float | None = None


@dataclass(frozen=True, eq=False)
class DataSetOutcome:
    """All runs on one data set."""

    name: str
    shape: dict[str, float]
    runs: tuple[Run, ...]

    def of(self, method: str) -> list[Run]:
        """The runs of a method, in the order of the splits."""
        return sorted((run for run in self.runs if run.method == method), key=lambda run: run.split)

    def estimate(self, method: str, metric: str) -> Estimate:
        """Mean and standard error of a metric, or of "seconds"."""
        if metric == "seconds":
            return Estimate.of([run.seconds for run in self.of(method)])
        return Estimate.of(self._values(method, metric))

    def difference(self, method: str, reference: str, metric: str) -> Estimate:
        """Mean of method - reference, and the standard error of the paired differences."""
        return Estimate.of(self._values(method, metric) - self._values(reference, metric))

    def _values(self, method: str, metric: str) -> Array:
        """One value per fold; with a single test set one per example, if the metric is a mean over examples."""
        runs = self.of(method)
        if len(runs) == 1 and metric in runs[0].judgement.examples:
            return runs[0].judgement.examples[metric]
        return np.array([run.judgement.means[metric] for run in runs])

    def as_dict(self) -> dict[str, Any]:
        """JSON values: for every method the metrics, seconds and choices of every split, and the estimates."""
        methods: dict[str, Any] = {}
        for name in dict.fromkeys(run.method for run in self.runs):
            runs = self.of(name)
            methods[name] = {metric: self.estimate(name, metric).as_dict() for metric in (*METRICS, "seconds")}
            methods[name]["splits"] = [
                {**run.judgement.means, "seconds": run.seconds, "chosen": run.chosen, "expected_loss": run.expected}
                for run in runs
            ]
        return {"shape": self.shape, "methods": methods}


def run_data_set(
    data: DataSet, plan: BenchmarkPlan, progress: Progress = no_progress, file: Path | None = None
) -> DataSetOutcome:
    """Every method on every split; what comes out does not depend on the number of jobs.

    Runs that are in the `file` already are taken from it, others are added to it.
    """
    splits = data.splits(plan.folds, plan.choice.seed)
    if len(splits[0][0]) < plan.choice.folds:
        raise DatasetError(
            f"{data.name} has {len(splits[0][0])} training examples; {plan.choice.folds} inner folds need more"
        )
    groups: dict[str, list[str]] = {}
    for method in plan.methods:
        groups.setdefault(group_of(method), []).append(method)
    kept, runs, tasks = KeptRuns.of(file, data, plan), [], []
    for k, group in product(range(len(splits)), groups.values()):
        done = [run for run in (kept.get(method, k) for method in group) if run is not None]
        runs += done
        missing = [method for method in group if method not in {run.method for run in done}]
        if missing:
            tasks.append((k, tuple(missing)))
    count = len(splits) * len(plan.methods)
    progress(len(runs) / count, "beginning")
    for run in _each(data, splits, tasks, plan):
        kept.add(run)
        runs.append(run)
        progress(len(runs) / count, f"{run.method} done")
    sizes = data.Y.sum(axis=1)
    shape = {
        "examples": len(data.Y),
        "features": int(data.X.shape[1]),
        "labels": int(data.Y.shape[1]),
        "labels_per_example": float(sizes.mean()),
        "without_labels": int((sizes == 0).sum()),
    }
    return DataSetOutcome(
        data.name, shape, tuple(sorted(runs, key=lambda run: (run.split, plan.methods.index(run.method))))
    )


def _each(
    data: DataSet, splits: list[Split], tasks: Sequence[tuple[int, tuple[str, ...]]], plan: BenchmarkPlan
) -> Iterator[Run]:
    if plan.jobs == 1:
        for k, group in tasks:
            yield from run_group(data, splits[k], k, group, plan.choice)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=plan.jobs, return_as="generator_unordered")
    for runs in parallel(delayed(run_group)(data, splits[k], k, group, plan.choice) for k, group in tasks):
        yield from runs


def run_group(
    data: DataSet, split: Split, number: int, group: tuple[str, ...], choice: SelectionSettings
) -> list[Run]:
    """Methods that share a fit, or one alone: scale, choose and train on the training rows, judge on the test rows.

    The seconds of a shared fit count for each of its methods.
    """
    from threadpoolctl import threadpool_limits

    train, test = split
    began = time.perf_counter()
    # Threads of BLAS round differently, and that is enough to choose another C.
    with threadpool_limits(1):
        scaled = make_pipeline(*scaling(data.X)).fit(data.X[train])
        X, tested = scaled.transform(data.X[train]), scaled.transform(data.X[test])
        if is_decided(group[0]):
            found = decided_sets(group, X, data.Y[train], tested, choice)
        else:
            model = make_method(group[0], choice).fit(X, data.Y[train])
            found = {group[0]: Decided(model.predict(tested), None, _chosen(model))}
    seconds = time.perf_counter() - began
    return [
        Run(name, number, judge(data.Y[test], one.sets), seconds, one.chosen, one.expected)
        for name, one in found.items()
    ]


def scaling(X: Any) -> tuple[Any, Any]:
    """Mean 0 and deviation 1 for dense features, largest absolute value 1 for sparse ones; then rows of unit size."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    return MaxAbsScaler() if issparse(X) else StandardScaler(), UnitRows()


def _chosen(model: ChosenLabelSets) -> dict[str, Any]:
    """C, the rule's number, the operator and the gap reached, where there are any."""
    facts = {"C": float(model.C_), "cv_score": float(model.cv_score_)}
    learned = () if model.rule == "sign" else ("value", "k")
    rule = {name: getattr(model.rule_, name) for name in learned if hasattr(model.rule_, name)}
    operator = {"operator": model.scorer_.operator, "scale": model.scorer_.scale} if len(model.scorers) > 1 else {}
    gap = {"gap": float(model.scorer_.dual_gap_)} if hasattr(model.scorer_, "dual_gap_") else {}
    return facts | rule | operator | gap
