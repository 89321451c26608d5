"""What every estimator of label sets shares: labels in and out, losses and scores, probabilities, tags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from setloss.decisions import expected_losses_of
from setloss.estimators.base import LearnedDecision, LossParameter, of_count_models
from setloss.estimators.label_scores import log_odds
from setloss.estimators.labels import LabelMatrix, known_truth, labels_of
from setloss.typing import Array

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
