"""Label sets: every example is a set of p binary labels, each with its own weights.

`LabelSetMixin` is what all estimators of label sets share: labels in and out, losses and scores, tags.
`DecidedLabelSets` adds a rule that was learned from held-out scores, and its probabilities; `SetClassifier` trains
linear scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from setloss.decisions import expected_losses_of
from setloss.decisions.rules import LABEL_RULES, RuleLearner
from setloss.estimators.elements import elements_of_labels
from setloss.estimators.folds import enough_of, label_splits, learner_of_labels, number_of_folds, out_of_fold
from setloss.estimators.label_scores import log_odds
from setloss.estimators.labels import LabelMatrix, known_truth, labels_of
from setloss.estimators.linear_model import LearnedDecision, LinearSetModel, LossParameter, of_count_models
from setloss.losses import Loss
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


class SetClassifier(DecidedLabelSets, LinearSetModel):
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
    decision
        How scores become sets: "sign" (positive scores, and nothing more to learn), or a rule that is learned from
        scores of held-out folds after the fit on everything: "counts", "plug-in", "threshold", "top-k", or the best
        of them, "auto", the default; see `setloss.decisions.rules`. "auto" is the sign for fewer than 20
        examples of two or more known labels, and for losses that are not of counts; `rule_name_` says what it came
        to. With a rule that was learned there are `predict_proba`, `predict_count_proba` and `expected_loss`,
        and ``set_params(loss=...)`` decides for another loss without a new fit. `SetDecisionCV` does the same for any
        classifier and any folds.
    tol
        Relative duality gap to reach: (primal - dual) / primal; three times that on held-out folds.
    max_iter, max_time
        Limits in iterations of each fit, and in seconds of everything: if time is up before the rule is learned, the
        sign decides, with a warning.
    solver
        "auto", "frank_wolfe", "newton", "cutting_plane" or "n_slack".
    fit_intercept, intercept_scaling
        An intercept is one more feature of constant value `intercept_scaling`, regularised like the others; "auto" is
        the root mean squared norm of the rows of X, so that it weighs as much as all features together.
    warm_start
        Start from the last solution.
    checkpoint, checkpoint_seconds
        A file to write the state of the solver to, and to resume from, and how often at most; the end is written in
        any case. A write that fails is a `CheckpointWarning`.
    random_state, verbose, callbacks
        Seed of the visiting order; ``verbose=1`` shows every iteration; callbacks get a `Record` each. Warm starts,
        checkpoints and callbacks are for the fit on everything, not for held-out folds.

    Attributes
    ----------
    coef_, intercept_
        Of shape (p, d) and (p,).
    classes_
        0 and 1, or -1 and 1, as in y; or the two classes of a single label, the second being the positive one.
    label_names_
        The column names of y if it was a table: ``pd.DataFrame(model.predict(X), columns=model.label_names_)``.
    rule_, rule_name_
        The rule that `predict` uses, and its name: what "auto" came to.
    rule_status_
        `Status.CONVERGED`; or `INTERRUPTED` or `TIME_LIMIT`, if that is why no rule was learned and the sign decides.
    learner_, rule_losses_
        Unless that is the sign: the held-out scores with what was fitted to them, and with "auto" the held-out loss
        of every rule.
    n_iter_, dual_gap_, solution_
        How the solver fared; `solution_` has the history.
    """

    _decisions = ("sign", *LABEL_RULES, "auto")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifier:
        """Train on X (n, d) and labels y (n, p) in {0, 1} or {-1, +1}.

        NaN, None or pandas' NA in y is a missing label, left out of its set.
        """
        loss, deadline = self._decidable_loss(), self._deadline()
        self._check_parameters()
        X = self._checked_X(X, reset=True)
        labels = self._read_labels(y)
        check_consistent_length(X, labels.positive)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = np.flatnonzero(labels.known.any(axis=1) & (weights > 0))
        if not len(used):
            raise ValueError("no example has a known label and a positive weight; there is nothing to train on")
        self._fit(X, elements_of_labels(labels.positive, labels.known, weights), loss)
        if self._learns(loss, labels.known[used].sum(axis=1)):
            self._learn_decision(X[used], labels.rows(used), weights[used], loss, deadline)
        return self

    def decision_function(self, X: Any) -> Array:
        """The linear scores (n, p), ``X @ coef_.T + intercept_``; positive ones are predicted if the sign decides."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def _learn_decision(
        self, X: Any, labels: LabelMatrix, weights: Array, loss: Loss, deadline: float | None
    ) -> None:
        """The rule, from scores of copies of the model that have not seen the example."""
        n = len(weights)
        members = min(labels.positive.sum(), (~labels.positive).sum()) if labels.single else n
        splits = enough_of(label_splits(number_of_folds(int(members)), X, labels), n)
        if self.decision == "auto" and not all(labels.rows(train).has_both for train, _ in splits):
            return  # all positive labels, or all negative ones, are of an example or two
        target = labels.numbers.ravel() if labels.flat else labels.numbers

        def learned() -> RuleLearner:
            scores = out_of_fold(self, X, splits, deadline, y=target, sample_weight=weights)
            return learner_of_labels(scores, labels, weights, splits)

        self._learn_unless_stopped(learned, loss)
