"""`SetClassifier`: every example is a set of p binary labels, each with its own weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from setloss.estimators.elements import checked_features, elements_of_labels
from setloss.estimators.labels import Flags, LabelMatrix, known_truth, labels_of
from setloss.estimators.linear_model import LinearSetModel, checked_weights
from setloss.typing import Array


class SetClassifier(LinearSetModel):
    """Linear multi-label classifier trained for a loss of the set of wrong labels of each example.

        min over (w^1, ..., w^p)   1/2 sum_j |w^j|^2 + C sum_i weight_i B(y_i1 <w^1, x_i>, ..., y_ip <w^p, x_i>)

    `predict` takes the labels of positive score, as the paper does. `SetDecisionCV(SetClassifier())` decides for the
    whole set instead, by a rule that is learned from held-out scores.

    Parameters
    ----------
    loss
        A name ("dice", "f1", "jaccard", "hamming", "curve1"...), a `Loss`, or a callable of two label vectors.
    operator
        The surrogate B: "slack", "margin", "bd", "bd-monotone", "lovasz" or "hinge", or a function from set functions
        to surrogates. docs/evidence.md has the measurements behind the default.
    scale
        c of slack and margin rescaling, also inside B_D: 1 is the tightest extension, 2 is printed in the paper.
    C
        Weight of the risk against the regulariser. ``C weight |x|^2``, summed over the rows, may be 1e15 at most.
    tol
        Relative duality gap to reach: (primal - dual) / primal.
    max_iter, max_time
        Limits in iterations and in seconds; the best model so far is kept, with a warning.
    solver
        "auto", "frank_wolfe", "admm", "cutting_plane" or "n_slack".
    fit_intercept, intercept_scaling
        An intercept is one more feature of constant value `intercept_scaling`, regularised like the others; "auto" is
        the root mean squared norm of the rows of X, so that it weighs as much as all features together.
    warm_start
        Start from the last solution.
    checkpoint
        A file that the state of the solver is written to while it runs, and that the next fit starts from. A write
        that fails is a `CheckpointWarning`.
    random_state, verbose, callbacks
        Seed of the visiting order; ``verbose=1`` shows every iteration; callbacks get a `Record` each.

    Attributes
    ----------
    coef_, intercept_
        Of shape (p, d) and (p,).
    classes_
        0 and 1, or -1 and 1, as in y; or the two classes of a single label, the second being the positive one.
    label_names_
        The column names of y if it was a table: ``pd.DataFrame(model.predict(X), columns=model.label_names_)``.
    n_features_in_, feature_names_in_
        The number of features, and their names if X was a table.
    n_iter_, dual_gap_, solution_
        Iterations, the relative gap reached, and all else that the solver reports; `solution_` has the history.
    """

    label_names_: NDArray[np.object_]
    _flat: bool
    """Whether y was one column (n,), so that predictions are."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifier:
        """Train on X (n, d) and labels y (n, p) in {0, 1} or {-1, +1}, dense or sparse.

        NaN, None or pandas' NA in y is a missing label, left out of its set.
        """
        self._validate_params()
        loss = self._loss()
        X = checked_features(self, X, reset=True)
        labels = self._read_labels(y)
        check_consistent_length(X, labels.positive)
        weights = checked_weights(sample_weight, X)
        if not np.any(labels.known.any(axis=1) & (weights > 0)):
            raise ValueError("no example has a known label and a positive weight; there is nothing to train on")
        self._fit(X, elements_of_labels(labels.positive, labels.known, weights), loss)
        return self

    def _read_labels(self, y: Any) -> LabelMatrix:
        """The labels of the training; their form is that of predictions."""
        labels = labels_of(y, type(self).__name__)
        self.classes_, self._flat = labels.classes, labels.flat
        if hasattr(self, "label_names_"):
            del self.label_names_
        if labels.names is not None:
            self.label_names_ = labels.names
        return labels

    def decision_function(self, X: Any) -> Array:
        """The linear scores (n, p), ``X @ coef_.T + intercept_``; (n,) after a fit with a single column."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def predict(self, X: Any) -> Any:
        """The labels of positive score (n, p), in the alphabet of y; or classes (n,) of a single column."""
        labels = np.where(self._scores(X) > 0, self.classes_[1], self.classes_[0])
        return labels[:, 0] if self._flat else labels

    def losses(self, X: Any, y: Any) -> Array:
        """The loss of every example; missing labels of y are left out, and examples without any known one too."""
        return self._losses(X, y)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss over the examples."""
        values, used = self._losses(X, y)
        weights = None if sample_weight is None else checked_weights(sample_weight, used)[used]
        return 1.0 - float(np.average(values, weights=weights))

    def _losses(self, X: Any, y: Any) -> tuple[Array, Flags]:
        """The losses of the examples with a known label, and which those are."""
        chosen = self._scores(X) > 0
        positive, known = known_truth(y, self.classes_, getattr(self, "label_names_", None), chosen.shape)
        used = np.asarray(known.any(axis=1))
        if known.all():
            return np.asarray(self._loss()(positive, chosen)), used
        places = known[used]
        groups = np.repeat(np.arange(used.sum()), places.sum(axis=1))
        return np.asarray(self._loss()(positive[used][places], chosen[used][places], groups=groups)), used

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
