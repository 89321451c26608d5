"""The methods of the label-set benchmark by name.

``BASE+RULE`` is a scorer and a rule. The bases are "linear" (a logistic regression per label, one C of largest
held-out likelihood), "trees" (extremely randomised), and linear models trained for the set (`OPERATORS`), whose C has
the least held-out loss. The rules are those of `SetDecision` and "top-k", all learned from the same held-out
scores; "half" is the cut at 1/2, the sign. "default" is ``SetDecisionCV()``; rivals are in `experiments.baselines`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from experiments.baselines import RIVALS
from setloss.estimators import SetClassifier, SetClassifierCV, SetDecision, SetDecisionCV
from setloss.estimators.label_scores import fit_scorer, gathered, out_of_fold
from setloss.estimators.set_decision import ExpectedScore
from setloss.losses import Loss, loss_named
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
    """Predictions for the test part, what was chosen, and the mean score that was expected without its labels."""

    sets: NDArray[Any]
    chosen: dict[str, Any]
    expected: ExpectedScore | None = None


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


def decided_sets(names: Sequence[str], scores: Scores, Y: NDArray[Any], choices: Choices) -> dict[str, Decided]:
    """Let methods that differ in their rules decide from the same scores, which `scores_of` their base has."""
    found = {}
    for name in names:
        rule = name.partition("+")[2]
        if rule == "top-k":
            found[name] = Decided(top_k(scores, Y, loss_named(choices.criterion)), scores.chosen)
            continue
        model = SetDecision(choices.criterion, rule=rule, scores="log-odds").fit(scores.held_out, Y)
        chosen = scores.chosen | {"rule": model.rule_name_}
        found[name] = Decided(model.predict(scores.test), chosen, model.expected_score(scores.test))
    return found


def top_k(scores: Scores, Y: NDArray[Any], loss: Loss) -> NDArray[np.bool_]:
    """The k largest scores of every example of the test part, with the k of least loss on the training part."""
    ranks, new = (np.argsort(np.argsort(-s, axis=1, kind="stable"), axis=1) for s in (scores.held_out, scores.test))
    k = min(range(Y.shape[1] + 1), key=lambda k: float(np.mean(loss(Y == 1, ranks < k))))
    return np.asarray(new < k)


def decided_alone(name: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Decided:
    """Train a method that shares nothing with others, and let it decide for `test`."""
    if name == DEFAULT:
        model = SetDecisionCV(None, choices.criterion, cv=choices.splits(len(Y))).fit(X, Y)
        chosen = {"estimator": " ".join(str(model.estimator_).split()), "rule": model.decision_.rule_name_}
        return Decided(model.predict(test), chosen, model.expected_score(test))
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


class Scores(NamedTuple):
    """Scores of the training part by models that have not seen their fold, and of the test part; what was chosen."""

    held_out: Array
    test: Array
    chosen: dict[str, Any]


def scores_of(base: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Scores:
    """Train a base model on X and Y, as `SetDecisionCV` around it would."""
    splits = choices.splits(len(Y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are constant in a fold, gaps that are part of the result
        chosen = _chosen(base, X, Y, splits, choices)
        model = base_model(base, choices, **chosen)
        _, held_out, certainty = gathered(list(out_of_fold(model, X, Y, splits, {}, None, False)))
        found = fit_scorer(model, X, Y, None, {}, certainty).scores(test)
    return Scores(held_out, found, chosen)


def _chosen(base: str, X: Any, Y: NDArray[Any], splits: list[Any], choices: Choices) -> dict[str, Any]:
    """C: for logistic regression that of largest held-out likelihood, for operators that of least held-out loss."""
    if base in OPERATORS:
        loss, operator, scale = OPERATORS[base]
        options: dict[str, Any] = {"scale": scale, "tol": choices.tol, "Cs": choices.Cs_of_rivals, "cv": splits}
        return {"C": float(SetClassifierCV(loss, operator, **options).fit(X, Y).C_)}
    if base != "linear":
        return {}
    losses: dict[float, float] = {}
    for C in choices.Cs:
        _, scores, _ = gathered(list(out_of_fold(base_model(base, choices, C), X, Y, splits, {}, None, False)))
        losses[C] = log_loss(Y.ravel(), expit(scores).ravel(), labels=[0, 1])
        if losses[C] > min(losses.values()):
            break
    return {"C": min(losses, key=losses.__getitem__)}


def base_model(base: str, choices: Choices, C: float = 1.0) -> Any:
    """An unfitted multi-label classifier for features of mean squared norm 1."""
    if base == "linear":
        return OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000))
    if base == "trees":
        return ExtraTreesClassifier(choices.trees, random_state=choices.seed)
    loss, operator, scale = OPERATORS[base]
    return SetClassifier(loss, operator, scale=scale, C=C, tol=choices.tol, random_state=choices.seed)


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
