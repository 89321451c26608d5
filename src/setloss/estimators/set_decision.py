"""`SetDecision`: scores in, sets out."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from setloss.decisions.held_out import HeldOut
from setloss.decisions.rules import MOST_SETS, RuleLearner
from setloss.decisions.scores import as_numbers, check_scores, odds_of_certainty, without_certainty
from setloss.estimators.decider import SetDecider, is_lazy, refuse_lazy_groups
from setloss.estimators.features import checked_weights
from setloss.estimators.labels import check_columns, check_rows, label_names
from setloss.estimators.set_layout import read_sets
from setloss.losses import Loss
from setloss.typing import Array


@dataclass(eq=False, repr=False)
class SetDecision(SetDecider):
    """Sets of least expected loss, from scores of any origin.

        P(y | s) ~ exp( sum_j y_j (a s_j + b_j) + u_|y| ),        predict argmin_A E l(y, A)

    Scale a, biases b and potentials u of the number of positives are fitted by penalised likelihood to scores with
    known labels, which must not be those that the scorer was trained on. The fit keeps no scores and no labels.

    Probabilities of exactly 0 and 1 and infinite log-odds, of forests for example, are not taken for certain: they
    count as twice the largest odds in the fit of what is not certain, in predictions too (see
    `setloss.decisions.scores`). `setloss.decisions.decide` takes certainty at its word.

    The sets are the rows of y (n, p); or y is (n,), and `groups` name the set of each element, as in `SetClassifier`:
    then b is one number, and u depends on the size p of the set too, with atoms at no and at all elements and a
    smooth part in the share of positive ones, so that it serves sizes never seen.

    X are scores (n, p), which may be a Dask array. `fit` then draws 10,000 of its rows; `predict`, `predict_proba`,
    `expected_loss` and the answers of a promise are lazy, one block of rows at a time.

    Parameters
    ----------
    loss
        A name ("f1", "jaccard", "hamming"...) or a loss of counts. After ``set_params(loss=...)`` the count model
        decides for the new loss without a fit; rules that were learned for the old one want a new fit.
    rule
        "auto" (the default), "counts", "plug-in", "threshold" or "half"; see `setloss.decisions.rules`.
    average
        "samples": the mean loss of the sets. "macro": the mean over labels of the loss of one on all examples, and
        "micro": the loss of all labels of all examples as one set; for these two, thresholds are what is learned, one
        for each label or one for all, and `rule` plays no part.
    scores
        What scores are: "log-odds" (or margins), "probabilities", or "auto", log-odds unless all numbers lie in
        [0, 1], which is refused.

    Attributes
    ----------
    calibration_
        The count model (`setloss.decisions.calibration.Calibration`); that of independent labels where there are too
        many for one.
    rule_, rule_name_
        What `predict` uses.
    rule_losses_
        {rule: (mean, standard error)} of the loss on folds that the rule has not learned on, always with "threshold",
        one for all, and "half", threshold 1/2: what one would have without this class.
    threshold_
        The one threshold of all scores that loses least, in log-odds, whatever the rule; `rule_losses_` compares it.
    classes_, label_names_, n_features_in_, feature_names_in_
        The two classes, the names of the columns of y if it was a table, the number of labels (1 for y (n,)), and the
        names of the columns of scores if they were a table. Tables with columns in another order are refused.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> scores = generator.normal(-1, 1.5, size=(500, 6))
    >>> y = generator.random((500, 6)) < 1 / (1 + np.exp(-scores))
    >>> decision = SetDecision("f1").fit(scores[:300], y[:300])
    >>> decision.predict(scores[300:]).shape, bool(decision.score(scores[300:], y[300:]) > 0.4)
    ((200, 6), True)
    >>> promise = decision.promise(scores[300:], y[300:], at_most=0.5)
    >>> promise.answers(scores[300:]).mean() == promise.share
    np.True_
    """

    loss: str | Loss = "f1"
    _: KW_ONLY
    rule: str = "auto"
    average: str = "samples"
    scores: str = "auto"

    def fit(self, scores: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from scores (n, p) and labels y (n, p), dense or sparse, NaN where a label is not known.

        For y (n,) there is one score an element, (n,) or (n, 1), and `groups` name the set of each. Scores may also
        be the list of (n, 2) that `predict_proba` of a forest gives.
        """
        self._check_parameters()
        check_columns(scores, label_names(y), "scores", "y")
        check_rows(scores, y)
        names = label_names(scores)
        if is_lazy(scores):
            refuse_lazy_groups(groups, np.ndim(y) == 1)
            scores, y, sample_weight = drawn(scores, y, sample_weight)
        given = as_scores(scores, self.scores)
        certainty = odds_of_certainty(given, self.scores == "probabilities")
        array = self._log_odds(given, certainty)
        labels, matrix, sets = read_sets(array, y, groups, type(self).__name__)
        self._check_with(labels)
        if array.shape != matrix.positive.shape:
            raise ValueError(
                f"scores have shape {np.shape(scores)} and y {np.shape(y)}: one score for each label, or one for "
                "each element of y (n,)"
            )
        data = sets.held_out(array, matrix.positive, matrix.known, checked_weights(sample_weight, array))
        if not len(data):
            raise ValueError("no set has a known label and a positive sample weight; there is nothing to learn from")
        self._learn(labels, RuleLearner.of(data))
        self._certainty, self.n_features_in_ = certainty, labels.width
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _log_odds(self, scores: Array, certainty: float) -> Array:
        """Scores as log-odds, none of them certain."""
        return np.ascontiguousarray(without_certainty(scores, self.scores == "probabilities", certainty))

    def _scores(self, X: Any) -> Array:
        names, known = getattr(self, "feature_names_in_", self._labels.names), hasattr(self, "feature_names_in_")
        check_columns(X, names, "scores", "the fit", same=known)
        few = self.scores == "auto" and np.size(X) < 20  # too few to tell probabilities by; the fit always asks
        array = self._log_odds(as_scores(X, "log-odds" if few else self.scores), self._certainty)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input: scores (n, {self.n_features_in_})"
            )
        return array

    def _judged(self, X: Any, y: Any, groups: Any, sample_weight: Any = None) -> HeldOut:
        check_columns(X, label_names(y), "scores", "y")
        return super()._judged(X, y, groups, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        target = tags.target_tags
        target.one_d_labels, target.two_d_labels, target.multi_output = False, True, True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags


def drawn(scores: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The same rows of lazy scores, of labels and of weights, at most `MOST_SETS` of them, at random."""
    if np.isnan(scores.shape[0]):
        raise ValueError("scores are a Dask array of unknown length; call scores.compute_chunk_sizes() first")
    check_consistent_length(scores, y, weights)
    n = int(scores.shape[0])
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, MOST_SETS), replace=False))

    def some(values: Any) -> Any:
        return values[rows].compute() if is_lazy(values) else _safe_indexing(values, rows)

    return some(scores), some(y), None if weights is None else some(weights)


def as_scores(scores: Any, words: str) -> Array:
    """Checked scores (n, p), from tables, arrays and lists; a flat array is one column.

    A list of (n, 2), one for each label, as forests give it, holds the probabilities of both classes.
    """
    if isinstance(scores, list) and all(isinstance(one, np.ndarray) and one.ndim == 2 for one in scores):
        for label, one in enumerate(scores):
            if one.shape[1] != 2 or not np.allclose(one.sum(axis=1), 1, atol=1e-4):
                raise ValueError(
                    f"scores are a list, and the array of label {label} has shape {one.shape}; each must hold the "
                    "probabilities of both classes, (n, 2). Leave out labels of one class, and pass "
                    "np.column_stack([p[:, 1] for p in P])."
                )
        scores = np.column_stack([one[:, 1] for one in scores]) if scores else scores
    array = as_numbers(scores, "scores")
    if array.ndim not in (1, 2) or array.shape[0] == 0:
        shape = f"{array.shape}: Found array with 0 sample(s)"
        raise ValueError(f"scores are (n, p), or (n,) for elements in groups; got shape {shape}")
    check_scores(array, words)
    return array[:, None] if array.ndim == 1 else array
