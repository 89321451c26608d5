"""Decisions that are learned from held-out scores, for `SetDecisionCV` and `BagDecisionCV`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from setloss.bags import Bags
from setloss.decisions import expected_losses_of
from setloss.decisions.rules import Rule, RuleLearner, Sets
from setloss.estimators.bag_classifier import bags_named, frame_labels, warn_if_ungrouped
from setloss.estimators.label_scores import log_odds
from setloss.estimators.labels import LabelMatrix, known_truth, labels_of
from setloss.losses import Loss, as_loss
from setloss.typing import Array


class LossParameter:
    """A parameter `loss`: a name, a `Loss`, or a callable ``(y_true, y_pred) -> float``."""

    loss: Any

    def _loss(self) -> Loss:
        return as_loss(self.loss)


@dataclass(frozen=True)
class BySign:
    """The rule that learns nothing: it takes the elements of positive score."""

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        """The chosen elements, in the shape of the scores."""
        return np.asarray(scores > 0)


class LearnedDecision(LossParameter, ABC):
    """An estimator with a rule that was learned from held-out scores."""

    learner_: RuleLearner
    rule_: Rule
    rule_name_: str
    rule_losses_: dict[str, tuple[float, float]]
    _learned_for: tuple[Any, str]

    @abstractmethod
    def _rule_asked(self) -> str:
        """The word for the rule among the parameters."""

    def _learn(self, learner: RuleLearner, loss: Loss) -> None:
        """Keep what was learned, and the rule for the loss."""
        self.learner_ = learner
        asked = self.rule_name_ = self._rule_asked()
        if asked == "auto":
            self.rule_name_, self.rule_losses_ = learner.chosen(loss)
        self._keep(learner.rule(self.rule_name_, loss))

    def _keep(self, rule: Rule) -> None:
        self.rule_, self._learned_for = rule, (self.loss, self._rule_asked())

    def _keep_sign(self) -> None:
        """Decide element by element, by the sign of the scores."""
        self.rule_name_ = "sign"
        self._keep(BySign())

    def _learned_rule(self) -> Rule:
        """The rule for the present parameters, which may have been set to another loss or rule after the fit."""
        asked = self._rule_asked()
        if asked == "sign":
            return BySign()
        check_is_fitted(self)
        check_is_fitted(self, "rule_", msg=f"learn the rule {asked!r} first: call fit again")
        if (self.loss, asked) == self._learned_for or (asked == "auto" and not hasattr(self, "learner_")):
            return self.rule_
        return self._held_out().rule(asked, self._loss())

    def _held_out(self) -> RuleLearner:
        check_is_fitted(self, "learner_", msg="there is no count model of held-out scores; call fit again")
        return self.learner_

    def _decides_by_counts(self) -> bool:
        """Whether there is a count model of held-out scores, or will be after a fit."""
        return True


def _has_counts(model: LearnedDecision) -> bool:
    if not model._decides_by_counts():
        raise AttributeError(
            f"this {type(model).__name__} decides by sign and has learned no chances; decision='auto' learns them "
            f"from 20 sets of several elements on, decision='counts' always"
        )
    return True


Method = TypeVar("Method")
of_count_models: Callable[[Method], Method] = available_if(_has_counts)
"""Decorates methods that need a count model."""


TABLES = (None, "default", "pandas", "polars")


class LabelSetMixin(LossParameter, ABC):
    """Labels are read by `_read_labels` before the fit; `_sets` says which labels are predicted."""

    classes_: NDArray[Any]
    label_names_: NDArray[np.object_]
    _flat: bool

    @abstractmethod
    def _sets(self, X: Any) -> NDArray[np.bool_]:
        """The predicted labels (n, p)."""

    # ---------------------------------------------------------------- labels in and out

    def _read_labels(self, y: Any) -> LabelMatrix:
        """The labels of the training; what their form says of predictions is kept."""
        labels = labels_of(y, type(self).__name__)
        self.classes_, self._flat = labels.classes, labels.flat
        if hasattr(self, "label_names_"):
            del self.label_names_
        if labels.names is not None:
            self.label_names_ = labels.names
        return labels

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Any:
        """Let `predict` and `predict_proba` give arrays ("default"), or tables with the names of the labels."""
        if transform not in TABLES:
            raise ValueError(f'transform is "default", "pandas" or "polars"; got {transform!r}')
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # where scikit-learn's clone looks for it
        return self

    def _shown(self, values: NDArray[Any], X: Any) -> Any:
        """Values (n, p) as asked for: one column, an array, or a table."""
        if self._flat:
            return values[:, 0]
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        names = getattr(self, "label_names_", None)
        if kind == "pandas":
            import pandas

            return pandas.DataFrame(values, index=getattr(X, "index", None), columns=names)
        if kind == "polars":
            import polars

            return polars.DataFrame(values, schema=None if names is None else list(names))
        return values

    def predict(self, X: Any) -> Any:
        """Label sets (n, p) in the alphabet of y, or classes of a single label."""
        chosen = self._sets(X)
        return self._shown(np.asarray(self.classes_[chosen.astype(np.intp)]), X)

    def _chances_shown(self, chances: Array, X: Any) -> Any:
        """P(y_j = 1) of every label (n, p); both classes (n, 2) of a single label."""
        return np.column_stack([1 - chances, chances]) if self._flat else self._shown(chances, X)

    # ---------------------------------------------------------------- losses

    def losses(self, X: Any, y: Any) -> Array:
        """The loss of every example; missing labels of y are left out, and examples without any known one too."""
        return self._losses(X, y)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss over the examples."""
        values, used = self._losses(X, y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[used]
        return 1.0 - float(np.average(values, weights=weights))

    def _losses(self, X: Any, y: Any) -> tuple[Array, NDArray[np.bool_]]:
        """The losses of the examples with a known label, and which those are."""
        chosen = self._sets(X)
        positive, known = self._truth(y, chosen.shape)
        used = np.asarray(known.any(axis=1))
        places = known[used]
        groups = np.repeat(np.arange(used.sum()), places.sum(axis=1))
        return np.asarray(self._loss()(positive[used][places], chosen[used][places], groups=groups)), used

    def _truth(self, y: Any, shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return known_truth(y, self.classes_, getattr(self, "label_names_", None), shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


class DecidedLabelSets(LabelSetMixin, LearnedDecision):
    """Label sets by a rule that was learned from held-out scores; `_scores` gives those of new examples."""

    if TYPE_CHECKING:

        def _scores(self, X: Any) -> Array: ...

    def _sets(self, X: Any) -> NDArray[np.bool_]:
        return self._learned_rule().sets(self._scores(X), self._loss())

    def decision_function(self, X: Any) -> Array:
        """Log-odds (n, p) of the labels, those of `predict_proba`."""
        found = log_odds(self._marginals(X), 1e-15)
        return found[:, 0] if self._flat else found

    @of_count_models
    def predict_proba(self, X: Any) -> Any:
        """P(y_j = 1) of every label (n, p) in the count model; (n, 2) after a fit with a single label."""
        return self._chances_shown(self._marginals(X), X)

    @of_count_models
    def predict_count_proba(self, X: Any) -> Array:
        """P(|y| = k) for k = 0, ..., K, the largest number of labels that has any mass."""
        scores = self._scores(X)
        return self._held_out().counts.model(scores).count_probabilities

    @of_count_models
    def expected_loss(self, X: Any) -> Array:
        """The loss of every example that the count model expects of `predict`."""
        scores = self._scores(X)
        model = self._held_out().counts
        sets = self._learned_rule().sets(scores, self._loss())
        return expected_losses_of(sets, model.scores(scores), self._loss(), counts=model.counts())

    def _marginals(self, X: Any) -> Array:
        scores = self._scores(X)
        return self._held_out().counts.model(scores).marginals


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
        self.classes_, positive = frame_labels(X, y, type(self).__name__)
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
