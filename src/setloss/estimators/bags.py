"""Bags of frames: every track is a set of p binary decisions by one and the same linear scorer."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from setloss.arguments import is_missing
from setloss.bags import Bags
from setloss.estimators.base import LinearSetModel, two_classes
from setloss.estimators.elements import elements_of_frames
from setloss.typing import Array


class UngroupedWarning(UserWarning):
    """Frames came without groups, so that every frame is a set of its own."""


class BagClassifier(LinearSetModel):
    """Linear frame classifier trained for a loss of the set of wrong frames of each bag.

        min over w   1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    The frames of a bag are named by `groups`; bags have any length from one. Parameters and attributes are those of
    `SetClassifier`; `coef_` has shape (1, d) and `classes_` the two classes, the second being the positive one.

    scikit-learn's tools hand `groups` to `fit` and `score` if metadata routing is on,
    ``sklearn.set_config(enable_metadata_routing=True)``; both ask for it. Without groups every frame is a set of its
    own, and an `UngroupedWarning` says so: ``groups=np.arange(len(y))`` if that is meant.
    """

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> BagClassifier:
        """Train on frames X (N, d) with labels y (N,), `groups` naming the bag of each frame.

        Without groups every frame is a bag of its own, with a warning. The weight of a bag is the mean weight of its
        frames.
        """
        if y is None:
            raise ValueError("This BagClassifier estimator requires y to be passed, but the target y is None.")
        loss = self._loss()
        self._check_parameters()
        X = self._checked_X(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            where = int(np.argmin(np.isfinite(y)))
            raise ValueError(f"y contains NaN or inf at frame {where}; leave frames without a label out")
        if y.dtype == object and any(is_missing(label) for label in y.tolist()):
            raise ValueError("y has missing labels; leave those frames out")
        self.classes_, positive = two_classes(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weights > 0
        if not used.any():
            raise ValueError("every sample weight is zero; there is nothing to train on")
        if len(np.unique(positive[used])) < 2:
            raise ValueError("the frames of positive weight have only one class; training needs both")
        _warn_if_ungrouped(groups, "trained")
        self._fit(X, elements_of_frames(positive, _names(groups, len(y)), weights), loss)
        return self

    def decision_function(self, X: Any) -> Array:
        """The score of every frame; positive predicts the second class."""
        return self._scores(X)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every frame."""
        scores = self._scores(X)[:, 0]
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss over the bags; a bag weighs as much as its frames on average."""
        losses = self.losses(X, y, groups)
        if sample_weight is None:
            return 1.0 - float(np.mean(losses))
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        bags = Bags.from_groups(np.arange(len(weights)) if groups is None else groups)
        return 1.0 - float(np.average(losses, weights=bags.totals(bags.gather(weights)) / bags.sizes))

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every bag, in sorted order of the groups; without groups every frame is, with a warning."""
        _warn_if_ungrouped(groups, "judged")
        predicted = self.predict(X)
        y = column_or_1d(y)
        if len(y) != len(predicted):
            raise ValueError(f"y has {len(y)} labels for {len(predicted)} frames")
        if not np.all(np.isin(y, self.classes_)):
            strange = y[~np.isin(y, self.classes_)][0]
            raise ValueError(f"y contains {strange!r}; the classes of the model are {self.classes_.tolist()}")
        bags = np.arange(len(y)) if groups is None else groups
        second = self.classes_[1]
        return np.asarray(self._loss()(y == second, predicted == second, groups=bags))


def _warn_if_ungrouped(groups: Any, what: str) -> None:
    """Say so where every frame becomes a set of its own: that is hardly ever meant."""
    if groups is None:
        warnings.warn(
            f"no groups: every frame is {what} as a set of its own. Pass groups=, the bag of each frame; through "
            "scikit-learn's tools call sklearn.set_config(enable_metadata_routing=True) first and pass "
            "params={'groups': groups}. If frames are meant one by one, pass groups=np.arange(len(y)).",
            UngroupedWarning,
            stacklevel=3,
        )


def _names(groups: Any, size: int) -> NDArray[Any] | None:
    names = None if groups is None else np.asarray(groups)
    if names is not None and names.shape != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {names.shape}")
    return names
