"""`SetDecision`: scores in, sets out."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from setloss.bags import Bags
from setloss.decisions.calibration import Calibration
from setloss.decisions.certainty import odds_of_certainty, without_certainty
from setloss.decisions.held_out import HeldOut, column_thresholds, numbered_folds, threshold_of_sets
from setloss.decisions.rules import (
    Reliability,
    Rule,
    RuleLearner,
    Threshold,
    check_rule,
    count_loss,
)
from setloss.decisions.scores import LARGEST, as_numbers, check_scores, check_scores_word
from setloss.estimators.bag_classifier import bags_named, frame_labels, warn_if_ungrouped
from setloss.estimators.labels import known_truth, labels_of
from setloss.estimators.linear_model import checked_weights
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
    `setloss.decisions.certainty`). `setloss.decisions.decide` takes certainty at its word.

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
    classes_, label_names_, n_features_in_
        The two classes, the names of the columns of y if it was a table, and the number of labels (1 for bags).
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
    _reliability: Reliability | None
    _certainty: float = LARGEST

    def __init__(
        self, loss: str | Loss = "f1", *, rule: str = "auto", average: str = "samples", scores: str = "auto"
    ) -> None:
        self.loss = loss
        self.rule = rule
        self.average = average
        self.scores = scores

    # ---------------------------------------------------------------- learning

    def fit(self, scores: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> SetDecision:
        """Learn from scores (n, p) and labels y (n, p), dense or sparse, NaN where a label is not known.

        For bags, from one score an element (N,), labels (N,) and `groups`, the bag of each element.
        """
        self._check_parameters(groups is not None)
        given = as_scores(scores)
        check_scores(given, self.scores)
        self._certainty = odds_of_certainty(given, self.scores == "probabilities")
        array = self._log_odds(given)
        if groups is not None:
            self._learn(self._held_out_bags(array, y, groups, sample_weight))
            return self
        labels = labels_of(y, type(self).__name__)
        if array.shape != labels.positive.shape:
            raise ValueError(
                f"scores have shape {array.shape} and y {labels.positive.shape}: one score for each label, or flat "
                "with groups="
            )
        self._take_classes(labels.classes, labels.names, labels.flat)
        weights, folds = checked_weights(sample_weight, array), numbered_folds(None, len(array))
        self._learn(HeldOut(array, labels.positive, labels.known, weights, folds))
        return self

    def _log_odds(self, scores: Array) -> Array:
        """Scores as log-odds, none of them certain."""
        return np.ascontiguousarray(without_certainty(scores, self.scores == "probabilities", self._certainty))

    def _held_out_bags(self, scores: Array, y: Any, groups: Any, sample_weight: Any) -> HeldOut:
        """Frames in bags."""
        if scores.ndim != 1:
            raise ValueError(f"with groups, scores are flat, one for each element; got shape {scores.shape}")
        classes, positive = frame_labels(scores[:, None], y, type(self).__name__)
        self._take_classes(classes, None, True)
        weights = checked_weights(sample_weight, scores[:, None])
        bags = bags_named(groups, len(scores))
        return HeldOut.of_bags(scores, positive, bags.means(weights), numbered_folds(None, len(bags)), bags)

    def _check_parameters(self, in_bags: bool) -> None:
        check_rule(self.rule)
        if self.average not in AVERAGES:
            raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {self.average!r}")
        if in_bags and self.average != "samples":
            raise ValueError(f'the loss of bags is a mean over bags; average must be "samples", not {self.average!r}')
        check_scores_word(self.scores)
        self._loss()

    def _take_classes(self, classes: NDArray[Any], names: NDArray[np.object_] | None, flat: bool) -> None:
        self.classes_, self._flat = classes, flat
        self.__dict__.pop("label_names_", None)
        if names is not None:
            self.label_names_ = names

    def _learn(self, data: HeldOut, learner: RuleLearner | None = None) -> None:
        """Fit models and rule to sets that some fold holds out; the learner, if given, is that of the same sets."""
        used = (data.folds >= 0) & (data.weights > 0)
        if data.bags is None:
            used &= data.known.any(axis=1)
        if not used.any():
            raise ValueError("no set has a known label and a positive sample weight; there is nothing to learn from")
        data = data if used.all() else data.part(used)
        learner = learner or RuleLearner.of(data)
        loss = self._loss()
        self.n_features_in_ = 1 if data.bags is not None else int(data.scores.shape[1])
        self._in_bags = data.bags is not None
        self.calibration_ = learner.model
        if self.average != "samples":
            self.rule_name_, self.rule_losses_, self._reliability = "threshold", {}, None
            chances = learner.independent.marginals(data.scores)
            self.rule_ = Threshold(column_thresholds(data, chances, loss, self.average))
        else:
            self._learn_rule(learner, loss)
        self._learned_for = (self.loss, self.rule, self.average)

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
        self._check_parameters(self._in_bags)
        if self.average == "samples" and self.rule in ("auto", "counts"):
            return "counts", self.calibration_
        if self.average == "samples" and self.rule == self.rule_name_ and self.rule in ("plug-in", "half"):
            return self.rule_name_, self.rule_
        raise ValueError(
            f"the rule for loss={self.loss!r}, rule={self.rule!r}, average={self.average!r} has to be learned from "
            "data; call fit again"
        )

    def _read(self, scores: Any, groups: Any, what: str) -> tuple[Array, Bags | None]:
        """Scores to decide for as log-odds, and their bags."""
        check_is_fitted(self)
        given = as_scores(scores)
        check_scores(given, "log-odds" if self.scores == "auto" and given.size < FEW_SCORES else self.scores)
        array = self._log_odds(given)
        if self._in_bags:
            if array.ndim != 1:
                raise ValueError(f"the fit was one of bags: scores are flat; got shape {array.shape}")
            warn_if_ungrouped(groups, what)
            return array, bags_named(groups, len(array))
        if groups is not None:
            raise ValueError("the fit was one of label sets; groups are for bags")
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[-1] if array.ndim == 2 else array.shape} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input: scores (n, {self.n_features_in_})"
            )
        return array, None

    def _sets(self, array: Array, bags: Bags | None) -> NDArray[np.bool_]:
        """The chosen elements in the order of the scores."""
        scores, plain = _gathered(array, bags)
        sets = self._rule()[1].sets(scores, self._loss(), plain)
        return sets if bags is None else bags.scatter(sets)

    def predict(self, scores: Any, groups: Any = None) -> NDArray[Any]:
        """Label sets (n, p) in the alphabet of y; of bags the class of every element."""
        sets = self._sets(*self._read(scores, groups, "decided"))
        found = self.classes_[sets.astype(np.intp)]
        return np.asarray(found[:, 0] if self._flat and found.ndim == 2 else found)

    def predict_proba(self, scores: Any, groups: Any = None) -> Array:
        """P(y_j = 1) of every label (n, p) given all scores of its set; of bags and single labels both classes."""
        array, bags = self._read(scores, groups, "judged")
        found = self.calibration_.marginals(*_gathered(array, bags))
        found = found if bags is None else bags.scatter(found)
        return np.column_stack([1 - found, found]) if self._flat else found

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

    def expected_loss(self, scores: Any, groups: Any = None) -> Array:
        """The loss to expect of every set, of bags in sorted order of the groups.

        Where the count model decides, what it expects; for other rules, which know nothing of single sets, the mean
        loss on held-out folds.
        """
        self._need_samples("expected losses are those of single sets")
        array, bags = self._read(scores, groups, "judged")
        name, rule = self._rule()
        if isinstance(rule, Calibration) and name == "counts":
            gathered, plain = _gathered(array, bags)
            return rule.decide(gathered, self._loss(), plain).expected_loss
        if name not in self.rule_losses_:
            raise ValueError(f"nothing is known of the loss of rule {name!r}; there was only one fold to learn from")
        return np.full(len(array) if bags is None else len(bags), self.rule_losses_[name][0])

    def expected_score(self, scores: Any, groups: Any = None, *, level: float = 0.9) -> ExpectedScore:
        """The mean score (1 - loss) to expect on these sets, whose labels nobody knows, with an interval.

        What the count model expects of the predicted sets, corrected by the difference of observed and expected
        losses on held-out folds. It assumes that labels depend on scores as they did there: a shift of the features
        counts as far as the scores show it, a shift of the base rates given the scores does not.
        """
        self._need_samples("the expected score is a mean over sets")
        array, bags = self._read(scores, groups, "judged")
        if self._reliability is None or (self.loss, self.rule, self.average) != self._learned_for:
            raise ValueError("expected scores need held-out losses of this rule and loss; call fit again")
        gathered, plain = _gathered(array, bags)
        sets = self._rule()[1].sets(gathered, self._loss(), plain)
        expected = self.calibration_.expected_losses(sets, gathered, self._loss(), plain)
        value = 1 - float(np.mean(expected)) - self._reliability.bias
        error = np.hypot(self._reliability.error, self._reliability.spread / np.sqrt(max(len(expected), 1)))
        width = float(ndtri(0.5 + level / 2) * error)
        return ExpectedScore(*(float(np.clip(x, 0, 1)) for x in (value, value - width, value + width)))

    def _need_samples(self, what: str) -> None:
        if self.average != "samples":
            raise ValueError(f'{what}; average is {self.average!r}, not "samples"')

    # ---------------------------------------------------------------- judging

    def losses(self, scores: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every set on its known labels, of bags in sorted order of the groups."""
        data, sets = self._judged(scores, y, groups)
        return data.losses(sets, self._loss())

    def score(self, scores: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss of the sets, or of the labels (macro), or of everything as one set (micro)."""
        data, sets = self._judged(scores, y, groups, sample_weight)
        if self.average == "samples":
            return 1 - float(np.average(data.losses(sets, self._loss()), weights=data.weights))
        flags = np.stack([data.truth & ~sets, ~data.truth & sets, data.truth, ~data.truth]) & data.known
        tallies = np.einsum("tij,i->tj", flags, data.weights)
        tallies = tallies if self.average == "macro" else tallies.sum(axis=1)
        return 1 - float(np.mean(self._loss().value(*tallies)))

    def _judged(
        self, scores: Any, y: Any, groups: Any, sample_weight: Any = None
    ) -> tuple[HeldOut, NDArray[np.bool_]]:
        """Sets with known labels, and the elements chosen in them."""
        array, bags = self._read(scores, groups, "judged")
        shape = (len(array), self.n_features_in_)
        truth, known = known_truth(y, self.classes_, getattr(self, "label_names_", None), shape)
        weights = checked_weights(sample_weight, array if bags is None else array[:, None])
        sets = self._sets(array, bags)
        if bags is not None:
            folds = numbered_folds(None, len(bags))
            return HeldOut.of_bags(array, truth[:, 0], bags.means(weights), folds, bags), bags.gather(sets)
        data = HeldOut(array, truth, known, weights, numbered_folds(None, len(array)))
        used = np.asarray(known.any(axis=1))
        return (data, sets) if used.all() else (data.part(used), sets[used])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        target = tags.target_tags
        target.one_d_labels, target.two_d_labels, target.multi_output = False, True, True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags


def _gathered(array: Array, bags: Bags | None) -> tuple[Array, Bags | None]:
    """Scores whose bags lie one after the other."""
    return (array, None) if bags is None else (bags.gather(array), Bags(bags.offsets))


def as_scores(scores: Any) -> Array:
    """Scores as an array of numbers, from lists, tables and arrays."""
    array = as_numbers(scores, "scores")
    if array.ndim not in (1, 2) or array.shape[0] == 0:
        shape = f"{array.shape}: Found array with 0 sample(s)"
        raise ValueError(f"scores are (n, p), or flat with groups=; got shape {shape}")
    return array
