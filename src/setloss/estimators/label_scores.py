"""Scores of labels from any classifier: log-odds of `predict_proba` in any of its forms, or `decision_function`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags

from setloss.estimators.elements import refuse_text
from setloss.typing import Array

LEAST_CHANCE = 1e-6
"""Probabilities are moved into [this, 1 - this] before their log-odds are taken, unless a coarser floor is known."""


@dataclass(frozen=True, eq=False)
class LabelScorer:
    """A fitted classifier of those labels that vary in its training data, and log-odds for the others."""

    estimator: Any
    varying: NDArray[np.intp]
    constants: Array

    def outputs(self, X: Any) -> tuple[Array, bool]:
        """Probabilities of the labels that vary (n, v), or their scores, and whether they are probabilities."""
        return label_outputs(self.estimator, X, len(self.varying))

    def spread(self, scores: Array) -> Array:
        """Scores (n, p) of all labels from those of the ones that vary."""
        found = np.tile(self.constants, (len(scores), 1))
        found[:, self.varying] = scores
        return found


def fit_scorer(estimator: Any, X: Any, Y: NDArray[Any], rows: NDArray[np.intp] | None, params: Any) -> LabelScorer:
    """Train a copy of the estimator on some rows of X and Y (n, p); labels of one value are left out.

    Rare labels are constant in a fold now and then, and many classifiers refuse those; their score is the log-odds of
    half an example.
    """
    part = Y if rows is None else Y[rows]
    known = ~np.isnan(part) if part.dtype.kind == "f" else np.ones(part.shape, dtype=bool)
    positives, totals = (known & (part == 1)).sum(axis=0), known.sum(axis=0)
    varying = np.flatnonzero((positives > 0) & (positives < totals))
    if not len(varying):
        raise ValueError("y has only one class in the training part of a fold; use fewer folds, or more data")
    odds = np.log(2.0 * totals + 1)
    constants = np.where(positives == 0, -odds, odds)
    target = part[:, varying[0]] if len(varying) == 1 else part[:, varying]
    features = X if rows is None else _safe_indexing(X, rows)
    try:
        fitted = clone(estimator).fit(features, target, **params)
    except (ValueError, TypeError) as error:
        _explain(error, estimator, features, target)
        raise
    return LabelScorer(fitted, varying, constants)


def _explain(error: ValueError | TypeError, estimator: Any, X: Any, target: NDArray[Any]) -> None:
    """Raise a clearer error where the cause is known: missing labels, several labels for one, dates or text in X."""
    who = type(estimator).__name__
    if target.dtype.kind == "f" and np.isnan(target).any():
        raise ValueError(
            f"y has missing labels, and {who} takes none: {error} SetDecisionCV(SetClassifier()) does."
        ) from error
    tags = get_tags(estimator)
    if target.ndim == 2 and not (tags.target_tags.multi_output or getattr(tags.classifier_tags, "multi_label", True)):
        raise ValueError(
            f"{who} learns one label and y has {target.shape[1]}. Train one for each: "
            f"sklearn.multiclass.OneVsRestClassifier({who}(...))."
        ) from error
    refuse_text(X, error)


def label_outputs(estimator: Any, X: Any, labels: int) -> tuple[Array, bool]:
    """Probabilities (n, labels), or scores where the classifier has none, and whether they are probabilities."""
    if hasattr(estimator, "predict_proba"):
        return _shaped(_positive_chances(estimator, estimator.predict_proba(X), labels), labels, estimator), True
    if hasattr(estimator, "decision_function"):
        return _shaped(np.asarray(estimator.decision_function(X), dtype=np.float64), labels, estimator), False
    raise TypeError(
        f"{type(estimator).__name__} has neither predict_proba nor decision_function; decisions need scores of labels"
    )


def log_odds(chances: Array, floor: float) -> Array:
    """Log p / (1 - p), with p moved into [floor, 1 - floor]."""
    kept = np.clip(chances, floor, 1 - floor)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def coarse_floor(chances: Array) -> float:
    """Half of the smallest chance above 0: what 0 stands for in a forest, whose trees vote in whole numbers."""
    above = chances[chances > 0]
    return float(np.clip(above.min() / 2, LEAST_CHANCE, 1e-2)) if above.size else LEAST_CHANCE


def _positive_chances(estimator: Any, found: Any, labels: int) -> Array:
    """The probability of 1, from a list of (n, 2), an array (n, p, 2), (n, p), or (n, 2) for one label."""
    if isinstance(found, list):
        classes = estimator.classes_ if labels > 1 or isinstance(estimator.classes_, list) else [estimator.classes_]
        return np.column_stack([_second(part, of) for part, of in zip(found, classes, strict=True)])
    array = np.asarray(found, dtype=np.float64)
    if array.ndim == 3:
        return np.asarray(array[:, :, -1])
    return np.asarray(array[:, 1:]) if labels == 1 and array.shape[1:] == (2,) else array


def _second(chances: Any, classes: Any) -> Array:
    """The column of the larger of two classes; with one class, 1 or 0."""
    array = np.asarray(chances, dtype=np.float64)
    if array.shape[1] == 1:
        return np.full(len(array), float(np.ravel(classes)[0] == 1))
    return np.asarray(array[:, 1])


def _shaped(scores: Array, labels: int, estimator: Any) -> Array:
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.ndim != 2 or scores.shape[1] != labels:
        raise ValueError(
            f"{type(estimator).__name__} gives scores of shape {scores.shape} for {labels} labels; it must be a "
            "multi-label classifier such as OneVsRestClassifier(LogisticRegression())"
        )
    return scores
