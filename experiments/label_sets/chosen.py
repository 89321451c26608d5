"""A scorer, its C and what a rule has to learn, chosen on training data only and in one way for all methods."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from experiments.metrics import CRITERIA, of_examples
from experiments.selection import PATIENCE, ChosenC, choose_C
from setloss.decisions.calibration import Calibration
from setloss.decisions.held_out import HeldOut, best_size, threshold_of_sets
from setloss.decisions.rules import LeastExpectedLoss, Rule, Sets, Threshold, TopK, count_loss
from setloss.losses import Loss, loss_named
from setloss.typing import Array

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
"""Values of C for features of mean squared norm 1 (`UnitRows`): from underfitting to separation of most data."""


@dataclass(frozen=True)
class SelectionSettings:
    """How every method chooses, and how large the base models are.

    The grid of C, inner folds and their seed, the criterion; the gap to stop at; the numbers of trees of a forest and
    of rounds of boosting.
    """

    Cs: tuple[float, ...] = GRID
    folds: int = 5
    criterion: str = "f1"
    seed: int = 0
    tol: float = 1e-2
    max_iter: int = 200
    intercept_scaling: float = 1.0
    trees: int = 300
    rounds: int = 50

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion is one of {', '.join(CRITERIA)}; got {self.criterion!r}")


def learned_rule(name: str, scores: Array, truth: Sets, loss: Loss) -> Rule:
    """The rule "sign", "threshold", "top-k" or "plug-in"; its number is learned from scores of held-out examples.

    The plug-in rule takes scores as log-odds of independent labels, as they are.
    """
    if name == "sign":
        return Threshold(0.0)
    if name == "plug-in":
        return LeastExpectedLoss(Calibration(1.0, np.zeros(1)))
    data = HeldOut(scores, truth, np.ones_like(truth), np.ones(len(truth)), np.zeros(len(truth), dtype=np.intp))
    if name == "threshold":
        return Threshold(threshold_of_sets(data, count_loss(loss)))
    return TopK(best_size(data, count_loss(loss)))


class ChosenLabelSets(ClassifierMixin, BaseEstimator):
    """A scorer and a rule, chosen by the mean score of out-of-fold predictions.

        max over scorer, C and the rule's number t of   sum_i  score(y_i, rule_t(h_C^{-fold(i)}(x_i)))

    Every fold has one model that goes up the path of C, so that one with ``warm_start`` continues from its last
    solution. The path ends early as `PATIENCE` says, and before a C at which a solver does not reach its tolerance.

    Parameters
    ----------
    scorers
        Estimators with a parameter ``C`` and a `decision_function` (n, p); usually one.
    rule
        From scores to label sets, a name of `learned_rule`.
    Cs, folds, random_state
        The values of C, and the number and the seed of the shuffled folds: equal seeds mean equal folds.
    criterion
        The score of an example, "f1" or "jaccard".

    Attributes
    ----------
    scorer_, rule_, C_
        The choice, trained on all data.
    cv_score_
        Its mean out-of-fold score: of the best of all candidates, hence optimistic.
    """

    def __init__(
        self,
        scorers: Sequence[Any],
        rule: str = "sign",
        *,
        Cs: Sequence[float] = GRID,
        folds: int = 5,
        criterion: str = "f1",
        random_state: int = 0,
    ) -> None:
        self.scorers = scorers
        self.rule = rule
        self.Cs = Cs
        self.folds = folds
        self.criterion = criterion
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> ChosenLabelSets:
        """Choose on the folds, then train the choice on all of X (n, d) and Y (n, p) in {0, 1}."""
        truth = np.asarray(Y) == 1
        path = sorted(self.Cs)
        splits = list(KFold(self.folds, shuffle=True, random_state=self.random_state).split(truth))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap or accuracy reached is part of the result
            choices = [self._best_C(scorer, path, X, truth, splits) for scorer in self.scorers]
            k = min(range(len(choices)), key=lambda k: choices[k].loss)
            self.cv_score_, self.C_, self.rule_ = -choices[k].loss, choices[k].C, choices[k].rule
            self.scorer_ = self._refitted(self.scorers[k], path, X, truth)
        return self

    def _refitted(self, scorer: Any, path: list[float], X: Any, truth: Sets) -> Any:
        """The choice trained on all data, along the same path of C as on the folds."""
        model = clone(scorer)
        for C in path if getattr(model, "warm_start", False) else [self.C_]:
            if C <= self.C_:
                model.set_params(C=C).fit(X, truth.astype(np.int8))
        return model

    def _best_C(self, scorer: Any, path: list[float], X: Any, truth: Sets, splits: list[Any]) -> ChosenC[Rule]:
        """The choice of C for one scorer, whose loss is minus the mean score."""
        loss = loss_named(self.criterion)

        def judge(held_out: list[Array]) -> list[tuple[float, Rule]]:
            scores = np.empty(truth.shape)
            for (_, test), found in zip(splits, held_out, strict=True):
                scores[test] = found
            rule = learned_rule(self.rule, scores, truth, loss)
            return [(-float(of_examples(self.criterion, truth, rule.sets(scores, loss)).mean()), rule)]

        folds = [_scores_along_path(scorer, path, X, truth, split) for split in splits]
        return choose_C(path, folds, judge, PATIENCE)[0]

    def decision_function(self, X: Any) -> Array:
        """Scores (n, p) of the chosen scorer."""
        check_is_fitted(self)
        return np.asarray(self.scorer_.decision_function(X))

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Label sets (n, p) in {0, 1}."""
        scores = self.decision_function(X)
        return self.rule_.sets(scores, loss_named(self.criterion)).astype(np.int8)


def _scores_along_path(scorer: Any, path: list[float], X: Any, truth: Sets, split: Any) -> Iterator[Array]:
    """Scores of the examples of a fold by a model trained without it; ends before a C that is too hard to solve."""
    model, (train, test) = clone(scorer), split
    for C in path:
        model.set_params(C=C).fit(X[train], truth[train].astype(np.int8))
        if path[0] < C and not _converged(model):
            return
        yield np.asarray(model.decision_function(X[test]))


def _converged(model: Any) -> bool:
    return float(getattr(model, "dual_gap_", 0.0)) <= float(getattr(model, "tol", np.inf))


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
        check_is_fitted(self)
        return X / self.norm_
