"""Bags of frames: every track is a set of p binary decisions by one and the same scorer."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from setloss.arguments import is_missing
from setloss.bags import Bags
from setloss.decisions import expected_losses_of
from setloss.decisions.rules import BAG_RULES, RuleLearner
from setloss.estimators.elements import elements_of_frames, two_classes
from setloss.estimators.folds import bag_splits, enough_of, learner_of_bags, number_of_folds, out_of_fold
from setloss.estimators.linear_model import LearnedDecision, LinearSetModel, of_count_models
from setloss.losses import Loss
from setloss.typing import Array


class UngroupedWarning(UserWarning):
    """Frames came without groups, so that every frame is a set of its own."""


class DecidedBags(LearnedDecision):
    """Frames of bags by a rule that was learned from held-out scores; `_scores` gives those of new frames."""

    classes_: NDArray[Any]

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    if TYPE_CHECKING:

        def _scores(self, X: Any) -> Array: ...

    def _read_frames(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """Which frames are of the second class; there is a label for every row of X."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            where = int(np.argmin(np.isfinite(y)))
            raise ValueError(f"y contains NaN or inf at frame {where}; leave frames without a label out")
        if y.dtype == object and any(is_missing(label) for label in y.tolist()):
            raise ValueError("y has missing labels; leave those frames out")
        self.classes_, positive = two_classes(y)
        return positive

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The class of every frame; `groups` names the bag of each, unless frames are decided by sign."""
        scores = self._scores(X)[:, 0]
        if self._decides_by_counts():
            warn_if_ungrouped(groups, "decided")
        chosen = self._chosen(scores, bags_named(groups, len(scores)))
        return np.asarray(self.classes_[chosen.astype(np.intp)])

    def _chosen(self, scores: Array, bags: Bags) -> NDArray[np.bool_]:
        """Which frames are predicted to be of the second class."""
        return self._learned_rule().sets(scores, self._loss(), bags)

    def _bags(self, groups: Any, size: int, what: str) -> Bags:
        warn_if_ungrouped(groups, what)
        return bags_named(groups, size)

    @of_count_models
    def predict_proba(self, X: Any, groups: Any = None) -> Array:
        """The chances (N, 2) of both classes for every frame, given all frames of its bag."""
        scores = self._scores(X)[:, 0]
        bags = self._bags(groups, len(scores), "judged")
        found = self._held_out().counts.model(bags.gather(scores), Bags(bags.offsets)).marginals
        positive = bags.scatter(found)
        return np.column_stack([1 - positive, positive])

    @of_count_models
    def predict_count_proba(self, X: Any, groups: Any = None) -> list[Array]:
        """P(k of the frames are positive), k = 0, ..., p, of every bag in sorted order of the groups."""
        scores = self._scores(X)[:, 0]
        bags = self._bags(groups, len(scores), "judged")
        flat = self._held_out().counts.model(bags.gather(scores), Bags(bags.offsets)).count_probabilities
        return np.split(flat, np.cumsum(bags.sizes + 1)[:-1])

    @of_count_models
    def expected_loss(self, X: Any, groups: Any = None) -> Array:
        """The loss of every bag that the count model expects of `predict`, in sorted order of the groups."""
        scores = self._scores(X)[:, 0]
        bags = self._bags(groups, len(scores), "judged")
        gathered, plain = bags.gather(scores), Bags(bags.offsets)
        sets = self._learned_rule().sets(gathered, self._loss(), plain)
        model = self._held_out().counts
        return expected_losses_of(sets, model.scores(gathered), self._loss(), counts=model.counts(plain), bags=plain)

    # ---------------------------------------------------------------- losses

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every bag, in sorted order of the groups; without groups, of every frame, with a warning."""
        warn_if_ungrouped(groups, "judged")
        scores = self._scores(X)[:, 0]
        bags = bags_named(groups, len(scores))
        chosen = self._chosen(scores, bags)
        y = column_or_1d(y)
        if len(y) != len(chosen):
            raise ValueError(f"y has {len(y)} labels for {len(chosen)} frames")
        if not np.all(np.isin(y, self.classes_)):
            strange = y[~np.isin(y, self.classes_)][0]
            raise ValueError(f"y contains {strange!r}; the classes of the model are {self.classes_.tolist()}")
        names = np.arange(len(y)) if groups is None else groups
        return np.asarray(self._loss()(y == self.classes_[1], chosen, groups=names))

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss over the bags; a bag weighs as much as its frames on average."""
        losses = self.losses(X, y, groups)
        if sample_weight is None:
            return 1.0 - float(np.mean(losses))
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return 1.0 - float(np.average(losses, weights=bags_named(groups, len(weights)).means(weights)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class BagClassifier(DecidedBags, LinearSetModel):
    """Linear frame classifier trained for a loss of the set of wrong frames of each bag.

        min over w   1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    The frames of a bag are named by `groups`; bags have any length from one. Parameters and attributes are those of
    `SetClassifier`; `coef_` has shape (1, d) and `classes_` the two classes, the second being the positive one.
    `decision` is "auto", the default, "sign", "counts", "vote" or "threshold"; all but the sign are decisions for a
    bag, so that `predict` wants `groups` too. "auto" is the sign for fewer than 20 bags of two or more frames.

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
        loss, deadline = self._decidable_loss(), self._deadline()
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
        bags = bags_named(names[used], int(used.sum()))
        if self._learns(loss, bags.sizes):
            self._learn_decision(X[used], positive[used], names[used], bags, weights[used], loss, deadline)
        return self

    def _learn_decision(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        names: NDArray[Any],
        bags: Bags,
        weights: Array,
        loss: Loss,
        deadline: float | None,
    ) -> None:
        """The rule, from scores of copies of the model that have not seen the bag."""
        splits = enough_of(bag_splits(number_of_folds(len(bags)), X, positive, bags), len(bags))
        if self.decision == "auto" and any(len(np.unique(positive[train])) < 2 for train, _ in splits):
            return  # all positive frames, or all negative ones, are in a bag or two

        def learned() -> RuleLearner:
            found = out_of_fold(self, X, splits, deadline, y=positive, groups=names, sample_weight=weights)
            return learner_of_bags(found[:, 0], positive, bags, weights, splits)

        self._learn_unless_stopped(learned, loss)

    def decision_function(self, X: Any) -> Array:
        """The score of every frame; positive predicts the second class if the decision is the sign."""
        return self._scores(X)[:, 0]


def warn_if_ungrouped(groups: Any, what: str) -> None:
    """Warn if every frame becomes a set of its own, which is hardly ever meant."""
    if groups is None:
        warnings.warn(
            f"no groups: every frame is {what} as a set of its own. Pass groups=, the bag of each frame; through "
            "scikit-learn's tools call sklearn.set_config(enable_metadata_routing=True) first and pass "
            "params={'groups': groups}. If frames are meant one by one, pass groups=np.arange(len(y)).",
            UngroupedWarning,
            stacklevel=3,
        )


def bags_named(groups: Any, size: int) -> Bags:
    """The bags that `groups` names, one name for each of `size` frames; without groups every frame is a bag."""
    return Bags.from_groups(_names(groups, size))


def _names(groups: Any, size: int) -> NDArray[Any]:
    names = np.arange(size) if groups is None else np.asarray(groups)
    if names.shape != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {names.shape}")
    return names
