"""What decisions for label sets and for bags share: parameters, held-out scores, routing of metadata."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, has_fit_parameter

from setloss.decisions.rules import RuleLearner
from setloss.estimators.folds import Split
from setloss.estimators.label_scores import LEAST_CHANCE, LabelScorer, coarse_floor, fit_scorer, log_odds
from setloss.estimators.learned_decision import LearnedDecision
from setloss.estimators.linear_model import LinearSetModel
from setloss.estimators.progress import report_held_out, report_rule, say
from setloss.losses import Loss
from setloss.typing import Array

Outputs = tuple[NDArray[np.intp], LabelScorer, Array, bool]
"""Held-out rows, the scorer that was not trained on them, what it says of them, and whether that is probabilities."""


class DecisionCV(LearnedDecision, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier, a loss, and a rule that is learned from held-out scores of the classifier."""

    estimator: Any
    rule: str
    cv: Any
    n_jobs: int | None
    verbose: int
    scorer_: LabelScorer

    def _rule_asked(self) -> str:
        return self.rule

    def _learn(self, learner: RuleLearner, loss: Loss) -> None:
        if self.verbose:
            say("learning the decision")
        super()._learn(learner, loss)
        if self.verbose:
            report_rule(self.rule_name_, getattr(self, "rule_losses_", {}) if self.rule == "auto" else {})

    # ---------------------------------------------------------------- held-out scores

    def _fit_scores(
        self,
        estimator: Any,
        X: Any,
        Y: NDArray[Any],
        splits: list[Split] | None,
        params: dict[str, Any],
        done: Sequence[Outputs] = (),
    ) -> Array:
        """Held-out scores (n, p); afterwards `scorer_` and `estimator_` are trained on everything.

        `done` are the outputs of the first folds, where they are known already.
        """
        estimator = undecided(estimator)
        if splits is None:
            self.scorer_ = LabelScorer(estimator, np.arange(Y.shape[1]), np.zeros(Y.shape[1]))
            outputs = [(np.arange(len(Y)), self.scorer_, *self.scorer_.outputs(X))]
        else:
            outputs = [*done, *self._out_of_fold(estimator, X, Y, splits[len(done) :], params)]
            if self.verbose:
                say("training on everything")
            self.scorer_ = fit_scorer(estimator, X, Y, None, params)
        self.estimator_ = self.scorer_.estimator
        scores, self._floor = gathered(outputs, Y.shape)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return scores

    def _out_of_fold(
        self, estimator: Any, X: Any, Y: NDArray[Any], splits: list[Split], params: dict[str, Any]
    ) -> Iterator[Outputs]:
        began = time.monotonic()
        found = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(_scores_of_fold)(estimator, X, Y, train, test, params) for train, test in splits
        )
        for fold, ((_, test), (scorer, outputs, chance)) in enumerate(zip(splits, found, strict=True), 1):
            if self.verbose:
                report_held_out(fold, len(splits), time.monotonic() - began)
            yield test, scorer, outputs, chance

    def _scores(self, X: Any) -> Array:
        """Scores (n, p) of new examples."""
        check_is_fitted(self, "scorer_")
        return _as_scores(self.scorer_, *self.scorer_.outputs(X), self._floor)

    # ---------------------------------------------------------------- metadata

    def _routed(
        self, estimator: Any, sample_weight: Any, params: dict[str, Any], groups: Any = None
    ) -> tuple[dict[str, Any], Any]:
        """What `fit` of the estimator gets, and what the splitter gets."""
        from sklearn import get_config

        if get_config().get("enable_metadata_routing"):
            named = {"sample_weight": sample_weight, "groups": groups}
            given = {name: value for name, value in named.items() if value is not None}
            routed = process_routing(self, "fit", **params, **given)
            return routed.estimator.fit, routed.splitter.split
        for name, value in (("sample_weight", sample_weight), ("groups", groups)):
            taken = None if value is None else fit_parameter(estimator, name)
            if taken is not None:
                params = params | {taken: np.asarray(value)}
        return params, {}

    def get_metadata_routing(self) -> Any:
        """Which metadata goes where: to `fit` of the estimator, and to `split` of cv."""
        router = MetadataRouter(owner=type(self).__name__)
        router.add_self_request(self)
        router.add(estimator=self._estimator(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = None if self.cv is None or isinstance(self.cv, int | str) else self.cv
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _estimator(self, X: Any = None) -> Any:
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self._estimator()).input_tags.allow_nan
        return tags


def features_of(X: Any) -> Any:
    """X as it came if it is a DataFrame or sparse, else as an array; the estimator checks for NaN."""
    if not issparse(X) and not hasattr(X, "iloc"):
        X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, allow_nd=True)
    return indexable(X)[0]


def fit_parameter(estimator: Any, name: str) -> str | None:
    """What `fit` calls a parameter; pipelines hand it to their last step. None where it does not take it."""
    if has_fit_parameter(estimator, name):
        return name
    for step, last in getattr(estimator, "steps", ())[-1:]:
        inner = fit_parameter(last, name)
        return None if inner is None else f"{step}__{inner}"
    return None


def undecided(estimator: Any) -> Any:
    """The estimator; a `LinearSetModel`, also at the end of a pipeline, as one that learns no decision of its own."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        pipeline = copy.copy(estimator)
        pipeline.steps = [*estimator.steps[:-1], (name, undecided(last))]
        return pipeline
    if not isinstance(estimator, LinearSetModel) or not hasattr(estimator, "decision"):
        return estimator
    model = copy.copy(estimator)
    model.decision = "sign"
    return model


def gathered(outputs: Sequence[Outputs], shape: tuple[int, ...]) -> tuple[Array, float]:
    """Scores (n, p) from the outputs of folds, NaN where no fold holds a row out; and the floor of their chances."""
    floor = min((coarse_floor(found) for _, _, found, chance in outputs if chance), default=LEAST_CHANCE)
    scores = np.full(shape, np.nan)
    for rows, scorer, found, chance in outputs:
        scores[rows] = _as_scores(scorer, found, chance, floor)
    return scores, floor


def _as_scores(scorer: LabelScorer, outputs: Array, chance: bool, floor: float) -> Array:
    return scorer.spread(log_odds(outputs, floor) if chance else outputs)


def is_prefit(cv: Any) -> bool:
    """Whether the estimator is fitted already."""
    return isinstance(cv, str) and cv == "prefit"


def _scores_of_fold(
    estimator: Any, X: Any, Y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp], params: dict[str, Any]
) -> tuple[LabelScorer, Array, bool]:
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params

    scorer = fit_scorer(estimator, X, Y, train, _check_method_params(X, params, train))
    return scorer, *scorer.outputs(_safe_indexing(X, test))
