"""`BagDecisionCV`: any classifier of frames, decided for the bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_sample_weight

from setloss.decisions.rules import BAG_RULES, check_rule, count_loss
from setloss.estimators.bag_classifier import bags_named, warn_if_ungrouped
from setloss.estimators.decision_cv import DecisionCV, features_of, is_prefit
from setloss.estimators.folds import bag_splits, learner_of_bags
from setloss.estimators.learned_decision import DecidedBags
from setloss.losses import Loss


class BagDecisionCV(DecidedBags, DecisionCV):
    """Labels of the frames of a bag of least expected loss, from the scores of any binary classifier of frames.

        P(y_1, ..., y_p | bag) ~ exp( sum_i y_i (a s(x_i) + b) + u(|y|, p) ),        predict argmin_A E l(y, A)

    u has atoms at no and at all frames and a smooth part in the share of positive frames, so that it is learned from
    bags of any sizes and serves sizes never seen. On bags of one label it finds the vote by itself.

    Parameters
    ----------
    estimator
        A binary classifier of frames; None takes logistic regression on standardised features, which keep
        their zeros where X is sparse.
    loss
        A name or a loss of counts; ``set_params(loss=...)`` needs no new fit.
    rule
        "counts" (the default), "vote", "threshold" or "auto"; see `setloss.decisions.rules`.
    cv
        A number of folds, which never split a bag, a splitter, or "prefit".
    n_jobs
        Folds at a time.
    verbose
        1 says when each fold is done, and what the rules lose on held-out scores.

    Attributes are those of `SetDecisionCV`. Without `groups` every frame is a bag of its own, with a warning.
    """

    def __init__(
        self,
        estimator: Any = None,
        loss: str | Loss = "f1",
        *,
        rule: str = "counts",
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, **params: Any) -> BagDecisionCV:
        """Train on frames X (N, d) with labels y (N,); `groups` names the bag of each frame.

        The weight of a bag is the mean weight of its frames; `params` go to `fit` of the estimator, and `groups` too
        if it takes them, as `BagClassifier` does.
        """
        check_rule(self.rule, BAG_RULES)
        loss = count_loss(self._loss())
        X = features_of(X)
        positive = self._read_frames(X, y)
        weights = _check_sample_weight(sample_weight, positive[:, None], dtype=np.float64, ensure_non_negative=True)
        warn_if_ungrouped(groups, "trained")
        bags = bags_named(groups, len(positive))
        estimator = self._estimator(X)
        to_fit, _ = self._routed(estimator, sample_weight, params, groups)
        Y = positive[:, None].astype(np.int8)
        splits = None if is_prefit(self.cv) else bag_splits(self.cv, X, positive, bags)
        scores = self._fit_scores(estimator, X, Y, splits, to_fit)[:, 0]
        self._learn(learner_of_bags(scores, positive, bags, weights, splits), loss)
        return self

    def _estimator(self, X: Any = None) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler, StandardScaler

        scaler = MaxAbsScaler() if issparse(X) else StandardScaler()  # centring would fill a sparse X
        return make_pipeline(scaler, LogisticRegression(max_iter=1000))
