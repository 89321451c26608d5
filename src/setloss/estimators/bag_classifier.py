"""`BagClassifier`: every bag of frames is a set of binary decisions by one and the same scorer."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from setloss.bags import Bags, group_array
from setloss.estimators.elements import checked_features, elements_of_frames
from setloss.estimators.labels import Flags, as_array, two_classes
from setloss.estimators.linear_model import LinearSetModel, checked_weights
from setloss.typing import Array


class UngroupedWarning(UserWarning):
    """Frames came without groups, so that every frame is a set of its own."""


class BagClassifier(LinearSetModel):
    """Linear frame classifier trained for a loss of the set of wrong frames of each bag.

        min over w   1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    The frames of a bag are named by `groups`; bags have any length from one. `predict` takes the frames of positive
    score, as the paper does; `BagDecisionCV(BagClassifier())` decides for the whole bag instead. Parameters and
    attributes are those of `SetClassifier`; `coef_` has shape (1, d) and `classes_` the two classes, the second being
    the positive one.

    scikit-learn's tools hand `groups` to `fit`, `predict` and `score` if metadata routing is on,
    ``sklearn.set_config(enable_metadata_routing=True)``; all ask for it. Without groups every frame is a set of its
    own, and an `UngroupedWarning` says so: ``groups=np.arange(len(y))`` if that is meant.
    """

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> BagClassifier:
        """Train on frames X (N, d) with labels y (N,), `groups` naming the bag of each frame.

        Without groups every frame is a bag of its own, with a warning. The weight of a bag is the mean weight of its
        frames.
        """
        self._validate_params()
        loss = self._loss()
        X = checked_features(self, X, reset=True)
        self.classes_, positive = frame_labels(X, y, type(self).__name__)
        weights = checked_weights(sample_weight, X)
        warn_if_ungrouped(groups, "trained")
        names = None if groups is None else group_names(groups, len(positive))
        elements = elements_of_frames(positive, names, weights)
        if elements.truth.all() or not elements.truth.any():
            raise ValueError("the bags of positive weight have only one class; training needs both")
        self._fit(X, elements, loss)
        return self

    def decision_function(self, X: Any) -> Array:
        """The score of every frame; positive predicts the second class."""
        return self._scores(X)[:, 0]

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The class of every frame, by the sign of its score; `groups`, for `BagDecisionCV`, play no part here."""
        return np.asarray(np.where(self._scores(X)[:, 0] > 0, self.classes_[1], self.classes_[0]))

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every bag, in sorted order of the groups; without groups, of every frame, with a warning."""
        warn_if_ungrouped(groups, "judged")
        chosen = self._scores(X)[:, 0] > 0
        y = column_or_1d(as_array(y))
        if len(y) != len(chosen):
            raise ValueError(f"y has {len(y)} labels for {len(chosen)} frames")
        strange = y[~np.isin(y, self.classes_)][:1].tolist()
        if strange:
            raise ValueError(f"y contains {strange[0]!r}; the classes of the model are {self.classes_.tolist()}")
        names = np.arange(len(y)) if groups is None else group_names(groups, len(y))
        return np.asarray(self._loss()(y == self.classes_[1], chosen, groups=names))

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss over the bags; a bag weighs as much as its frames on average."""
        losses = self.losses(X, y, groups)
        if sample_weight is None:
            return 1.0 - float(np.mean(losses))
        weights = checked_weights(sample_weight, X)
        return 1.0 - float(np.average(losses, weights=bags_named(groups, len(weights)).means(weights)))


def frame_labels(X: Any, y: Any, who: str) -> tuple[NDArray[Any], Flags]:
    """The two classes, and which frames are of the second; there is a label for every row of X."""
    if y is None:
        raise ValueError(f"This {who} estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(as_array(y), warn=True)
    check_consistent_length(X, y)
    return two_classes(y)


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
    if groups is None:
        return Bags.from_offsets(np.arange(size + 1))
    return Bags.from_groups(group_names(groups, size))


def group_names(groups: Any, size: int) -> NDArray[Any]:
    """The name of the bag of each of `size` frames."""
    if np.shape(groups) != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {np.shape(groups)}")
    return group_array(groups)
