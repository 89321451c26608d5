"""`SetDecisionCV` and `BagDecisionCV`: any classifier, its held-out scores, and a `SetDecision` of them."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from setloss.arguments import refuse_masked
from setloss.decisions.held_out import HeldOut, numbered_folds
from setloss.decisions.rules import MOST_SETS
from setloss.estimators.bag_classifier import bags_named, frame_labels, warn_if_ungrouped
from setloss.estimators.candidates import Examples, default_estimators, fit_likeliest
from setloss.estimators.elements import refuse_dates
from setloss.estimators.folds import bag_splits, label_splits
from setloss.estimators.label_scores import Rows, Scorer
from setloss.estimators.labels import LabelMatrix, labels_of
from setloss.estimators.linear_model import checked_weights
from setloss.estimators.progress import say
from setloss.estimators.set_decision import ExpectedScore, SetDecision
from setloss.losses import Loss
from setloss.typing import Array

MOST_DENSE_LABELS = 50_000_000
"""Largest number of labels, examples x labels, that are handed to a classifier as a dense array if y is sparse."""


class DecisionCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier, its held-out scores, and the decision learned from them; the base of the two below."""

    estimator: Any
    loss: Any
    rule: str
    cv: Any
    n_jobs: int | None
    verbose: Any
    decision_: SetDecision
    estimator_: Any
    _scorer: Scorer

    def _checked_decision(self, in_bags: bool) -> SetDecision:
        """The decision to learn; parameters that make no sense are refused."""
        if not isinstance(self.verbose, int | np.integer) or self.verbose < 0:
            raise ValueError(f"verbose is 0, or 1 to show what is done; got {self.verbose!r}")
        decision = self._new_decision()
        decision._check_parameters(in_bags)
        return decision

    def _new_decision(self) -> SetDecision:
        average = getattr(self, "average", "samples")  # bags have no other
        return SetDecision(self.loss, rule=self.rule, average=average, scores="log-odds")

    def _decision(self) -> SetDecision:
        """A copy of the decision with the present parameters of this object, which may have changed since the fit."""
        check_is_fitted(self, "decision_")
        return copy(self.decision_).set_params(**self._new_decision().get_params(deep=False))

    def _fit(self, examples: Examples, decision: SetDecision) -> None:
        """Train the likeliest of the estimators, and the decision on its held-out scores."""
        self._scorer, learner = fit_likeliest(*self._estimators(examples.X), examples)
        self.estimator_ = self._scorer.estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.verbose:
            say("learning the decision")
        decision._certainty = self._scorer.certainty
        decision._learn(learner.data, learner)
        self.decision_, self.classes_ = decision, decision.classes_
        if self.verbose:
            compared = (f"{name} {loss:.4f} +- {error:.4f}" for name, (loss, error) in decision.rule_losses_.items())
            say("decided by %s; held-out losses: %s", decision.rule_name_, ", ".join(compared))

    def _estimators(self, X: Any = None) -> tuple[list[Any], int]:
        """The candidates, and how many of them are a path of one parameter."""
        if self.estimator is None:
            return default_estimators(np.zeros((1, 1)) if X is None else X, in_bags=isinstance(self, BagDecisionCV))
        found = list(self.estimator) if isinstance(self.estimator, list | tuple) else [self.estimator]
        for one in found or [[]]:
            if not hasattr(one, "fit"):
                raise TypeError(f"estimator must be a classifier or a list of them; got {one!r}")
        return found, 0

    @property
    def _is_fitted_already(self) -> bool:
        prefit = isinstance(self.cv, str) and self.cv == "prefit"
        return prefit or all(isinstance(one, FrozenEstimator) for one in self._estimators()[0])

    def _scores(self, X: Any) -> Array:
        """Scores (n, p) of new examples, those of frames flat."""
        check_is_fitted(self, "decision_")
        refuse_masked(X, "X")
        found = self._scorer.scores(X)
        return found[:, 0] if isinstance(self, BagDecisionCV) else found

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """Label sets (n, p) in the alphabet of y, or the class of every frame; `groups` names the bag of each."""
        return self._decision().predict(self._scores(X), groups)

    def predict_proba(self, X: Any, groups: Any = None) -> Array:
        """P(y_j = 1) of every label (n, p); of a single label, and of frames given all of their bag, both classes."""
        return self._decision().predict_proba(self._scores(X), groups)

    def expected_loss(self, X: Any, groups: Any = None) -> Array:
        """The loss to expect of every set, of bags in sorted order of the groups; see `SetDecision.expected_loss`."""
        return self._decision().expected_loss(self._scores(X), groups)

    def expected_score(self, X: Any, groups: Any = None, *, level: float = 0.9) -> ExpectedScore:
        """The mean score to expect on sets without labels; see `SetDecision.expected_score`."""
        return self._decision().expected_score(self._scores(X), groups, level=level)

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every set on its known labels, of bags in sorted order of the groups."""
        return self._decision().losses(self._scores(X), y, groups)

    def thresholds(self, *, probabilities: bool = False) -> Array:
        """The cut of every label; see `SetDecision.thresholds`."""
        return self._decision().thresholds(probabilities=probabilities)

    # ---------------------------------------------------------------- metadata

    def _routed(self, params: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """What `fit` of every candidate gets, what the splitter gets, and what is offered to those that take it."""
        given = {name: value for name, value in given.items() if value is not None}
        if not get_config().get("enable_metadata_routing"):
            return params, {}, given
        routed = process_routing(self, "fit", **params, **given)
        return routed.estimator.fit, routed.splitter.split, {}

    def get_metadata_routing(self) -> Any:
        """Which metadata goes where: to `fit` of the estimator, and to `split` of cv."""
        router = MetadataRouter(owner=type(self).__name__)
        router.add_self_request(self)
        router.add(estimator=self._estimators()[0][0], method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = None if self.cv is None or isinstance(self.cv, int | str) else self.cv
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimators = [] if self.estimator is None else self._estimators()[0]
        tags.input_tags.allow_nan = all(get_tags(one).input_tags.allow_nan for one in estimators)
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = isinstance(self, SetDecisionCV)
        return tags


class SetDecisionCV(DecisionCV):
    """Label sets of least expected loss, from the scores of any multi-label classifier.

        P(y | x) ~ exp( sum_j y_j (a s_j(x) + b_j) + u_|y| ),        predict argmin_A E l(y, A)

    Scores s are log-odds of `predict_proba`, or `decision_function` where there is none. A `SetDecision` learns from
    scores of examples that the classifier was not trained on; then the classifier is trained on everything.

    Parameters
    ----------
    estimator
        A multi-label classifier: OneVsRestClassifier, MultiOutputClassifier, chains, forests, networks, pipelines,
        `SetClassifier`; a FrozenEstimator is used as it is, on data it was not trained on. A list of them: the one by
        whose held-out scores the labels are likeliest is kept. None: logistic regressions per label with C from .003
        to 3, and extremely randomised trees where X is dense.
    loss, rule, average
        As in `SetDecision`.
    cv
        A number of folds, a splitter, or "prefit": the estimator is fitted already, and X and y are not what it was
        trained on.
    n_jobs
        Folds at a time.
    verbose
        1 says when each fold is done, and what the rules lose on held-out scores.

    Attributes
    ----------
    estimator_
        The classifier, trained on everything.
    decision_
        The `SetDecision`: `calibration_`, `rule_name_`, `rule_losses_` are there. It is what was learned, and
        `predict` decides with it for the parameters of this object: `set_params(loss=...)` here, not there.
    classes_, label_names_
        As in `SetDecision`.
    """

    def __init__(
        self,
        estimator: Any = None,
        loss: str | Loss = "f1",
        *,
        rule: str = "auto",
        average: str = "samples",
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.average = average
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> SetDecisionCV:
        """Train on X (n, d) and labels y (n, p), dense or sparse; `params` go to `fit` of the estimator."""
        decision = self._checked_decision(in_bags=False)
        X = features_of(X)
        labels = labels_of(y, type(self).__name__)
        check_consistent_length(X, labels.positive)
        weights = checked_weights(sample_weight, labels.positive)
        to_fit, to_split, offered = self._routed(params, {"sample_weight": sample_weight})
        splits = None if self._is_fitted_already else label_splits(self.cv, X, labels, **to_split)
        folds = numbered_folds(splits, len(weights))
        needed = (folds >= 0) & labels.known.any(axis=1) & (weights > 0)

        def held_out(rows: Rows, scores: Array) -> HeldOut:
            return HeldOut(scores, labels.positive[rows], labels.known[rows], weights[rows], folds[rows])

        decision._take_classes(labels.classes, labels.names, labels.flat)
        needed = needed if self.average != "samples" else _some_of(needed, MOST_SETS)
        how = (to_fit, offered, self.n_jobs, bool(self.verbose))
        examples = Examples(X, _targets(labels, y), splits, needed, held_out, len(weights), *how)
        self._fit(examples, decision)
        return self

    @property
    def label_names_(self) -> NDArray[np.object_]:
        """The column names of y if it was a table."""
        return self.decision_.label_names_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss of the examples, or of the labels (macro), or of everything as one set (micro)."""
        return self._decision().score(self._scores(X), y, sample_weight=sample_weight)


