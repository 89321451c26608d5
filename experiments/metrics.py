"""How predicted label sets are judged: per example (F1, Jaccard, Hamming), and over all decisions (micro, macro F1).

Wherever a score reads 0/0, nothing was there and nothing was predicted: that is right and counts 1. Average ranks
compare methods over several data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from setloss.losses import Dice, loss_named
from setloss.typing import Array

METRICS = {
    "example_f1": "example F1",
    "example_jaccard": "example Jaccard",
    "hamming": "Hamming loss",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
}
CRITERIA = ("f1", "jaccard")
"""Scores of one example by which methods choose."""

LOWER_IS_BETTER = frozenset({"hamming", "seconds"})


@dataclass(frozen=True, eq=False)
class Judgement:
    """The metrics of one test set; `examples` has the value of every example where the metric is a mean of them."""

    means: dict[str, float]
    examples: dict[str, Array] = field(repr=False)


def judge(truth: NDArray[np.int8], predicted: NDArray[np.int8]) -> Judgement:
    """All metrics of label sets (n, p) in {0, 1}."""
    true, said = np.asarray(truth) == 1, np.asarray(predicted) == 1
    missed, alarms, positives = (flags.sum(axis=0) for flags in (true & ~said, said & ~true, true))
    examples = {
        "example_f1": of_examples("f1", true, said),
        "example_jaccard": of_examples("jaccard", true, said),
        "hamming": (true != said).mean(axis=1),
    }
    means = {name: float(values.mean()) for name, values in examples.items()}
    means["micro_f1"] = 1.0 - float(Dice().value(missed.sum(), alarms.sum(), positives.sum(), 0))
    means["macro_f1"] = 1.0 - float(Dice().value(missed, alarms, positives, 0).mean())
    return Judgement(means, examples)


def of_examples(criterion: str, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
    """The score of every row of two boolean arrays (n, p): one minus the loss of that name."""
    return 1.0 - np.asarray(loss_named(criterion)(truth, predicted))


def average_ranks(results: Mapping[str, Mapping[str, float]], *, lower_is_better: bool = False) -> dict[str, float]:
    """The mean rank of every method from ``results[data set][method]``; all data sets must have the same methods."""
    tables = list(results.values())
    methods = list(tables[0]) if tables else []
    if any(set(table) != set(methods) for table in tables):
        raise ValueError("ranks compare the same methods on every data set; some results are missing")
    values: Array = np.array([[table[method] for method in methods] for table in tables]).reshape(len(tables), -1)
    ranks = rankdata(values if lower_is_better else -values, axis=1).mean(axis=0) if tables else []
    return {method: float(rank) for method, rank in zip(methods, ranks, strict=True)}
