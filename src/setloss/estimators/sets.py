"""Multi-label classification: every example is a set of p binary labels, each with its own weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from setloss.estimators.base import LinearSetModel
from setloss.estimators.decision_rules import LABEL_RULES, RuleLearner
from setloss.estimators.elements import elements_of_labels
from setloss.estimators.held_out import label_splits, learner_of_labels, number_of_folds, out_of_fold
from setloss.estimators.label_sets import DecidedLabelSets
from setloss.estimators.labels import LabelMatrix
from setloss.losses import Loss
from setloss.typing import Array


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
        How scores become sets: "sign" (positive scores), or a rule that is learned from scores of five folds, on top
        of the fit on everything: "counts", "plug-in", "threshold", "top-k" or "auto", see
        `setloss.estimators.decision_rules`. With these there are `predict_proba`, `predict_count_proba` and
        `expected_loss`, and ``set_params(loss=...)`` decides for another loss without a new fit. `SetDecisionCV` does
        the same for any classifier and any folds.
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
    learner_, rule_, rule_name_, rule_losses_
        Unless decision="sign": the held-out scores with what was fitted to them, the rule that `predict` uses, and
        with "auto" the held-out loss of every rule.
    n_iter_, dual_gap_, solution_
        How the solver fared; `solution_` has the history.
    """

    _decisions = ("sign", *LABEL_RULES, "auto")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifier:
        """Train on X (n, d) and labels y (n, p) in {0, 1} or {-1, +1}.

        NaN, None or pandas' NA in y is a missing label, left out of its set.
        """
        loss = self._decidable_loss()
        self._check_parameters()
        X = self._checked_X(X, reset=True)
        labels = self._read_labels(y)
        check_consistent_length(X, labels.positive)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(labels.known.any(axis=1) & (weights > 0)):
            raise ValueError("no example has a known label and a positive weight; there is nothing to train on")
        self._fit(X, elements_of_labels(labels.positive, labels.known, weights), loss)
        if self.decision != "sign":
            self._learn_decision(X, labels, weights, loss)
        return self

    def _learn_decision(self, X: Any, labels: LabelMatrix, weights: Array, loss: Loss) -> None:
        """The rule, from scores of copies of the model that have not seen the example."""
        used = np.flatnonzero(labels.known.any(axis=1) & (weights > 0))
        X, labels, weights = X[used], labels.rows(used), weights[used]
        members = min(labels.positive.sum(), (~labels.positive).sum()) if labels.single else len(used)
        splits = label_splits(number_of_folds(int(members)), X, labels)
        target = labels.numbers.ravel() if labels.flat else labels.numbers

        def learned() -> RuleLearner:
            scores = out_of_fold(self, X, splits, y=target, sample_weight=weights)
            return learner_of_labels(scores, labels, weights, splits)

        self._learn_unless_interrupted(learned, loss)
