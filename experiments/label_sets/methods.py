"""The methods of the label-set benchmark by name.

``BASE+RULE`` is a scorer and a rule. The bases are "linear" (a logistic regression per label, one C of largest
held-out likelihood), "trees" (extremely randomised), and linear models trained for the set (`OPERATORS`), whose C has
the least held-out loss. The rules are those of `SetDecision`, all learned from the same held-out scores; "half" is
the cut at 1/2, the sign. "default" is ``SetDecisionCV()``; rivals are in `experiments.baselines`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from experiments.baselines import RIVALS
from setloss.decisions.held_out import HeldOut, numbered_folds
from setloss.decisions.rules import RuleLearner, count_loss
from setloss.estimators import SetClassifier, SetClassifierCV, SetDecisionCV
from setloss.losses import loss_named
from setloss.typing import Array

DEFAULT = "default"
OPERATORS = {
    "slack": ("f1", "slack", 1.0),
    "bd": ("f1", "bd", 2.0),
    "bd-monotone": ("f1", "bd-monotone", 2.0),
    "lovasz": ("jaccard", "lovasz", 2.0),
    "hinge": ("f1", "hinge", 2.0),
}
"""Loss, operator and scale of linear models."""

PLAIN = ("linear", "trees")
RULES = ("half", "plug-in", "threshold", "top-k", "counts", "auto")
OURS = ("counts", "auto")
"""Rules that others do not have."""

METHODS = (DEFAULT, *(f"{base}+{rule}" for base in PLAIN for rule in RULES), *RIVALS)
"""What a run without `methods` compares."""

LABELS = {
    DEFAULT: "SetDecisionCV()",
    "gfm": "GFM, p^2 + 1 models",
    "pcc": "chain, F rule on samples (PCC)",
    "metalabeler": "MetaLabeler",
    "smoothed-thresholds": "a smoothed threshold per label",
    "linear": "logistic",
    "trees": "extra trees",
}


@dataclass(frozen=True)
class Choices:
    """How every method chooses: the criterion ("f1" or "jaccard"), inner folds, how many trees; gap of operators.

    Values of C are for features of mean squared norm 1 (`UnitRows`).
    """

    criterion: str = "f1"
    folds: int = 5
    seed: int = 0
    trees: int = 300
    Cs: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
    Cs_of_rivals: tuple[float, ...] = (1.0, 10.0, 100.0)
    tol: float = 1e-2

    def splits(self, n: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The inner folds, the same for all methods."""
        return list(KFold(self.folds, shuffle=True, random_state=self.seed).split(np.empty(n)))


class Decided(NamedTuple):
    """Predictions for the test part, and what was chosen."""

    sets: NDArray[Any]
    chosen: dict[str, Any]


def check_method(name: str) -> None:
    """Refuse a name that is none of a method."""
    base, _, rule = name.partition("+")
    if name != DEFAULT and name not in RIVALS and not (rule in RULES and base in (*PLAIN, *OPERATORS)):
        raise ValueError(
            f"there is no method {name!r}; they are {DEFAULT}, {', '.join(RIVALS)}, and BASE+RULE with the bases "
            f"{', '.join((*PLAIN, *OPERATORS))} and the rules {', '.join(RULES)}"
        )


def group_of(name: str) -> str:
    """What is trained once for several methods: the base, or the method itself."""
    return name.partition("+")[0]


def is_ours(name: str) -> bool:
    """Whether a method decides by counts, or is trained for the set."""
    base, _, rule = name.partition("+")
    return name == DEFAULT or rule in OURS or base in OPERATORS


def label_of(name: str) -> str:
    """What a method is called."""
    base, plus, rule = name.partition("+")
    return LABELS.get(base, base) + (f" + {rule}" if plus else "")


# ---------------------------------------------------------------- deciding


