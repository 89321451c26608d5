"""`SetDecisionCV`: any multi-label classifier, decided for the set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length

from setloss.decisions import expected_losses_of
from setloss.estimators.calibration import HeldOut
from setloss.estimators.cuts import count_loss, threshold_of_column
from setloss.estimators.decision_cv import DecisionCV, Split
from setloss.estimators.decision_rules import LABEL_RULES, RuleLearner, check_rule
from setloss.estimators.label_scores import log_odds
from setloss.estimators.potentials import LabelPotentials
from setloss.estimators.targets import Targets
from setloss.losses import Loss
from setloss.typing import Array

AVERAGES = ("samples", "macro", "micro")


class SetDecisionCV(DecisionCV):
    """Label sets of least expected loss, from the scores of any multi-label classifier.

        P(y | x) ~ exp( sum_j y_j (a s_j(x) + b_j) + u_|y| ),        predict argmin_A E l(y, A)

    Scores s are log-odds of `predict_proba`, or `decision_function` where there is none. Scale a, biases b and
    potentials u of the number of labels are fitted by penalised likelihood to scores of examples that the classifier
    was not trained on; then it is trained on everything. The loss enters at prediction only.

    Parameters
    ----------
    estimator
        A multi-label classifier: OneVsRestClassifier, MultiOutputClassifier, chains, forests, networks, pipelines,
        `SetClassifier`. None takes 300 extremely randomised trees, or logistic regression per label for sparse X.
    loss
        A name ("f1", "jaccard", "hamming"...) or a loss of counts; ``set_params(loss=...)`` needs no new fit.
    rule
        "auto" (the default), "counts", "plug-in", "threshold" or "top-k"; see `setloss.estimators.decision_rules`.
    average
        "samples": the mean loss of the examples. "macro": the mean over labels of the loss of one on all examples,
        and "micro": the loss of all labels of all examples as one set; for these two, thresholds of least loss on
        the held-out scores are what is learned, one for each label or one for all, and `rule` plays no part.
    cv
        A number of folds, a splitter, or "prefit": the estimator is fitted already, and X and y are not what it was
        trained on.
    n_jobs
        Folds at a time.

    Attributes
    ----------
    estimator_
        The classifier, trained on everything.
    learner_, rule_, rule_name_
        The held-out scores with what was fitted to them, and the rule that `predict` uses.
    rule_losses_
        With rule="auto", the held-out loss of every rule and its standard error.
    classes_
        0 and 1, or the two classes of a single label.
    """

    def __init__(
        self,
        estimator: Any = None,
        loss: str | Loss = "f1",
        *,
        rule: str = "auto",
        average: str = "samples",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.average = average
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> SetDecisionCV:
        """Train on X (n, d) and labels y (n, p) in {0, 1}; `params` go to `fit` of the estimator."""
        check_rule(self.rule, LABEL_RULES)
        loss = count_loss(self._loss())
        if self.average not in AVERAGES:
            raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {self.average!r}")
        X, targets = self._checked(X, y)
        Y, known = targets.labels, targets.known
        weights = _weights(sample_weight, known)
        estimator = self._estimator(X)
        to_fit, to_split = self._routed(sample_weight, params)
        splits = None if _prefit(self.cv) else self._splits(X, Y, to_split)
        scores = self._fit_scores(estimator, X, Y, splits, to_fit)
        folds = _numbered(splits, len(Y))
        used = (folds >= 0) & known.any(axis=1) & (weights > 0)
        data = HeldOut(scores, targets.truth, known, weights, folds).part(used)
        self.learner_ = RuleLearner(data, LabelPotentials.seen(data.truth.sum(axis=1), Y.shape[1]))
        self._learn(loss)
        return self

    def _learn(self, loss: Loss) -> None:
        if self.average != "samples":
            self.rule_name_ = "threshold"
            return
        self.rule_name_ = self.rule
        if self.rule == "auto":
            self.rule_name_, self.rule_losses_ = self.learner_.chosen(loss)
        self.rule_ = self.learner_.rule(self.rule_name_, loss)
        self._learned_for = (self.loss, self.rule)

    # ---------------------------------------------------------------- before the fit

    def _estimator(self, X: Any = None) -> Any:
        return self.estimator if self.estimator is not None else default_estimator(X)

    def _checked(self, X: Any, y: Any) -> tuple[Any, Targets]:
        """X as it is, and the labels."""
        if not issparse(X) and not hasattr(X, "iloc"):
            X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, allow_nd=True)
        targets = Targets.of(y, type(self).__name__)
        check_consistent_length(X, targets.truth)
        self.classes_, self._flat = targets.classes, targets.flat
        return indexable(X)[0], targets

    def _splits(self, X: Any, Y: NDArray[Any], to_split: dict[str, Any]) -> list[Split]:
        cv = self.cv
        if isinstance(cv, int | np.integer) and not self._flat:
            cv = KFold(int(cv), shuffle=True, random_state=0)
        target = Y.ravel() if self._flat else Y
        return list(check_cv(cv, target, classifier=True).split(X, target, **to_split))

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any) -> NDArray[Any]:
        """Label sets (n, p) in {0, 1}, or classes of a single label."""
        chosen = self._sets(self._raw_scores(X))
        predicted = np.asarray(self.classes_[chosen.astype(np.intp)])
        return predicted[:, 0] if self._flat else predicted

    def decision_function(self, X: Any) -> Array:
        """Log-odds (n, p) of the labels: those of `predict_proba`."""
        found = log_odds(self._marginals(X), 1e-15)
        return found[:, 0] if self._flat else found

    def predict_proba(self, X: Any) -> Array:
        """P(y_j = 1) of every label (n, p) in the count model; (n, 2) after a fit with a single label."""
        found = self._marginals(X)
        return np.column_stack([1 - found[:, 0], found[:, 0]]) if self._flat else found

    def predict_count_proba(self, X: Any) -> Array:
        """P(|y| = k) for k = 0, ..., K, the largest number of labels that has any mass."""
        scores = self._raw_scores(X)
        return self.learner_.counts.model(scores).count_probabilities

    def expected_loss(self, X: Any) -> Array:
        """The loss of every example that the count model expects of `predict`."""
        if self.average != "samples":
            raise ValueError(f'expected losses are of single examples; average is {self.average!r}, not "samples"')
        scores = self._raw_scores(X)
        model = self.learner_.counts
        return expected_losses_of(self._sets(scores), model.scores(scores), self._loss(), counts=model.counts())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss of the examples, or of the labels (macro), or of everything as one set (micro)."""
        array: Any = y.toarray() if issparse(y) else np.asarray(y)
        truth, said = array == self.classes_[1], self.predict(X) == self.classes_[1]
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        truth, said = truth.reshape(len(truth), -1), said.reshape(len(truth), -1)
        flags = np.stack([truth & ~said, ~truth & said, truth, ~truth])
        if self.average == "samples":
            return 1 - float(np.average(count_loss(self._loss()).value(*flags.sum(axis=2)), weights=weights))
        tallies = np.einsum("tij,i->tj", flags, weights)
        tallies = tallies if self.average == "macro" else tallies.sum(axis=1)
        return 1 - float(np.mean(count_loss(self._loss()).value(*tallies)))

    def _marginals(self, X: Any) -> Array:
        scores = self._raw_scores(X)
        return self.learner_.counts.model(scores).marginals

    def _sets(self, scores: Array) -> NDArray[np.bool_]:
        if self.average == "samples":
            return self._learned_rule().sets(scores, self._loss())
        return np.asarray(scores > self.thresholds())

    def thresholds(self) -> Array:
        """Of least loss on the held-out scores, for every label: each its own (macro), or one for all (micro)."""
        data, loss = self.learner_.data, count_loss(self._loss())
        weights, p = np.broadcast_to(data.weights[:, None], data.scores.shape), data.scores.shape[1]
        columns: list[Any] = [(slice(None), j) for j in range(p)] if self.average == "macro" else [...]
        found = []
        for column in columns:
            known = data.known[column]
            scores, truth = data.scores[column][known], data.truth[column][known]
            found.append(threshold_of_column(scores, truth, weights[column][known], loss))
        return np.broadcast_to(np.array(found), (p,)).copy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


def default_estimator(X: Any = None) -> Any:
    """300 extremely randomised trees; a logistic regression for each label where X is sparse."""
    if not issparse(X):
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(300, random_state=0)
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), OneVsRestClassifier(LogisticRegression(C=10.0, max_iter=1000)))


def _prefit(cv: Any) -> bool:
    return isinstance(cv, str) and cv == "prefit"


def _numbered(splits: list[Split] | None, n: int) -> NDArray[np.intp]:
    """The fold that holds every example out, -1 for those that none does; without splits five by turns."""
    if splits is None:
        return np.random.default_rng(0).permutation(n) % min(5, n)
    folds = np.full(n, -1, dtype=np.intp)
    for k, (_, test) in enumerate(splits):
        folds[test] = k
    return folds


def _weights(sample_weight: Any, known: NDArray[np.bool_]) -> Array:
    weights = _check_sample_weight(sample_weight, known, dtype=np.float64, ensure_non_negative=True)
    if not np.any(weights[known.any(axis=1)] > 0):
        raise ValueError("every sample weight is zero; there is nothing to train on")
    return np.asarray(weights)
