"""What a predicted label set is worth: F1 or Jaccard of one example, from counts; 0/0 (empty and right) counts 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.typing import Array

CRITERIA = ("f1", "jaccard")


def worth(criterion: str, hits: Any, predicted: Any, positives: Any) -> Array:
    """F1 = 2 hits / (predicted + positives), Jaccard = hits / (predicted + positives - hits); arrays broadcast."""
    if criterion not in CRITERIA:
        raise ValueError(f"there is no criterion {criterion!r}; the names are {', '.join(CRITERIA)}")
    hits, size = np.asarray(hits, dtype=np.float64), np.asarray(predicted) + np.asarray(positives)
    top, bottom = (2 * hits, size) if criterion == "f1" else (hits, size - hits)
    return np.where(bottom == 0, 1.0, top / np.where(bottom == 0, 1.0, bottom))


def of_examples(criterion: str, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
    """The worth of every row of two boolean arrays (n, p)."""
    return worth(criterion, (truth & predicted).sum(axis=1), predicted.sum(axis=1), truth.sum(axis=1))


def of_top_labels(criterion: str, truth: NDArray[np.bool_], scores: Array) -> tuple[NDArray[np.intp], Array]:
    """Labels of every example by falling score, and the worth (n, p + 1) of predicting the first 0, 1, ..., p."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.cumsum(np.take_along_axis(truth, order, axis=1), axis=1)
    hits = np.concatenate([np.zeros((len(hits), 1), dtype=hits.dtype), hits], axis=1)
    return order, worth(criterion, hits, np.arange(scores.shape[1] + 1), truth.sum(axis=1, keepdims=True))
