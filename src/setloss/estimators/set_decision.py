"""`SetDecision`: scores in, sets out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from setloss.bags import Bags
from setloss.decisions.calibration import Calibration
from setloss.decisions.held_out import HeldOut, mean_loss
from setloss.decisions.promises import Promise, largest_loss, make_promise
from setloss.decisions.rules import (
    MOST_SETS,
    RULES,
    Reliability,
    Rule,
    RuleLearner,
    Threshold,
    count_loss,
)
from setloss.decisions.scores import (
    LARGEST,
    as_numbers,
    check_scores,
    check_scores_word,
    odds_of_certainty,
    without_certainty,
)
from setloss.decisions.threshold_scan import column_thresholds, threshold_of_sets
from setloss.estimators.blocks import by_block, drawn, is_lazy
from setloss.estimators.labels import check_score_names, label_names
from setloss.estimators.linear_model import checked_weights
from setloss.estimators.set_layout import Labels, SetLayout, read_sets
from setloss.losses import CountLoss, Loss, as_loss
from setloss.typing import Array

AVERAGES = ("samples", "macro", "micro")

FEW_SCORES = 20
"""Fewest scores in a prediction of which "auto" asks whether they are probabilities; the fit always asks."""


class ExpectedScore(NamedTuple):
    """The mean score to expect, and an interval that covers the observed one in most cases."""

    value: float
    low: float
    high: float


class SetDecision(ClassifierMixin, BaseEstimator):
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

    Scores (n, p) may be a Dask array. `fit` then draws 10,000 of its rows; `predict`, `predict_proba`,
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
        one for all, and "half", the cut at 1/2: what one would have without this class.
    threshold_
        The one threshold of all scores that loses least, in log-odds, whatever the rule; `rule_losses_` compares it.
    classes_, label_names_, n_features_in_, feature_names_in_
        The two classes, the names of the columns of y if it was a table, the number of labels (1 for y (n,)), and the
        names of the columns of scores if they were a table. Tables with columns in another order are refused.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> scores = generator.normal(-1, 1.5, size=(500, 6))
    >>> y = generator.random((500, 6)) < expit(scores)
    >>> decision = SetDecision("f1").fit(scores[:300], y[:300])
    >>> decision.predict(scores[300:]).shape, bool(decision.score(scores[300:], y[300:]) > 0.4)
    ((200, 6), True)
    >>> promise = decision.promise(scores[300:], y[300:], at_most=0.5)
    >>> promise.answers(scores[300:]).mean() == promise.share
    np.True_
    """

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    calibration_: Calibration
    rule_: Rule
    rule_name_: str
    rule_losses_: dict[str, tuple[float, float]]
    threshold_: float
    classes_: NDArray[Any]
    label_names_: NDArray[np.object_]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _reliability: Reliability | None
    _promise: Promise
    _promised_for: Any
    _labels: Labels
    _certainty: float = LARGEST

    def __init__(
        self, loss: str | Loss = "f1", *, rule: str = "auto", average: str = "samples", scores: str = "auto"
    ) -> None:
        self.loss = loss
        self.rule = rule
        self.average = average
        self.scores = scores

    # ---------------------------------------------------------------- learning

    def fit(self, scores: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> SetDecision:
        """Learn from scores (n, p) and labels y (n, p), dense or sparse, NaN where a label is not known.

        For y (n,) there is one score an element, (n,) or (n, 1), and `groups` name the set of each. Scores may also
        be the list of (n, 2) that `predict_proba` of a forest gives.
        """
        check_parameters(self)
        check_score_names(scores, label_names(y), "y")
        names = label_names(scores)
        if is_lazy(scores):
            _refuse_lazy_groups(groups, np.ndim(y) == 1)
            scores, y, sample_weight = drawn(MOST_SETS, scores, y, sample_weight)
        given = as_scores(scores, self.scores)
        certainty = odds_of_certainty(given, self.scores == "probabilities")
        array = self._log_odds(given, certainty)
        labels, matrix, sets = read_sets(array, y, groups, type(self).__name__)
        if array.shape != matrix.positive.shape:
            raise ValueError(
                f"scores have shape {np.shape(scores)} and y {np.shape(y)}: one score for each label, or one for "
                "each element of y (n,)"
            )
        weights = checked_weights(sample_weight, array)
        data = sets.held_out(array, matrix.positive, matrix.known, weights)
        self.fit_held_out(labels, data, None, certainty)
        if "feature_names_in_" in vars(self):
            del self.feature_names_in_
        if names is not None:
            self.feature_names_in_ = names
        return self

    def fit_held_out(
        self, labels: Labels, data: HeldOut, learner: RuleLearner | None = None, certainty: float = LARGEST
    ) -> SetDecision:
        """Learn from sets that some fold holds out; the learner, if given, is that of the same sets.

        `certainty` is the log-odds that certain scores count as.
        """
        check_average(self.average, labels)
        known = data.known.any(axis=1) if data.bags is None else data.bags.totals(data.known.astype(np.intp)) > 0
        used = (data.folds >= 0) & (data.weights > 0) & known
        if not used.any():
            raise ValueError("no set has a known label and a positive sample weight; there is nothing to learn from")
        data = data if used.all() else data.part(used)
        learner = learner or RuleLearner.of(data)
        loss = self._loss()
        self._certainty = certainty
        if "_promise" in vars(self):
            del self._promise
        labels.set_attributes(self)
        self.n_features_in_ = labels.width
        self.calibration_ = learner.model
        if self.average != "samples":
            self.rule_name_, self.rule_losses_, self._reliability = "threshold", {}, None
            chances = learner.independent.marginals(data.scores)
            self.rule_ = Threshold(column_thresholds(data, chances, loss, self.average))
        else:
            self._learn_rule(learner, loss)
        self._learned_for = (self.loss, self.rule, self.average)
        return self

    def held_out_loss(self, learner: RuleLearner) -> float:
        """The mean loss of what would be decided, on folds that nothing was learned on."""
        return learner.decided_loss(self.rule, self._loss(), self.average)

    def _log_odds(self, scores: Array, certainty: float) -> Array:
        """Scores as log-odds, none of them certain."""
        return np.ascontiguousarray(without_certainty(scores, self.scores == "probabilities", certainty))

    def _learn_rule(self, learner: RuleLearner, loss: CountLoss) -> None:
        losses = learner.judged(learner.candidates if self.rule == "auto" else [self.rule], loss)
        self.rule_name_ = learner.choose(losses) if self.rule == "auto" else self.rule
        self.rule_losses_ = learner.summary(losses)
        self.rule_ = learner.rule(self.rule_name_, loss)
        self.threshold_ = float(threshold_of_sets(learner.data, loss))
        self._reliability = learner.reliability(losses[self.rule_name_]) if losses else None

    # ---------------------------------------------------------------- deciding

    def _loss(self) -> CountLoss:
        return count_loss(as_loss(self.loss))

    def _rule(self) -> tuple[str, Rule]:
        """The rule for the present parameters, which may have been set to others after the fit."""
        check_is_fitted(self)
        if (self.loss, self.rule, self.average) == self._learned_for:
            return self.rule_name_, self.rule_
        check_parameters(self)
        check_average(self.average, self._labels)
        if self.average == "samples" and self.rule in ("auto", "counts"):
            return "counts", self.calibration_
        if self.average == "samples" and self.rule == self.rule_name_ and self.rule in ("plug-in", "half"):
            return self.rule_name_, self.rule_
        raise ValueError(
            f"the rule for loss={self.loss!r}, rule={self.rule!r}, average={self.average!r} has to be learned from "
            "data; call fit again"
        )

    def _read(self, scores: Any, groups: Any, what: str) -> tuple[Array, SetLayout]:
        """Scores (n, p) to decide for as log-odds, and their sets."""
        check_is_fitted(self)
        check_score_names(scores, getattr(self, "feature_names_in_", None), "the fit", same=True)
        check_score_names(scores, self._labels.names, "y of the fit")
        few = self.scores == "auto" and np.size(scores) < FEW_SCORES
        array = self._log_odds(as_scores(scores, "log-odds" if few else self.scores), self._certainty)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f"features as input: scores (n, {self.n_features_in_})"
            )
        return array, self._labels.sets(len(array), groups, what)

    def predict(self, scores: Any, *, groups: Any = None) -> NDArray[Any]:
        """The chosen sets in the form and the alphabet of y: label sets (n, p), or a class for every element (n,)."""
        if is_lazy(scores):
            return self._by_block(self.predict, scores, groups, self.classes_.dtype)
        array, sets = self._read(scores, groups, "decided")
        return self._labels.write(sets.scatter(self._chosen(sets.gather(array), sets.bags)))

    def _by_block(self, method: Any, scores: Any, groups: Any, dtype: Any, *, of_sets: bool = False) -> NDArray[Any]:
        check_is_fitted(self)
        _refuse_lazy_groups(groups, self._labels.flat)
        return by_block(method, scores, dtype, of_sets=of_sets)

    def _chosen(self, scores: Array, bags: Bags | None) -> NDArray[np.bool_]:
        """The chosen elements of gathered scores."""
        return self._rule()[1].sets(scores, self._loss(), bags)

    def _expected(self, scores: Array, bags: Bags | None) -> Array:
        """The loss of every chosen set as the count model expects it."""
        name, rule = self._rule()
        if isinstance(rule, Calibration) and name == "counts":
            return rule.decide(scores, self._loss(), bags).expected_loss
        return self.calibration_.expected_losses(self._chosen(scores, bags), scores, self._loss(), bags)

    def predict_proba(self, scores: Any, *, groups: Any = None) -> Array:
        """P(y_j = 1) of every label (n, p) given all scores of its set; after a fit of y (n,), of both classes."""
        if is_lazy(scores):
            return self._by_block(self.predict_proba, scores, groups, np.float64)
        array, sets = self._read(scores, groups, "judged")
        found = sets.scatter(self.calibration_.marginals(sets.gather(array), sets.bags))
        return np.column_stack([1 - found, found]) if self._labels.flat else found

    def thresholds(self, *, probabilities: bool = False) -> Array:
        """The cut of every label (p,), in log-odds (of margins: in their own unit); or as probabilities.

        A label is chosen if its score is above; where it is best left alone (macro), that is infinite. Only rules
        that cut scores have one.
        """
        name, rule = self._rule()
        if not isinstance(rule, Threshold):
            raise ValueError(
                f'rule {name!r} does not cut every score at a threshold; pass rule="threshold", or average="macro"'
            )
        found = np.broadcast_to(np.asarray(rule.value, dtype=np.float64), (self.n_features_in_,)).copy()
        return np.asarray(expit(found)) if probabilities else found

    # ---------------------------------------------------------------- what to expect

    def expected_loss(self, scores: Any, *, groups: Any = None) -> Array:
        """The loss to expect of every chosen set, whatever the rule, as the count model sees it.

        Groups come in sorted order. It says which sets are surer than others; where the count model does not decide,
        mostly because it fits badly, the mean may be off, which `expected_score` corrects.
        """
        self._need_samples("expected losses are those of single sets")
        if is_lazy(scores):
            return self._by_block(self.expected_loss, scores, groups, np.float64, of_sets=True)
        array, sets = self._read(scores, groups, "judged")
        return self._expected(sets.gather(array), sets.bags)

    def promise(
        self,
        scores: Any,
        y: Any,
        *,
        at_most: float,
        confidence: float = 0.9,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Promise:
        """Promise a mean loss of at most `at_most` on those new sets that are answered: the surest ones.

        `scores` and `y` are of examples that neither the scorer nor `fit` has seen; sets are independent draws, as
        new ones are, and the loss is that on known labels. With weights the weighted mean loss is bounded, where no
        new set may weigh more than the heaviest here. The promise is part of the model, as `promise_`, until the next
        one or the next fit.
        """
        self._need_samples("a promise is about the losses of single sets")
        data, loss = self._judged(scores, y, groups, sample_weight), self._loss()
        sizes = data.known.sum(axis=1) if data.bags is None else data.bags.sizes
        self._promise = make_promise(
            self._expected(data.scores, data.bags),
            data.losses(self._chosen(data.scores, data.bags), loss),
            at_most=at_most,
            confidence=confidence,
            weights=data.weights,
            largest=largest_loss(loss, sizes),
            loss=self.loss if isinstance(self.loss, str) else repr(self.loss),
        )
        self._promised_for = (self.loss, self.rule, self.average)
        return self.promise_

    @property
    def promise_(self) -> Promise:
        """The last promise; there is none after another fit, or for other parameters than it was made for."""
        if "_promise" not in vars(self) or self._promised_for != (self.loss, self.rule, self.average):
            raise AttributeError("nothing was promised for these parameters; call promise with held-out examples")
        return replace(self._promise, model=copy(self))

    def expected_score(self, scores: Any, *, groups: Any = None, level: float = 0.9) -> ExpectedScore:
        """The mean score (1 - loss) to expect on these sets, whose labels nobody knows, with an interval.

        What the count model expects of the predicted sets, corrected by the difference of observed and expected
        losses on held-out folds. It assumes that labels depend on scores as they did there: a shift of the features
        counts as far as the scores show it, a shift of the base rates given the scores does not. Another loss wants
        a fit, for the correction is learned from held-out scores, which a model does not keep; scores by average
        "macro" and "micro" are no means over sets, whose spread would be known.
        """
        self._need_samples("the expected score is a mean over sets")
        array, sets = self._read(scores, groups, "judged")
        if self._reliability is None or (self.loss, self.rule, self.average) != self._learned_for:
            raise ValueError(
                f"an expected score is corrected by held-out losses of its rule, and those for {self.loss!r} are not "
                "known, since a model keeps no held-out scores; call fit again with this loss and rule"
            )
        expected = self._expected(sets.gather(array), sets.bags)
        value = 1 - float(np.mean(expected)) - self._reliability.bias
        width = self._reliability.half_width(len(expected), level)
        return ExpectedScore(*(float(np.clip(x, 0, 1)) for x in (value, value - width, value + width)))

    def _need_samples(self, what: str) -> None:
        if self.average != "samples":
            raise ValueError(f'{what}; average is {self.average!r}, not "samples"')

    # ---------------------------------------------------------------- judging

    def losses(self, scores: Any, y: Any, *, groups: Any = None) -> Array:
        """The loss of every set with a known label, those of groups in sorted order."""
        data = self._judged(scores, y, groups)
        return data.losses(self._chosen(data.scores, data.bags), self._loss())

    def score(self, scores: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss of the sets, or of the labels (macro), or of everything as one set (micro)."""
        data = self._judged(scores, y, groups, sample_weight)
        return 1 - mean_loss(data, self._chosen(data.scores, data.bags), self._loss(), self.average)

    def _judged(self, scores: Any, y: Any, groups: Any, sample_weight: Any = None) -> HeldOut:
        """Sets with known labels."""
        check_score_names(scores, label_names(y), "y")
        array, sets = self._read(scores, groups, "judged")
        truth, known = self._labels.truth(y, len(array))
        weights = checked_weights(sample_weight, array)
        data = sets.held_out(array, truth, known, weights)
        used = np.asarray(known.any(axis=1)) if sets.bags is None else np.ones(len(sets), dtype=bool)
        return data if used.all() else data.part(used)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        target = tags.target_tags
        target.one_d_labels, target.two_d_labels, target.multi_output = False, True, True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags


def check_parameters(decision: SetDecision) -> None:
    """Refuse parameters that make no sense, before anything is learned."""
    if decision.rule not in RULES:
        raise ValueError(f"there is no rule {decision.rule!r}; the names are {', '.join(RULES)}")
    if decision.average not in AVERAGES:
        raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {decision.average!r}")
    check_scores_word(decision.scores)
    count_loss(as_loss(decision.loss))


def check_average(average: str, labels: Labels) -> None:
    """Refuse averages over labels where the sets are groups of elements."""
    if labels.flat and average != "samples":
        raise ValueError(f'the loss of groups is a mean over groups; average must be "samples", not {average!r}')


def _refuse_lazy_groups(groups: Any, flat: bool) -> None:
    if flat or groups is not None:
        raise ValueError("a Dask array of scores has one set in each row, and y is (n, p); groups need NumPy arrays")


def as_scores(scores: Any, words: str) -> Array:
    """Checked scores (n, p), from lists, tables and arrays; a flat array is one column."""
    array = as_numbers(_of_second_class(scores), "scores")
    if array.ndim not in (1, 2) or array.shape[0] == 0:
        shape = f"{array.shape}: Found array with 0 sample(s)"
        raise ValueError(f"scores are (n, p), or (n,) for elements in groups; got shape {shape}")
    check_scores(array, words)
    return array[:, None] if array.ndim == 1 else array


def _of_second_class(scores: Any) -> Any:
    """The probabilities of 1 in a list of (n, 2), one for each label, as forests give them; others as they are."""
    parts = scores if isinstance(scores, list) else []
    if not parts or not all(isinstance(one, np.ndarray) and one.ndim == 2 for one in parts):
        return scores
    for label, one in enumerate(parts):
        if one.shape[1] != 2 or not np.allclose(one.sum(axis=1), 1, atol=1e-4):
            raise ValueError(
                f"scores are a list, and the array of label {label} has shape {one.shape}; each must hold the "
                "probabilities of both classes, (n, 2). Leave out labels of one class, and pass "
                "np.column_stack([p[:, 1] for p in P])."
            )
    return np.column_stack([one[:, 1] for one in parts])
