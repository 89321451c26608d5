"""How predicted label sets are judged: per example (F1, Jaccard, Hamming), and over all decisions (micro, macro F1).

Wherever a score reads 0/0, nothing was there and nothing was predicted: that is right and counts 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from setloss.reproduction.criteria import of_examples, worth
from setloss.typing import Array

METRICS = {
    "example_f1": "example F1",
    "example_jaccard": "example Jaccard",
    "hamming": "Hamming loss",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
}
LOWER_IS_BETTER = frozenset({"hamming", "seconds"})


@dataclass(frozen=True, eq=False)
class Judgement:
    """The metrics of one test set; `examples` has the value of every example where the metric is a mean of them."""

    means: dict[str, float]
    examples: dict[str, Array] = field(repr=False)


def judge(truth: NDArray[np.int8], predicted: NDArray[np.int8]) -> Judgement:
    """All metrics of label sets (n, p) in {0, 1}."""
    true, said = np.asarray(truth) == 1, np.asarray(predicted) == 1
    hits = (true & said).sum(axis=0)
    examples = {
        "example_f1": of_examples("f1", true, said),
        "example_jaccard": of_examples("jaccard", true, said),
        "hamming": (true != said).mean(axis=1),
    }
    means = {name: float(values.mean()) for name, values in examples.items()}
    means["micro_f1"] = float(worth("f1", hits.sum(), said.sum(), true.sum()))
    means["macro_f1"] = float(worth("f1", hits, said.sum(axis=0), true.sum(axis=0)).mean())
    return Judgement(means, examples)
