"""Every base model with every rule, on the same held-out scores: ``linear+counts``, ``trees+threshold``, ...

A base model is trained once for each split; its rules share the scores. ``counts`` alone is `CountClassifierCV`, a
linear model of the labels and their number together. ``slack`` is `SetClassifierCV` with ``decision=``: trained for
the set and decided for the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from experiments.label_sets.chosen import SelectionSettings
from experiments.style import Style
from setloss.losses import as_loss

JOINT = "counts"
BASES = {
    "linear": Style("logistic", "#0072b2", "o"),
    "trees": Style("extra trees", "#009e73", "s"),
    "boosting": Style("boosting", "#d55e00", "^"),
    "slack": Style("slack", "#cc79a7", "v"),
}
RULES = ("counts", "auto", "plug-in", "threshold", "top-k")
OURS = ("counts", "auto")
"""Rules that others do not have."""

NAMES = (JOINT, *(f"{base}+{rule}" for base in BASES for rule in RULES))


@dataclass(frozen=True, eq=False)
class Decided:
    """The predictions for the test part, the mean loss that the model expects of them, and what was chosen."""

    sets: NDArray[Any] = field(repr=False)
    expected: float | None
    chosen: dict[str, Any]


def is_decided(name: str) -> bool:
    """Whether this is a name of a base model with a rule, or of the joint model."""
    return name in NAMES


def group_of(name: str) -> str:
    """The group of a method: methods of one base model share a fit and a group, any other is a group of its own."""
    return name.partition("+")[0] if is_decided(name) else name


def style_of_decided(name: str) -> Style:
    """How it is drawn and called."""
    if name == JOINT:
        return Style("count model, linear", "#0072b2", "D")
    base, _, rule = name.partition("+")
    style = BASES[base]
    return Style(f"{style.label} + {rule.replace('-', ' ') if rule == 'top-k' else rule}", style.colour, style.marker)


def decided_sets(
    names: Sequence[str], X: Any, Y: NDArray[Any], test: Any, choice: SelectionSettings
) -> dict[str, Decided]:
    """Train the model that these methods of one group share on X and Y; then let each of them decide for `test`."""
    splits = KFold(choice.folds, shuffle=True, random_state=choice.seed)
    if tuple(names) == (JOINT,):
        from setloss.estimators import CountClassifierCV

        joint = CountClassifierCV(choice.criterion, cv=splits).fit(X, Y)
        return {JOINT: Decided(joint.predict(test), float(joint.expected_loss(test).mean()), {"C": joint.C_})}
    base = group_of(names[0])
    model = (slack_model if base == "slack" else _wrapped)(base, choice, splits).fit(X, Y)
    best, held_out = model.learner_.chosen(as_loss(choice.criterion))
    chosen = {"auto": {"rule": best, "held_out": {k: v[0] for k, v in held_out.items()}}}
    found = {}
    for name in names:
        rule = name.partition("+")[2]
        model.set_params(**{"decision" if base == "slack" else "rule": rule})
        found[name] = Decided(model.predict(test), float(model.expected_loss(test).mean()), chosen.get(rule, {}))
    return found


SLACK_CS = (1.0, 10.0, 100.0)


def slack_model(base: str, choice: SelectionSettings, splits: Any) -> Any:
    """A linear model trained for the loss by slack rescaling; its folds choose C and hold out the scores."""
    from setloss.estimators import SetClassifierCV

    limits: dict[str, Any] = {"tol": choice.tol, "max_iter": 200, "intercept_scaling": 1.0}
    return SetClassifierCV(choice.criterion, base, Cs=SLACK_CS, cv=splits, scale=1.0, **limits)


def _wrapped(base: str, choice: SelectionSettings, splits: Any) -> Any:
    from setloss.estimators import SetDecisionCV

    return SetDecisionCV(Remembering(base_model(base, choice)), choice.criterion, rule="auto", cv=splits)


def base_model(base: str, choice: SelectionSettings) -> Any:
    """An unfitted multi-label classifier for features of mean squared norm 1."""
    if base == "linear":
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier

        return OneVsRestClassifier(LogisticRegression(C=10.0, max_iter=1000))
    if base == "trees":
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(choice.trees, random_state=0)
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.multioutput import MultiOutputClassifier

    small = HistGradientBoostingClassifier(max_iter=choice.rounds, max_leaf_nodes=8, max_features=0.3, random_state=0)
    return make_pipeline(Dense(), MultiOutputClassifier(small))


class Remembering(ClassifierMixin, BaseEstimator):
    """A multi-label classifier that computes the probabilities of the same X once, for all rules."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Remembering:
        """Train a copy of the classifier."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        self._asked: Any = None
        return self

    def predict_proba(self, X: Any) -> Any:
        """Those of the classifier."""
        if X is not self._asked:
            self._asked, self._answer = X, self.estimator_.predict_proba(X)
        return self._answer


class Dense(TransformerMixin, BaseEstimator):
    """Sparse features as an array, for models that take no others."""

    def fit(self, X: Any, y: Any = None) -> Dense:
        """Nothing to learn."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """X as an array."""
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