def decided_sets(names: Sequence[str], X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> dict[str, Decided]:
    """Train what these methods of one group share on X and Y; then let each of them decide for `test`."""
    group = group_of(names[0])
    if group == DEFAULT:
        return {group: _default(X, Y, test, choices)}
    if group in RIVALS:
        return {group: _rival(group, X, Y, test, choices)}
    held_out, scores, chosen = _scores(group, X, Y, test, choices)
    loss = count_loss(loss_named(choices.criterion))
    everything = np.ones(Y.shape, dtype=bool), np.ones(len(Y)), numbered_folds(None, len(Y))
    learner = RuleLearner.of(HeldOut(held_out, Y == 1, *everything))  # one for all rules; SetDecision has its own
    found = {}
    for name in names:
        rule = name.partition("+")[2]
        taken = learner.choose(learner.judged(learner.names, loss)) if rule == "auto" else rule
        found[name] = Decided(learner.rule(taken, loss).sets(scores, loss), chosen | {"rule": taken})
    return found


def _default(X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Decided:
    model = SetDecisionCV(None, choices.criterion, cv=choices.splits(len(Y))).fit(X, Y)
    chosen = {"estimator": " ".join(str(model.estimator_).split()), "rule": model.decision_.rule_name_}
    return Decided(model.predict(test), chosen)


def _rival(name: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Decided:
    """A rival, its C by the criterion on three folds."""
    loss = loss_named(choices.criterion)

    def scoring(model: Any, X: Any, Y: NDArray[Any]) -> float:
        return 1 - float(np.mean(loss(Y == 1, model.predict(X) == 1)))

    folds = KFold(3, shuffle=True, random_state=choices.seed)
    search = GridSearchCV(RIVALS[name](), {"C": list(choices.Cs_of_rivals)}, scoring=scoring, cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, Y)
    return Decided(search.predict(test), {"C": search.best_params_["C"]})


# ---------------------------------------------------------------- scores


def _scores(group: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> tuple[Array, Array, dict[str, Any]]:
    """Held-out scores of the training part and scores of the test part, by the model that the group names."""
    splits, chosen = choices.splits(len(Y)), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are constant in a fold, gaps that are part of the result
        if group == "linear":
            C, held_out = _likeliest(X, Y, splits, choices)
            return held_out, log_odds(base_model(group, choices, C).fit(X, Y), test), {"C": C}
        if group in OPERATORS:
            loss, operator, scale = OPERATORS[group]
            options: dict[str, Any] = {"scale": scale, "tol": choices.tol, "Cs": choices.Cs_of_rivals, "cv": splits}
            chosen = {"C": float(SetClassifierCV(loss, operator, **options).fit(X, Y).C_)}
        model = base_model(group, choices, chosen.get("C", 1.0))
        return held_out_scores(model, X, Y, splits), log_odds(clone(model).fit(X, Y), test), chosen


def _likeliest(X: Any, Y: NDArray[Any], splits: list[Any], choices: Choices) -> tuple[float, Array]:
    """The C of largest held-out likelihood, ascending until it falls, and its held-out scores."""
    found: tuple[float, Array] | None = None
    least = np.inf
    for C in choices.Cs:
        held_out = held_out_scores(base_model("linear", choices, C), X, Y, splits)
        loss = log_loss(Y.ravel(), expit(held_out).ravel(), labels=[0, 1])
        if found is not None and loss >= least:
            break
        found, least = (C, held_out), loss
    assert found is not None
    return found


def base_model(group: str, choices: Choices, C: float = 10.0) -> Any:
    """An unfitted multi-label classifier for features of mean squared norm 1."""
    if group == "linear":
        return OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000))
    if group == "trees":
        return ExtraTreesClassifier(choices.trees, random_state=choices.seed)
    loss, operator, scale = OPERATORS[group]
    return SetClassifier(loss, operator, scale=scale, C=C, tol=choices.tol, random_state=choices.seed)


def held_out_scores(model: Any, X: Any, Y: NDArray[Any], splits: list[Any]) -> Array:
    """Scores of all examples by models that have not seen their fold."""
    scores = np.empty(Y.shape)
    for train, test in splits:
        scores[test] = log_odds(clone(model).fit(X[train], Y[train]), X[test])
    return scores


def log_odds(model: Any, X: Any) -> Array:
    """Scores (n, p): those of `decision_function`, or log-odds of `predict_proba` where there is that."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    found = model.predict_proba(X)
    if isinstance(found, list):  # forests have an array (n, classes) for every label
        found = np.column_stack([
            part[:, list(classes).index(1)] if 1 in classes else np.zeros(len(part))
            for part, classes in zip(found, model.classes_, strict=True)
        ])  # fmt: skip
    return np.asarray(logit(np.clip(found, 1e-6, 1 - 1e-6)))


# ---------------------------------------------------------------- features


def scaling(X: Any) -> Any:
    """Mean 0 and deviation 1 for dense features, largest absolute value 1 for sparse ones; then `UnitRows`."""
    return make_pipeline(MaxAbsScaler() if issparse(X) else StandardScaler(), UnitRows())


class UnitRows(TransformerMixin, BaseEstimator):
    """Divide all features by one number, so that the mean squared norm of the training rows is 1.

    What C means then does not depend on the number of features, and one grid of C suits every data set.
    """

    def fit(self, X: Any, y: Any = None) -> UnitRows:
        """Find the number."""
        squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.vdot(X, X)
        self.norm_ = float(np.sqrt(squares / X.shape[0])) or 1.0
        return self

    def transform(self, X: Any) -> Any:
        """X over that number."""
        return X / self.norm_
