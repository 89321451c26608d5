"""Multi-label classification: every example is a set of p binary labels, each with its own weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length

from setloss.estimators.base import LinearSetModel, two_classes
from setloss.estimators.elements import elements_of_labels
from setloss.estimators.labels import as_array, check_names, label_matrix
from setloss.typing import Array


class SetClassifier(LinearSetModel):
    """Linear multi-label classifier trained for a loss of the set of wrong labels of each example.

        min over (w^1, ..., w^p)   1/2 sum_j |w^j|^2 + C sum_i weight_i B(y_i1 <w^1, x_i>, ..., y_ip <w^p, x_i>)

    Parameters
    ----------
    loss
        A name ("dice", "f1", "jaccard", "hamming", "curve1"...) or a `Loss`.
    operator
        The surrogate B: "slack", "margin", "bd", "bd-monotone", "lovasz" or "hinge". docs/which-operator.md has the
        measurements that made the default.
    scale
        c of slack and margin rescaling, also inside B_D: 1 is the tightest extension, 2 is printed in the paper.
    C
        Weight of the risk against the regulariser.
    tol
        Relative duality gap to reach: (primal - dual) / primal.
    max_iter, max_time
        Limits in iterations and seconds.
    solver
        "auto", "frank_wolfe", "newton", "cutting_plane", "n_slack" or "subgradient".
    fit_intercept, intercept_scaling
        An intercept is one more feature of constant value `intercept_scaling`, regularised like the others; "auto" is
        the root mean squared norm of the rows of X, so that it weighs as much as all features together.
    warm_start
        Start from the last solution.
    checkpoint, checkpoint_seconds
        A file to write the state of the solver to, and to resume from, and how often at most; the end is written in
        any case. A write that fails is a `CheckpointWarning`.
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
    n_iter_, dual_gap_, solution_
        How the solver fared; `solution_` has the history.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifier:
        """Train on X (n, d) and labels y (n, p) in {0, 1} or {-1, +1}.

        NaN, None or pandas' NA in y is a missing label, left out of its set.
        """
        loss = self._loss()
        self._check_parameters()
        X = self._checked_X(X, reset=True)
        truth, known = self._labels(y)
        check_consistent_length(X, truth)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(known.any(axis=1) & (weights > 0)):
            raise ValueError("no example has a known label and a positive weight; there is nothing to train on")
        self._fit(X, elements_of_labels(truth, known, weights), loss)
        return self

    def _labels(self, y: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which labels are positive, and which are known."""
        if y is None:
            raise ValueError("This SetClassifier estimator requires y to be passed, but the target y is None.")
        array = as_array(y)
        self._flat = array.ndim == 1
        self._forget_names()
        missing = array.dtype.kind == "f" and bool(np.any(np.isnan(array)))
        if self._flat or (array.shape[1:] == (1,) and not missing):
            column = check_array(array, ensure_2d=False, dtype=None, input_name="y").ravel()
            self.classes_, positive = two_classes(column)
            return positive[:, None], np.ones((len(positive), 1), dtype=bool)
        check_array(array, dtype=None, ensure_all_finite="allow-nan", input_name="y")
        labels = label_matrix(y)
        self.classes_ = labels.classes
        if labels.names is not None:
            self.label_names_ = labels.names
        return labels.positive, labels.known

    def _forget_names(self) -> None:
        """Label names belong to the last fit."""
        if hasattr(self, "label_names_"):
            del self.label_names_

    def decision_function(self, X: Any) -> Array:
        """Scores (n, p); positive predicts the label. One-dimensional after a fit with a one-dimensional y."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels (n, p) in the alphabet of y, or in the classes of a single label."""
        positive = self._scores(X) > 0
        predicted = np.asarray(self.classes_[positive.astype(np.intp)])
        return predicted[:, 0] if self._flat else predicted

    def losses(self, X: Any, y: Any) -> Array:
        """The loss of every example; missing labels of y are left out, and examples without any known one too."""
        return self._losses(X, y)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss over the examples."""
        values, used = self._losses(X, y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[used]
        return 1.0 - float(np.average(values, weights=weights))

    def _losses(self, X: Any, y: Any) -> tuple[Array, NDArray[np.bool_]]:
        predicted = self._scores(X) > 0
        check_names(getattr(self, "label_names_", None), y)
        array = as_array(y)
        array = array[:, None] if array.ndim == 1 else array
        if array.shape != predicted.shape:
            raise ValueError(f"y has shape {array.shape}; the model gives labels of shape {predicted.shape}")
        positive = array == self.classes_[1]
        known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones_like(positive)
        if not np.all(np.isin(array[known], self.classes_)):
            strange = array[known][~np.isin(array[known], self.classes_)][0]
            raise ValueError(f"y contains {strange!r}; the classes of the model are {self.classes_.tolist()}")
        wrong = known & (predicted != positive)
        used = known.any(axis=1)
        flat = known[used]
        groups = np.repeat(np.arange(used.sum()), flat.sum(axis=1))
        truth = positive[used][flat]
        return self._loss()(truth, truth ^ wrong[used][flat], groups=groups), used

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
