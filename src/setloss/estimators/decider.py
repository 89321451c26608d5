"""`SetDecider`: what `SetDecision` and `SetDecisionCV` share, from the learned rule on.

They differ in where scores come from: one is given them, the other has a classifier that gives them. Decisions for
Dask arrays are lazy, and hold one block of rows in memory at a time. These arrays bring their own methods, so that
Dask is not imported here.
"""

from abc import abstractmethod
from collections.abc import Callable
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
from setloss.decisions.rules import RULES, Reliability, Rule, RuleLearner, Threshold
from setloss.decisions.threshold_scan import column_thresholds
from setloss.estimators.features import checked_weights
from setloss.estimators.labels import Labels, check_rows
from setloss.estimators.set_layout import SetLayout, sets_of
from setloss.losses import CountLoss, Loss, as_loss
from setloss.typing import Array

AVERAGES = ("samples", "macro", "micro")

SMALL_SET = 6
"""Number of elements of the set on which a loss is tried."""


def is_lazy(values: Any) -> bool:
    """Whether values are a Dask array, or another that is computed block by block."""
    return hasattr(values, "map_blocks") and hasattr(values, "rechunk")


def refuse_lazy_groups(groups: Any, flat: bool) -> None:
    """Refuse groups beside a Dask array."""
    if flat or groups is not None:
        raise ValueError("a Dask array has one set in each row, and y is (n, p); groups need NumPy arrays")


def by_block(method: Callable[[Any], NDArray[Any]], rows: Any, empty: NDArray[Any]) -> NDArray[Any]:
    """A lazy array of what a method says of each block of rows; `empty` is what it says of none."""
    whole = rows.rechunk({1: -1})
    options = {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (whole.chunks[0], empty.shape[1:])}
    lazy: NDArray[Any] = whole.map_blocks(_said, method=method, empty=empty, dtype=empty.dtype, meta=empty, **options)
    return lazy


