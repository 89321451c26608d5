"""Bags of frames: every track is a set of p binary decisions by one and the same linear scorer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from setloss.estimators.base import LinearSetModel
from setloss.estimators.decision_rules import BAG_RULES, RuleLearner
from setloss.estimators.elements import elements_of_frames
from setloss.estimators.frames import DecidedBags, bags_named, warn_if_ungrouped
from setloss.estimators.learned import (
    LearnsDecision,
    bag_splits,
    learner_of_bags,
    number_of_folds,
    out_of_fold,
)
from setloss.losses import Loss
from setloss.typing import Array


class BagClassifier(LearnsDecision, DecidedBags, LinearSetModel):
    """Linear frame classifier trained for a loss of the set of wrong frames of each bag.

        min over w   1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    The frames of a bag are named by `groups`; bags have any length from one. Parameters and attributes are those of
    `SetClassifier`; `coef_` has shape (1, d) and `classes_` the two classes, the second being the positive one.
    `decision` is "sign", "counts", "vote", "threshold" or "auto"; all but the sign are decisions for a bag, so that
    `predict` wants `groups` too.

    scikit-learn's tools hand `groups` to `fit`, `predict` and `score` if metadata routing is on,
    ``sklearn.set_config(enable_metadata_routing=True)``; all ask for it. Without groups every frame is a set of its
    own, and an `UngroupedWarning` says so: ``groups=np.arange(len(y))`` if that is meant.
    """

    _decisions = ("sign", *BAG_RULES, "auto")

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> BagClassifier:
        """Train on frames X (N, d) with labels y (N,), `groups` naming the bag of each frame.

        Without groups every frame is a bag of its own, with a warning. The weight of a bag is the mean weight of its
        frames.
        """
        loss = self._decidable_loss()
        self._check_parameters()
        X = self._checked_X(X, reset=True)
        positive = self._read_frames(X, y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weights > 0
        if not used.any():
            raise ValueError("every sample weight is zero; there is nothing to train on")
        if len(np.unique(positive[used])) < 2:
            raise ValueError("the frames of positive weight have only one class; training needs both")
        warn_if_ungrouped(groups, "trained")
        names = _names(groups, len(positive))
        self._fit(X, elements_of_frames(positive, names, weights), loss)
        if self.decision != "sign":
            self._learn_decision(X[used], positive[used], names[used], weights[used], loss)
        return self

    def _learn_decision(
        self, X: Any, positive: NDArray[np.bool_], names: NDArray[Any], weights: Array, loss: Loss
    ) -> None:
        """The rule, from scores of copies of the model that have not seen the bag."""
        bags = bags_named(names, len(positive))
        splits = bag_splits(number_of_folds(len(bags)), X, positive, bags)

        def learned() -> RuleLearner:
            found = out_of_fold(self, X, splits, y=positive, groups=names, sample_weight=weights)
            return learner_of_bags(found[:, 0], positive, bags, weights, splits)

        self._learn_unless_interrupted(learned, loss)

    def decision_function(self, X: Any) -> Array:
        """The score of every frame; positive predicts the second class if the decision is the sign."""
        return self._scores(X)[:, 0]


def _names(groups: Any, size: int) -> NDArray[Any]:
    names = np.arange(size) if groups is None else np.asarray(groups)
    if names.shape != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {names.shape}")
    return names
