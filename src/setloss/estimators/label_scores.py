"""Scores of labels from any classifier, on examples it was not trained on.

Scores are log-odds of `predict_proba` in any of its forms, or `decision_function` where there is none. Labels are
handed to classifiers as int32, for scikit-learn numbers columns in the type of y and int8 ends at 127.
`LabelwiseClassifier` is a binary classifier for each label, trained where it is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples, has_fit_parameter

from setloss.decisions.scores import LARGEST, ROUNDING, as_numbers, odds_of_certainty, without_certainty
from setloss.estimators.features import refuse_text
from setloss.estimators.labels import LabelMatrix
from setloss.estimators.set_layout import Split
from setloss.typing import Array

Rows = NDArray[np.intp]

MOST_SCORES = 2_000_000
"""Scores that a classifier is asked for at a time."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted classifier of those labels that vary in its training data, and log-odds for the others.

    `certainty` is the log-odds that probabilities of 1, and infinite scores, count as.
    """

    estimator: Any
    varying: Rows
    constants: Array
    certainty: float = LARGEST

    def scores(self, X: Any) -> Array:
        """Scores (n, p) of all labels, asked for in chunks of bounded size."""
        n, p = _num_samples(X), len(self.constants)
        step = max(1, MOST_SCORES // p)
        if n <= step:
            return self.spread(self.outputs(X))
        parts = (_safe_indexing(X, np.arange(i, min(i + step, n))) for i in range(0, n, step))
        return np.concatenate([self.spread(self.outputs(part)) for part in parts])

    def outputs(self, X: Any) -> tuple[Array, bool]:
        """Probabilities of the labels that vary (n, v), or their scores, and whether they are probabilities."""
        return label_outputs(self.estimator, X, len(self.varying))

    def spread(self, outputs: tuple[Array, bool]) -> Array:
        """Scores (n, p) of all labels from outputs of the ones that vary."""
        values = without_certainty(*outputs, self.certainty)
        if len(self.varying) == len(self.constants):
            return values
        scores = np.tile(self.constants, (len(values), 1))
        scores[:, self.varying] = values
        return scores


Outputs = tuple[Rows, Scorer, tuple[Array, bool]]
"""Held-out rows, the scorer that was not trained on them without its classifier, and what it says of them."""


def fit_scorer(estimator: Any, X: Any, labels: LabelMatrix, rows: Rows | None, params: Any) -> Scorer:
    """Train a copy of the estimator on some rows of X and of labels; labels of one value are left out.

    Rare labels are constant in a fold now and then, and many classifiers refuse those; their score is the log-odds of
    half an example.
    """
    part = labels if rows is None else labels.part(rows)
    positives, totals = part.positive.sum(axis=0), part.known.sum(axis=0)
    varying = np.flatnonzero((positives > 0) & (positives < totals))
    if not len(varying):
        raise ValueError("y has only one class in the training part of a fold; use fewer folds, or more data")
    odds = np.log(2.0 * totals + 1)
    constants = np.where(positives == 0, -odds, odds)
    target = (part if len(varying) == len(totals) else part.part(slice(None), varying)).numbers
    if len(varying) == 1:
        target = target[:, 0]
    features = X if rows is None else _safe_indexing(X, rows)
    try:
        fitted = clone(estimator).fit(features, target, **params)
    except (ValueError, TypeError) as error:
        _explain(error, estimator, features, target)
        raise
    return Scorer(fitted, varying, constants)


def out_of_fold(
    estimator: Any, X: Any, labels: LabelMatrix, splits: Sequence[Split], params: Any, n_jobs: int | None
) -> Iterator[Outputs]:
    """What copies of the estimator say of rows that they were not trained on, fold by fold."""
    outputs_of_folds = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_outputs_of_fold)(estimator, X, labels, train, test, params) for train, test in splits
    )
    return ((test, *outputs) for (_, test), outputs in zip(splits, outputs_of_folds, strict=True))


def _outputs_of_fold(
    estimator: Any, X: Any, labels: LabelMatrix, train: Rows, test: Rows, params: dict[str, Any]
) -> tuple[Scorer, tuple[Array, bool]]:
    scorer = fit_scorer(estimator, X, labels, train, _check_method_params(X, params, train))
    outputs = scorer.outputs(_safe_indexing(X, test))
    return replace(scorer, estimator=None), outputs  # the trees of all folds at a time would fill the memory


def gathered(outputs: Sequence[Outputs]) -> tuple[Rows, Array, float]:
    """Held-out rows in rising order, their scores (n, p), and the log-odds that certainty counts as."""
    certainty = max(odds_of_certainty(*said) for _, _, said in outputs)
    rows = np.sort(np.concatenate([rows for rows, _, _ in outputs]))
    scores = np.empty((len(rows), len(outputs[0][1].constants)))
    for some, one, said in outputs:
        scores[np.searchsorted(rows, some)] = replace(one, certainty=certainty).spread(said)
    return rows, scores, certainty


def _explain(error: ValueError | TypeError, estimator: Any, X: Any, target: Any) -> None:
    """Raise a clearer error where the cause is known: missing labels, several labels for one, dates or text in X."""
    who = type(estimator).__name__
    if target.dtype.kind == "f" and np.isnan(target).any():
        raise ValueError(
            f"y has missing labels, and {who} takes none: {error} "
            "SetDecisionCV() and SetDecisionCV(SetClassifier()) do."
        ) from error
    tags = get_tags(estimator)
    if target.ndim == 2 and not (tags.target_tags.multi_output or getattr(tags.classifier_tags, "multi_label", True)):
        raise ValueError(
            f"{who} learns one label and y has {target.shape[1]}. Train one for each: "
            f"sklearn.multiclass.OneVsRestClassifier({who}(...))."
        ) from error
    refuse_text(X, error)


def accepted(estimator: Any, offered: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """What `fit` takes of the offered parameters, under its names; pipelines hand them to their last step."""
    for step, last in getattr(estimator, "steps", ())[-1:]:
        return accepted(last, offered, f"{prefix}{step}__")
    return {prefix + name: value for name, value in offered.items() if has_fit_parameter(estimator, name)}


# -------------------------------------------------------------------- what classifiers say


def label_outputs(estimator: Any, X: Any, labels: int) -> tuple[Array, bool]:
    """Probabilities (n, labels), or scores where the classifier has none, and whether they are probabilities."""
    who, are_chances = type(estimator).__name__, hasattr(estimator, "predict_proba")
    if are_chances:
        outputs = _positive_chances(estimator, estimator.predict_proba(X), labels)
    elif hasattr(estimator, "decision_function"):
        outputs = np.asarray(estimator.decision_function(X), dtype=np.float64)
    else:
        raise TypeError(f"{who} has neither predict_proba nor decision_function; decisions need scores of labels")
    outputs = outputs[:, None] if outputs.ndim == 1 else outputs
    if outputs.ndim != 2 or outputs.shape[1] != labels:
        raise ValueError(
            f"{who} gives scores of shape {outputs.shape} for {labels} labels; it must be a multi-label classifier "
            "such as OneVsRestClassifier(LogisticRegression())"
        )
    outputs = as_numbers(outputs, f"scores of {who}")
    if are_chances and outputs.size and (outputs.min() < -ROUNDING or outputs.max() > 1 + ROUNDING):
        raise ValueError(
            f"predict_proba of {who} gives numbers from {outputs.min():.4g} to {outputs.max():.4g}, not from 0 to 1"
        )
    return np.clip(outputs, 0, 1) if are_chances else outputs, are_chances


def _positive_chances(estimator: Any, said: Any, labels: int) -> Array:
    """The probability of 1, from a list of (n, 2), an array (n, p, 2), (n, p), or (n, 2) for one label."""
    if isinstance(said, list):
        classes = estimator.classes_ if labels > 1 or isinstance(estimator.classes_, list) else [estimator.classes_]
        return np.column_stack([_second(part, of) for part, of in zip(said, classes, strict=True)])
    array = np.asarray(said, dtype=np.float64)
    if array.ndim == 3:
        return np.asarray(array[:, :, -1])
    return np.asarray(array[:, 1:]) if labels == 1 and array.shape[1:] == (2,) else array


def _second(chances: Any, classes: Any) -> Array:
    """The column of the larger of two classes; with one class, 1 or 0."""
    array = np.asarray(chances, dtype=np.float64)
    if array.shape[1] == 1:
        return np.full(len(array), float(np.ravel(classes)[0] == 1))
    return np.asarray(array[:, 1])


# -------------------------------------------------------------------- a classifier for each label


class LabelwiseClassifier(MultiOutputClassifier):
    """`MultiOutputClassifier` that takes missing labels: each is left out of the training of its own classifier."""

    def fit(self, X: Any, Y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Train on X (n, d) and labels Y (n, p) or (n,) in {0, 1}, NaN where one is missing."""
        Y = Y[:, None] if Y.ndim == 1 else Y
        weights = None if sample_weight is None else np.asarray(sample_weight)
        self.estimators_ = []
        for labels in Y.T:
            part, given, known = X, weights, ~np.isnan(labels)
            if not known.all():
                part, given = _safe_indexing(X, np.flatnonzero(known)), None if weights is None else weights[known]
            weighted = {} if given is None else {"sample_weight": given}
            target = labels[known].astype(np.int64)
            self.estimators_.append(clone(self.estimator).fit(part, target, **weighted, **params))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        self.classes_ = [one.classes_ for one in self.estimators_]
        return self