def _said(block: NDArray[Any], *, method: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return method(block) if block.shape[0] else empty


class ExpectedScore(NamedTuple):
    """The mean score to expect, and an interval that covers the observed one in most cases."""

    value: float
    low: float
    high: float


class SetDecider(ClassifierMixin, BaseEstimator):
    """A rule learned from held-out scores, and what it decides, expects and promises for new sets."""

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    loss: str | Loss
    rule: str
    average: str
    rule_: Rule
    rule_losses_: dict[str, tuple[float, float]]
    classes_: NDArray[Any]
    label_names_: NDArray[np.object_]
    _labels: Labels
    _reliability: Reliability | None

    @abstractmethod
    def _scores(self, X: Any) -> Array:
        """Scores (n, p) of new elements as log-odds, none of them certain."""

    # ---------------------------------------------------------------- learning

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before anything is learned."""
        if self.rule not in RULES:
            raise ValueError(f"there is no rule {self.rule!r}; the names are {', '.join(RULES)}")
        if self.average not in AVERAGES:
            raise ValueError(f"average is one of {', '.join(AVERAGES)}; got {self.average!r}")
        self._loss()

    def _check_with(self, labels: Labels) -> None:
        """Refuse averages over labels where the sets are groups, and a loss that has no values on a small set."""
        if labels.flat and self.average != "samples":
            raise ValueError(f'the loss of groups is a mean over groups; average is "samples", not {self.average!r}')
        p = SMALL_SET if labels.flat else min(labels.width, SMALL_SET)
        _ = self._loss().on_counts(p - p // 2, p // 2).table

    def _loss(self) -> CountLoss:
        loss = as_loss(self.loss)
        if not isinstance(loss, CountLoss):
            raise TypeError(
                f"a {type(loss).__name__} depends on which elements are wrong; decisions for sets need a loss of the "
                "numbers of false negatives and false positives, such as Dice() or from_counts(...)"
            )
        return loss

    @property
    def _how(self) -> tuple[Any, str, str]:
        """The parameters that a rule is learned for."""
        return self.loss, self.rule, self.average

    def _learn(self, labels: Labels, learner: RuleLearner) -> None:
        """Learn the rule from held-out scores."""
        loss, data = self._loss(), learner.data
        self.__dict__.pop("_promise", None)
        labels.set_attributes(self)
        self.calibration_ = learner.models[0]
        self._learned_for = self._how
        if self.average != "samples":
            self.rule_name_, self.rule_losses_, self._reliability = "threshold", {}, None
            chances = learner.independent_models[0].marginals(data.scores)
            self.rule_ = Threshold(column_thresholds(data, chances, loss, self.average))
            return
        judged = learner.judged(self.rule, loss)
        self.rule_name_ = name = learner.choose(judged) if self.rule == "auto" else self.rule
        self.rule_, threshold = judged[name].rule, judged["threshold"].rule
        assert isinstance(threshold, Threshold)
        self.threshold_ = threshold.value
        self.rule_losses_, self._reliability = {}, None
        if learner.folds:
            self.rule_losses_ = {rule: losses.summary(data.weights) for rule, losses in judged.items()}
            self._reliability = learner.reliability(judged[name], loss)

    # ---------------------------------------------------------------- deciding

    def _rule(self) -> tuple[str, Rule]:
        """The rule for the present parameters, which may have been set to others after the fit."""
        if self._how == self._learned_for:
            return self.rule_name_, self.rule_
        self._check_parameters()
        self._check_with(self._labels)
        if self.average == "samples" and self.rule in ("auto", "counts"):
            return "counts", self.calibration_
        if self.average == "samples" and self.rule == self.rule_name_ and self.rule in ("plug-in", "half"):
            return self.rule_name_, self.rule_
        raise ValueError(
            f"the rule for loss={self.loss!r}, rule={self.rule!r}, average={self.average!r} has to be learned from "
            "data; call fit again"
        )

    def _read(self, X: Any, groups: Any, what: str) -> tuple[Array, SetLayout]:
        """Scores to decide for, gathered set by set, and these sets."""
        check_is_fitted(self)
        scores = self._scores(X)
        sets = sets_of(self._labels, len(scores), groups, what)
        return sets.gather(scores), sets

    def _by_block(self, method: Any, X: Any, groups: Any, *, of_sets: bool = False) -> NDArray[Any]:
        """A lazy array of what a method says of each block of rows."""
        check_is_fitted(self)
        refuse_lazy_groups(groups, self._labels.flat)
        dtype = self.classes_.dtype if method == self.predict else np.float64
        return by_block(method, X, np.empty(0 if of_sets else (0, self._labels.width), dtype))

    def _chosen(self, scores: Array, bags: Bags | None) -> NDArray[np.bool_]:
        """The chosen elements of gathered scores."""
        return self._rule()[1].sets(scores, self._loss(), bags)

    def _expected(self, scores: Array, bags: Bags | None) -> Array:
        """The loss of every chosen set as the count model expects it."""
        name, rule = self._rule()
        if isinstance(rule, Calibration) and name == "counts":
            return rule.decide(scores, self._loss(), bags).expected_loss
        return self.calibration_.expected_losses(self._chosen(scores, bags), scores, self._loss(), bags)

    def predict(self, X: Any, *, groups: Any = None) -> NDArray[Any]:
        """The chosen sets in the form and the alphabet of y: label sets (n, p), or a class for every element (n,)."""
        if is_lazy(X):
            return self._by_block(self.predict, X, groups)
        scores, sets = self._read(X, groups, "decided")
        return self._labels.write(sets.scatter(self._chosen(scores, sets.bags)))

    def predict_names(self, X: Any) -> list[tuple[str, ...]]:
        """The names of the chosen labels of every example, those of the columns of y in the fit.

        The form is that of `sklearn.preprocessing.MultiLabelBinarizer.inverse_transform`.

        Examples
        --------
        >>> import pandas
        >>> from setloss.estimators import SetDecision
        >>> y = pandas.DataFrame([[1, 0, 0], [1, 1, 0], [0, 0, 1]], columns=["oil", "gas", "gold"])
        >>> SetDecision(rule="half").fit(4 * y.to_numpy() - 2, y).predict_names([[1.0, 2.0, -3.0]])
        [('oil', 'gas')]
        """
        check_is_fitted(self)
        if not hasattr(self, "label_names_"):
            raise AttributeError("the labels have no names; fit with a table y, as pandas.DataFrame(Y, columns=...)")
        chosen = np.reshape(self.predict(X) == self.classes_[1], (-1, len(self.label_names_)))
        return [tuple(map(str, self.label_names_[row])) for row in chosen]

    def predict_proba(self, X: Any, *, groups: Any = None) -> Array:
        """P(y_j = 1) of every label (n, p) given all scores of its set; after a fit of y (n,), of both classes."""
        if is_lazy(X):
            return self._by_block(self.predict_proba, X, groups)
        scores, sets = self._read(X, groups, "judged")
        chances = sets.scatter(self.calibration_.marginals(scores, sets.bags))
        return np.column_stack([1 - chances, chances]) if self._labels.flat else chances

    def thresholds(self, *, probabilities: bool = False) -> Array:
        """The threshold of every label (p,), in log-odds (of margins: in their own unit); or as probabilities.

        A label is chosen if its score is above; where it is best left alone (macro), that is infinite. Only rules
        that compare single scores have one.
        """
        check_is_fitted(self)
        name, rule = self._rule()
        if not isinstance(rule, Threshold):
            raise ValueError(f'rule {name!r} has no thresholds; pass rule="threshold", or average="macro"')
        thresholds = np.broadcast_to(np.asarray(rule.value, dtype=np.float64), (self._labels.width,)).copy()
        return np.asarray(expit(thresholds)) if probabilities else thresholds

    # ---------------------------------------------------------------- what to expect

    def expected_loss(self, X: Any, *, groups: Any = None) -> Array:
        """The loss to expect of every chosen set, whatever the rule, as the count model sees it.

        Groups come in sorted order. It says which sets are surer than others; where the count model does not decide,
        mostly because it fits badly, the mean may be off, which `expected_score` corrects.
        """
        self._need_samples("expected losses are those of single sets")
        if is_lazy(X):
            return self._by_block(self.expected_loss, X, groups, of_sets=True)
        scores, sets = self._read(X, groups, "judged")
        return self._expected(scores, sets.bags)

    def expected_score(self, X: Any, *, groups: Any = None, level: float = 0.9) -> ExpectedScore:
        """The mean score (1 - loss) to expect on these sets, whose labels nobody knows, with an interval.

        What the count model expects of the predicted sets, corrected by the difference of observed and expected
        losses on held-out folds. It assumes that labels depend on scores as they did there: a shift of the features
        counts as far as the scores show it, a shift of the base rates given the scores does not. Another loss wants
        a fit, for the correction is learned from held-out scores, which a model does not keep; scores by average
        "macro" and "micro" are no means over sets, whose spread would be known.
        """
        self._need_samples("the expected score is a mean over sets")
        scores, sets = self._read(X, groups, "judged")
        if self._reliability is None or self._how != self._learned_for:
            raise ValueError(
                f"an expected score is corrected by held-out losses of its rule, and those for {self.loss!r} are not "
                "known, since a model keeps no held-out scores; call fit again with this loss and rule"
            )
        expected = self._expected(scores, sets.bags)
        value = 1 - float(np.mean(expected)) - self._reliability.bias
        width = self._reliability.half_width(len(expected), level)
        return ExpectedScore(*(float(np.clip(x, 0, 1)) for x in (value, value - width, value + width)))

    def promise(
        self,
        X: Any,
        y: Any,
        *,
        at_most: float,
        confidence: float = 0.9,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Promise:
        """Promise a mean loss of at most `at_most` on those new sets that are answered: the surest ones.

        The examples are ones that neither the classifier nor `fit` has seen; sets are independent draws, as new ones
        are, and the loss is that on known labels. With weights the weighted mean loss is bounded, where no new set
        may weigh more than the heaviest here. The promise is part of the model, as `promise_`, until the next one or
        the next fit.
        """
        self._need_samples("a promise is about the losses of single sets")
        data, loss = self._judged(X, y, groups, sample_weight), self._loss()
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
        self._promised_for = self._how
        return self.promise_

    @property
    def promise_(self) -> Promise:
        """The last promise; there is none after another fit, or for other parameters than it was made for."""
        if "_promise" not in vars(self) or self._promised_for != self._how:
            raise AttributeError("nothing was promised for these parameters; call promise with held-out examples")
        return replace(self._promise, model=copy(self))

    def _need_samples(self, what: str) -> None:
        if self.average != "samples":
            raise ValueError(f'{what}; average is {self.average!r}, not "samples"')

    # ---------------------------------------------------------------- judging

    def losses(self, X: Any, y: Any, *, groups: Any = None) -> Array:
        """The loss of every set with a known label, on its known labels; those of groups in sorted order."""
        data = self._judged(X, y, groups)
        return data.losses(self._chosen(data.scores, data.bags), self._loss())

    def score(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss of the sets, or of the labels (macro), or of everything as one set (micro)."""
        data = self._judged(X, y, groups, sample_weight)
        return 1 - mean_loss(data, self._chosen(data.scores, data.bags), self._loss(), self.average)

    def _judged(self, X: Any, y: Any, groups: Any, sample_weight: Any = None) -> HeldOut:
        """New sets with their labels."""
        check_is_fitted(self)
        check_rows(X, y)
        scores = self._scores(X)
        sets = sets_of(self._labels, len(scores), groups, "judged")
        truth, known = self._labels.truth(y, len(scores))
        return sets.held_out(scores, truth, known, checked_weights(sample_weight, scores))
