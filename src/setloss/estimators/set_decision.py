"""`SetDecisionCV`: any multi-label classifier, decided for the set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from setloss.decisions.rules import LABEL_RULES, RuleLearner, check_rule, count_loss
from setloss.decisions.thresholds import threshold_of_column
from setloss.estimators.decision_cv import DecisionCV, Outputs, features_of, gathered, is_prefit
from setloss.estimators.folds import Split, enough_of, label_splits, learner_of_labels
from setloss.estimators.labels import LabelMatrix
from setloss.estimators.learned_decision import DecidedLabelSets
from setloss.estimators.progress import say
from setloss.losses import Loss
from setloss.typing import Array

AVERAGES = ("samples", "macro", "micro")

TREES = 300
"""How many trees are grown where no classifier is named."""


class SetDecisionCV(DecidedLabelSets, DecisionCV):
    """Label sets of least expected loss, from the scores of any multi-label classifier.

        P(y | x) ~ exp( sum_j y_j (a s_j(x) + b_j) + u_|y| ),        predict argmin_A E l(y, A)

    Scores s are log-odds of `predict_proba`, or `decision_function` where there is none. Scale a, biases b and
    potentials u of the number of labels are fitted by penalised likelihood to scores of examples that the classifier
    was not trained on; then it is trained on everything. The loss enters at prediction only.

    Parameters
    ----------
    estimator
        A multi-label classifier: OneVsRestClassifier, MultiOutputClassifier, chains, forests, networks, pipelines,
        `SetClassifier`. None compares 300 extremely randomised trees with logistic regressions per label and takes
        what makes the held-out labels likeliest (see `default_estimators`).
    loss
        A name ("f1", "jaccard", "hamming"...) or a loss of counts; ``set_params(loss=...)`` needs no new fit.
    rule
        "auto" (the default), "counts", "plug-in", "threshold" or "top-k"; see `setloss.decisions.rules`.
    average
        "samples": the mean loss of the examples. "macro": the mean over labels of the loss of one on all examples,
        and "micro": the loss of all labels of all examples as one set; for these two, thresholds of least loss on
        the held-out scores are what is learned, one for each label or one for all, and `rule` plays no part.
    cv
        A number of folds, a splitter, or "prefit": the estimator is fitted already, and X and y are not what it was
        trained on.
    n_jobs
        Folds at a time.
    verbose
        1 says when each fold is done, and what the rules lose on held-out scores.

    Attributes
    ----------
    estimator_
        The classifier, trained on everything.
    learner_, rule_, rule_name_
        The held-out scores with what was fitted to them, and the rule that `predict` uses.
    rule_losses_
        With rule="auto", the held-out loss of every rule and its standard error.
    classes_
        0 and 1, or -1 and 1, as in y; or the two classes of a single label.
    label_names_
        The column names of y if it was a table; ``set_output(transform="pandas")`` puts them on predictions.
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
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.average = average
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> SetDecisionCV:
        """Train on X (n, d) and labels y (n, p) in {0, 1}; `params` go to `fit` of the estimator."""
        check_rule(self.rule, LABEL_RULES)
        loss = count_loss(self._loss())
        if self.average not in AVERAGES:
            raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {self.average!r}")
        X = features_of(X)
        labels = self._read_labels(y)
        check_consistent_length(X, labels.positive)
        weights = _weights(sample_weight, labels.known)
        candidates = self._candidates(X)
        estimator = candidates[0]
        to_fit, to_split = self._routed(estimator, sample_weight, params)
        splits = None if is_prefit(self.cv) else label_splits(self.cv, X, labels, **to_split)
        done: list[Outputs] = []
        learner = None
        if len(candidates) > 1 and splits is not None and not to_fit:
            compared = enough_of(splits, len(weights))
            estimator, done, learner = self._likeliest(candidates, X, labels, weights, compared)
        scores = self._fit_scores(estimator, X, labels.numbers, splits, to_fit, done)
        if learner is None or splits is None or len(done) < len(splits):
            learner = learner_of_labels(scores, labels, weights, splits)
        if self.average == "samples":
            self._learn(learner, loss)
        else:
            self.learner_, self.rule_name_ = learner, "threshold"
        return self

    def _likeliest(
        self, candidates: list[Any], X: Any, labels: LabelMatrix, weights: Array, splits: list[Split]
    ) -> tuple[Any, list[Outputs], RuleLearner | None]:
        """The classifier by whose scores the held-out labels are likeliest, its outputs on the folds, and what was
        learned from them.
        """
        best: float = -np.inf
        kept: tuple[Any, list[Outputs], RuleLearner | None] = (candidates[0], [], None)
        for candidate in candidates:
            outputs = list(self._out_of_fold(candidate, X, labels.numbers, splits, {}))
            scores, _ = gathered(outputs, labels.numbers.shape)
            learner = learner_of_labels(scores, labels, weights, splits)
            found = learner.log_likelihood
            if self.verbose:
                name = candidate[-1].estimator if isinstance(candidate, Pipeline) else candidate
                say(f"{name}: held-out log-likelihood {found / len(weights):.3f} for each example")
            if found > best:
                best, kept = found, (candidate, outputs, learner)
        return kept

    def _estimator(self, X: Any = None) -> Any:
        return self._candidates(X)[0]

    def _candidates(self, X: Any) -> list[Any]:
        return [self.estimator] if self.estimator is not None else default_estimators(X)

    # ---------------------------------------------------------------- prediction

    def expected_loss(self, X: Any) -> Array:
        """The loss of every example that the count model expects of `predict`."""
        if self.average != "samples":
            raise ValueError(f'expected losses are of single examples; average is {self.average!r}, not "samples"')
        found: Array = super().expected_loss(X)
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss of the examples, or of the labels (macro), or of everything as one set (micro)."""
        if self.average == "samples":
            return super().score(X, y, sample_weight)
        said = self._sets(X)
        truth, known = self._truth(y, said.shape)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        flags = np.stack([truth & ~said, ~truth & said, truth, ~truth]) & known
        tallies = np.einsum("tij,i->tj", flags, weights)
        tallies = tallies if self.average == "macro" else tallies.sum(axis=1)
        return 1 - float(np.mean(count_loss(self._loss()).value(*tallies)))

    def _sets(self, X: Any) -> NDArray[np.bool_]:
        if self.average == "samples":
            return super()._sets(X)
        return np.asarray(self._scores(X) > self.thresholds())

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


def default_estimators(X: Any) -> list[Any]:
    """What is compared where no classifier is named.

    `TREES` extremely randomised trees, and logistic regressions per label, weakly and strongly shrunk: trees win
    where labels depend on few features or on their interplay, logistic regression where each feature adds a bit.
    Logistic regression alone where X is sparse; trees alone where features are missing or examples have weights,
    which the other does not take.
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    def logistic(C: float) -> Any:
        return OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000, tol=1e-3))

    if issparse(X):
        return [make_pipeline(MaxAbsScaler(), logistic(10.0))]
    linear = [make_pipeline(StandardScaler(), logistic(C)) for C in (1.0, 0.01)] if _is_finite(X) else []
    return [ExtraTreesClassifier(TREES, random_state=0), *linear]


def _is_finite(X: Any) -> bool:
    """Whether X is of numbers, none of them missing or infinite."""
    try:
        return bool(np.isfinite(np.asarray(X, dtype=np.float64)).all())
    except (TypeError, ValueError):  # the classifier says what is wrong
        return False


def _weights(sample_weight: Any, known: NDArray[np.bool_]) -> Array:
    weights = _check_sample_weight(sample_weight, known, dtype=np.float64, ensure_non_negative=True)
    if not np.any(weights[known.any(axis=1)] > 0):
        raise ValueError("every sample weight is zero; there is nothing to train on")
    return np.asarray(weights)
