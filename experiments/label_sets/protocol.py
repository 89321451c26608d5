"""The benchmark on label sets: who predicts the best sets, when all choose C and thresholds on training data only?

For every data set and split the features are scaled on the training part, every method chooses on the same inner
folds of the training part, trains on all of it, and is judged on the test part once. Wherever a score reads 0/0,
nothing was there and nothing was predicted: that is right and counts 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import NDArray

from experiments.document import Estimate
from experiments.label_sets.methods import (
    LOSSES,
    METHODS,
    check_method,
    decided_alone,
    decided_sets,
    scores_of,
)
from experiments.label_sets.tuning import Choices
from experiments.loaders import DataSet
from experiments.protocol import Array, in_parallel, log
from setloss.io import DatasetError

METRICS = {"example_f1": "example F1", "example_f1_zero": "example F1, 0/0 = 0"}


def judge(truth: NDArray[Any], predicted: NDArray[Any], for_zero: NDArray[Any]) -> dict[str, Array]:
    """The scores of examples whose means are the metrics, for label sets (n, p) in {0, 1}.

    `for_zero` are sets that are decided where 0/0 scores 0.
    """
    sets = (predicted, for_zero)
    return {
        metric: 1.0 - np.asarray(loss(np.asarray(truth) == 1, np.asarray(said) == 1))
        for metric, loss, said in zip(METRICS, LOSSES, sets, strict=True)
    }


@dataclass(frozen=True)
class BenchmarkPlan:
    """What to run: methods, the number of random halves (else the standard split), and choices."""

    methods: tuple[str, ...] = METHODS
    halves: int | None = None
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        for name in self.methods:
            check_method(name)


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one split: how it was judged, and what it chose."""

    method: str
    split: int
    scores: dict[str, Array] = field(repr=False)
    chosen: dict[str, Any]


@dataclass(frozen=True, eq=False)
class DataSetOutcome:
    """All runs on one data set."""

    name: str
    runs: tuple[Run, ...]

    def of(self, method: str) -> list[Run]:
        """The runs of a method, in the order of the splits."""
        return [run for run in self.runs if run.method == method]

    def estimate(self, method: str, metric: str) -> Estimate:
        """Mean and standard error of a metric."""
        return Estimate.of(self._values(method, metric))

    def difference(self, method: str, reference: str, metric: str) -> Estimate:
        """Mean of method - reference, and the standard error of the paired differences."""
        return Estimate.of(self._values(method, metric) - self._values(reference, metric))

    def _values(self, method: str, metric: str) -> Array:
        """Those of all test examples of all splits; random halves share some of their examples."""
        return np.concatenate([run.scores[metric] for run in self.of(method)])

    def as_dict(self) -> dict[str, Any]:
        """JSON values: for every method the metrics and choices of every split, and the estimates."""
        methods: dict[str, Any] = {}
        for name in dict.fromkeys(run.method for run in self.runs):
            methods[name] = {metric: self.estimate(name, metric).as_dict() for metric in METRICS}
            methods[name]["chosen"] = [run.chosen for run in self.of(name)]
        return {"methods": methods}


def run_data_set(data: DataSet, plan: BenchmarkPlan, folder: Path | None = None) -> DataSetOutcome:
    """Every method on every split; what comes out does not depend on the number of processes.

    With a folder, what was trained is kept there and not trained again: scores of base models, sets of other methods.
    An interrupted command goes on, pieces add up, and rules are compared again in seconds.
    """
    splits = data.splits(plan.halves, plan.choices.seed)
    if len(splits[0][0]) < plan.choices.folds:
        raise DatasetError(f"{data.name} has {len(splits[0][0])} training examples, too few for the inner folds")
    groups: dict[str, list[str]] = {}
    for method in plan.methods:
        groups.setdefault(method.partition("+")[0], []).append(method)
    memory = Memory(folder, verbose=0)
    tasks = list(product(range(len(splits)), groups.values()))
    calls = [(data, splits[k], k, tuple(group), plan.choices, memory) for k, group in tasks]
    runs: list[Run] = []
    for found in in_parallel(run_group, calls):
        runs += found
        log.info("%s, split %d: %s", data.name, found[0].split + 1, ", ".join(run.method for run in found))
    return DataSetOutcome(data.name, tuple(runs))


def run_group(
    data: DataSet, split: Any, number: int, group: tuple[str, ...], choices: Choices, memory: Memory
) -> list[Run]:
    """Methods that share a base model, or one alone."""
    train, test = split
    base, _, rule = group[0].partition("+")
    parts = data.X[train], data.Y[train], data.X[test]
    trained = memory.cache(scores_of if rule else decided_alone)(base, *parts, choices)
    found = decided_sets(group, trained, data.Y[train]) if rule else {base: trained}
    return [Run(name, number, judge(data.Y[test], *one.sets), one.chosen) for name, one in found.items()]
