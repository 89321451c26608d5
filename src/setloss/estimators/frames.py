"""What every estimator of bags shares: frames and groups in, losses and scores, probabilities, tags."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from setloss.arguments import is_missing
from setloss.bags import Bags
from setloss.decisions import expected_losses_of
from setloss.estimators.labels import two_classes
from setloss.estimators.learned import LearnedDecision, decides_by_counts, of_count_models
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
        chosen = self._chosen(X, groups)
        return np.asarray(self.classes_[chosen.astype(np.intp)])

    def _chosen(self, X: Any, groups: Any, what: str = "decided") -> NDArray[np.bool_]:
        scores = self._scores(X)[:, 0]
        bags = self._bags(groups, len(scores), what) if decides_by_counts(self) else None
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
        """The loss of every bag, in sorted order of the groups; without groups every frame is, with a warning."""
        warn_if_ungrouped(groups, "judged")
        scores = self._scores(X)[:, 0]
        bags = bags_named(groups, len(scores))
        chosen = self._learned_rule().sets(scores, self._loss(), bags)
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
        bags = bags_named(groups, len(weights))
        return 1.0 - float(np.average(losses, weights=bags.totals(bags.gather(weights)) / bags.sizes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def warn_if_ungrouped(groups: Any, what: str) -> None:
    """Say so where every frame becomes a set of its own: that is hardly ever meant."""
    if groups is None:
        warnings.warn(
            f"no groups: every frame is {what} as a set of its own. Pass groups=, the bag of each frame; through "
            "scikit-learn's tools call sklearn.set_config(enable_metadata_routing=True) first and pass "
            "params={'groups': groups}. If frames are meant one by one, pass groups=np.arange(len(y)).",
            UngroupedWarning,
            stacklevel=3,
        )


def bags_named(groups: Any, size: int) -> Bags:
    """The bags that `groups` names, one name for each of so many frames; every frame its own bag without groups."""
    if groups is None:
        return Bags.from_offsets(np.arange(size + 1))
    names = np.asarray(groups)
    if names.shape != (size,):
        raise ValueError(f"groups must name the bag of each of {size} frames; got shape {names.shape}")
    return Bags.from_groups(names)
