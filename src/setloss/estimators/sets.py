"""Multi-label classification: every example is a set of p binary labels, each with its own weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from setloss.estimators.base import LinearSetModel
from setloss.estimators.decision_rules import LABEL_RULES, RuleLearner
from setloss.estimators.elements import elements_of_labels
from setloss.estimators.held_out import enough_of, label_splits, learner_of_labels, number_of_folds, out_of_fold
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
        How scores become sets: "sign" (positive scores, and nothing more to learn), or a rule that is learned from
        scores of held-out folds after the fit on everything: "counts", "plug-in", "threshold", "top-k", or the best
        of them, "auto", the default; see `setloss.estimators.decision_rules`. "auto" is the sign for fewer than 50
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
        target = labels.numbers.ravel() if labels.flat else labels.numbers

        def learned() -> RuleLearner:
            scores = out_of_fold(self, X, splits, deadline, y=target, sample_weight=weights)
            return learner_of_labels(scores, labels, weights, splits)

        self._learn_unless_stopped(learned, loss)
