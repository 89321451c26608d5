"""`BagDecisionCV`: any classifier of frames, decided for the bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from setloss.bags import Bags
from setloss.decisions import expected_losses_of
from setloss.estimators.base import two_classes
from setloss.estimators.calibration import HeldOut
from setloss.estimators.cross_validation import _refuse_split_bags
from setloss.estimators.cuts import count_loss
from setloss.estimators.decision_cv import DecisionCV, Split
from setloss.estimators.decision_rules import BAG_RULES, RuleLearner, check_rule
from setloss.estimators.potentials import BagPotentials
from setloss.losses import Loss
from setloss.typing import Array


class BagDecisionCV(DecisionCV):
    """Labels of the frames of a bag of least expected loss, from the scores of any binary classifier of frames.

        P(y_1, ..., y_p | bag) ~ exp( sum_i y_i (a s(x_i) + b) + u(|y|, p) ),        predict argmin_A E l(y, A)

    u has atoms at no and at all frames and a smooth part in the share of positive frames, so that it is learned from
    bags of any sizes and serves sizes never seen. On bags of one label it finds the vote by itself.

    Parameters
    ----------
    estimator
        A binary classifier of frames; None takes logistic regression on standardised features.
    loss
        A name or a loss of counts; ``set_params(loss=...)`` needs no new fit.
    rule
        "counts" (the default), "vote", "threshold" or "auto"; see `setloss.estimators.decision_rules`.
    cv
        A number of folds, which never split a bag, a splitter, or "prefit".
    n_jobs
        Folds at a time.

    Attributes are those of `SetDecisionCV`. Without `groups` every frame is a bag of its own.
    """

    def __init__(
        self, estimator: Any = None, loss: str | Loss = "f1", *, rule: str = "counts", cv: Any = 5, n_jobs: Any = None
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, **params: Any) -> BagDecisionCV:
        """Train on frames X (N, d) with labels y (N,); `groups` names the bag of each frame.

        The weight of a bag is the mean weight of its frames; `params` go to `fit` of the estimator.
        """
        check_rule(self.rule, BAG_RULES)
        loss = count_loss(self._loss())
        if y is None:
            raise ValueError("This BagDecisionCV estimator requires y to be passed, but the target y is None.")
        X, y = indexable(X, column_or_1d(y, warn=True))
        check_consistent_length(X, y)
        self.classes_, positive = two_classes(np.asarray(y))
        weights = _check_sample_weight(sample_weight, positive[:, None], dtype=np.float64, ensure_non_negative=True)
        bags = bags_named(groups, len(positive))
        to_fit, _ = self._routed(sample_weight, params)
        Y = positive[:, None].astype(np.int8)
        splits = None if isinstance(self.cv, str) and self.cv == "prefit" else self._splits(X, Y, bags)
        scores = self._fit_scores(self._estimator(), X, Y, splits, to_fit)[:, 0]
        folds = np.full(len(scores), -1)
        for k, (_, test) in enumerate(splits or []):
            folds[test] = k
        by_bag = bags.gather(folds)[bags.offsets[:-1]]
        if splits is None:
            by_bag = np.random.default_rng(0).permutation(len(bags)) % min(5, len(bags))
        means = bags.totals(bags.gather(weights)) / bags.sizes
        truth = bags.gather(positive)
        known, plain = np.ones(len(truth), dtype=bool), Bags(bags.offsets)
        data = HeldOut(bags.gather(scores), truth, known, means, by_bag, plain).part((by_bag >= 0) & (means > 0))
        self.learner_ = RuleLearner(data, BagPotentials())
        self.rule_name_ = self.rule
        if self.rule == "auto":
            self.rule_name_, self.rule_losses_ = self.learner_.chosen(loss)
        self.rule_ = self.learner_.rule(self.rule_name_, loss)
        self._learned_for = (self.loss, self.rule)
        return self

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

    def _splits(self, X: Any, Y: NDArray[Any], bags: Bags) -> list[Split]:
        numbers = bags.scatter(np.repeat(np.arange(len(bags)), bags.sizes))
        cv = self.cv
        if isinstance(cv, int | np.integer):
            cv = GroupKFold(int(cv), shuffle=True, random_state=0)
        splits = list(check_cv(cv, Y.ravel(), classifier=True).split(X, Y.ravel(), numbers))
        _refuse_split_bags(splits, numbers)
        return splits

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The class of every frame."""
        scores = self._raw_scores(X)[:, 0]
        chosen = self._learned_rule().sets(scores, self._loss(), bags_named(groups, len(scores)))
        return np.asarray(self.classes_[chosen.astype(np.intp)])

    def predict_proba(self, X: Any, groups: Any = None) -> Array:
        """The chances (N, 2) of both classes for every frame, given all frames of its bag."""
        scores = self._raw_scores(X)[:, 0]
        bags = bags_named(groups, len(scores))
        found = self.learner_.counts.model(bags.gather(scores), Bags(bags.offsets)).marginals
        positive = bags.scatter(found)
        return np.column_stack([1 - positive, positive])

    def predict_count_proba(self, X: Any, groups: Any = None) -> list[Array]:
        """P(k of the frames are positive), k = 0, ..., p, of every bag in sorted order of the groups."""
        scores = self._raw_scores(X)[:, 0]
        bags = bags_named(groups, len(scores))
        flat = self.learner_.counts.model(bags.gather(scores), Bags(bags.offsets)).count_probabilities
        return np.split(flat, np.cumsum(bags.sizes + 1)[:-1])

    def expected_loss(self, X: Any, groups: Any = None) -> Array:
        """The loss of every bag that the count model expects of `predict`, in sorted order of the groups."""
        scores = self._raw_scores(X)[:, 0]
        bags = bags_named(groups, len(scores))
        gathered, plain = bags.gather(scores), Bags(bags.offsets)
        sets = self._learned_rule().sets(gathered, self._loss(), plain)
        model = self.learner_.counts
        return expected_losses_of(sets, model.scores(gathered), self._loss(), counts=model.counts(plain), bags=plain)

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every bag, in sorted order of the groups."""
        predicted, second = self.predict(X, groups), self.classes_[1]
        names = np.arange(len(predicted)) if groups is None else groups
        return np.asarray(self._loss()(column_or_1d(y) == second, predicted == second, groups=names))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """1 - the mean loss of the bags."""
        return 1.0 - float(np.mean(self.losses(X, y, groups)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def bags_named(groups: Any, size: int) -> Bags:
    """The bags that `groups` names, one name for each of so many frames; every frame its own bag without groups."""
    if groups is None:
        return Bags.from_offsets(np.arange(size + 1))
    names = np.asarray(groups)
    if names.shape != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {names.shape}")
    return Bags.from_groups(names)