class BagDecisionCV(DecisionCV):
    """Labels of the frames of a bag of least expected loss, from the scores of any binary classifier of frames.

        P(y_1, ..., y_p | bag) ~ exp( sum_i y_i (a s(x_i) + b) + u(|y|, p) ),        predict argmin_A E l(y, A)

    u has atoms at no and at all frames and a smooth part in the share of positive frames, so that it is learned from
    bags of any sizes and serves sizes never seen. On bags of one label it finds the vote by itself.

    Parameters
    ----------
    estimator
        A binary classifier of frames, or a list of them, as in `SetDecisionCV`; None: logistic regressions on scaled
        features with C from .003 to 3.
    loss, rule
        As in `SetDecision`.
    cv
        A number of folds, which never split a bag, a splitter, or "prefit".
    n_jobs, verbose
        As in `SetDecisionCV`, and so are the attributes.

    Without `groups` every frame is a bag of its own, with a warning.
    """

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def __init__(
        self,
        estimator: Any = None,
        loss: str | Loss = "f1",
        *,
        rule: str = "auto",
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, **params: Any) -> BagDecisionCV:
        """Train on frames X (N, d) with labels y (N,); `groups` names the bag of each frame.

        The weight of a bag is the mean weight of its frames; `params` go to `fit` of the estimator, and `groups` too
        if it takes them, as `BagClassifier` does.
        """
        decision = self._checked_decision(in_bags=True)
        X = features_of(X)
        classes, positive = frame_labels(X, y, type(self).__name__)
        weights = checked_weights(sample_weight, positive[:, None])
        warn_if_ungrouped(groups, "trained")
        bags = bags_named(groups, len(positive))
        to_fit, _, offered = self._routed(params, {"sample_weight": sample_weight, "groups": groups})
        splits = None if self._is_fitted_already else bag_splits(self.cv, X, positive, bags)
        number = bags.scatter(np.repeat(np.arange(len(bags)), bags.sizes))
        folds = numbered_folds(None, len(bags))[number] if splits is None else numbered_folds(splits, len(positive))
        means = bags.means(weights)
        needed = _some_of(means > 0, MOST_SETS)[number] & (folds >= 0)

        def held_out(rows: Rows, scores: Array) -> HeldOut:
            found = bags_named(number[rows], len(rows))
            first = found.gather(rows)[found.offsets[:-1]]
            return HeldOut.of_bags(scores[:, 0], positive[rows], means[number[first]], folds[first], found)

        decision._take_classes(classes, None, True)
        how = (to_fit, offered, self.n_jobs, bool(self.verbose))
        examples = Examples(X, positive[:, None].astype(np.int64), splits, needed, held_out, len(bags), *how)
        self._fit(examples, decision)
        return self

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss over the bags; a bag weighs as much as its frames on average."""
        return self._decision().score(self._scores(X), y, groups, sample_weight)


def features_of(X: Any) -> Any:
    """X as it came if it is a DataFrame or sparse, else as an array; the estimator checks for NaN."""
    refuse_masked(X, "X")
    if not issparse(X) and not hasattr(X, "iloc"):
        X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, allow_nd=True)
        refuse_dates(X)
    return indexable(X)[0]


def _some_of(flags: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """At most so many of the flags, at random."""
    places = np.flatnonzero(flags)
    kept = np.zeros(len(flags), dtype=bool)
    kept[places if len(places) <= most else np.random.default_rng(0).permutation(places)[:most]] = True
    return kept


def _targets(labels: LabelMatrix, y: Any) -> Any:
    """Labels for classifiers: int64, or floats with NaN; sparse where y is and a dense array would be large."""
    if issparse(y) and labels.known.all() and labels.positive.size > MOST_DENSE_LABELS:
        return csr_array(labels.positive, dtype=np.int64)
    return labels.numbers
