"""`SetDecisionCV`: any classifier, its held-out scores, and a `SetDecision` of them."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_is_fitted

from setloss.arguments import is_texts, refuse_masked
from setloss.decisions.rules import MOST_SETS
from setloss.estimators.candidates import Kind, default_kinds, kinds_of
from setloss.estimators.decider import SetDecider
from setloss.estimators.features import checked_weights, refuse_dates
from setloss.estimators.fit_log import say
from setloss.estimators.labels import check_rows
from setloss.estimators.set_decision import SetDecision
from setloss.estimators.set_layout import read_sets
from setloss.estimators.trials import Examples, fit_best
from setloss.losses import Loss
from setloss.typing import Array


@dataclass(eq=False, repr=False)
class SetDecisionCV(MetaEstimatorMixin, SetDecider):
    """Sets of least expected loss, from the scores of any classifier of their elements.

        P(y | x) ~ exp( sum_j y_j (a s_j(x) + b_j) + u_|y| ),        predict argmin_A E l(y, A)

    Scores s are log-odds of `predict_proba`, or `decision_function` where there is none. A `SetDecision` learns from
    scores of examples that the classifier was not trained on; then the classifier is trained on everything.

    The sets are the rows of y (n, p); or y is (n,), and `groups` name the set of each element, as in `SetClassifier`.
    On groups of one class it finds the vote by itself. No fold splits a group.

    Parameters
    ----------
    estimator : estimator or list of estimators, optional
        A multi-label classifier for y (n, p): OneVsRestClassifier, MultiOutputClassifier, chains, forests, networks,
        pipelines, `SetClassifier`; a binary one for y (n,). A FrozenEstimator is used as it is, on data it was not
        trained on. A list of them: of those of one class the one by whose held-out scores the labels are likeliest,
        of classes the one whose decisions have the least held-out loss. None: logistic regressions with C from .001
        to 1000, of sparse X after several preparations (as given, rows of length 1, largest values 1, tf-idf of
        counts), and, for y (n, p) and dense X, extremely randomised trees; columns of a DataFrame that are not all
        numbers are encoded by `setloss.io.TableEncoder`.
    loss, rule, average : default "f1", "auto", "samples"
        As in `SetDecision`.
    cv : int, splitter or "prefit", default 5
        A number of folds, a splitter, or "prefit": the estimator is fitted already, and X and y are not what it was
        trained on.
    n_jobs : int, optional
        Folds at a time.
    verbose : int, default 0
        1 says when each fold is done, and what the rules lose on held-out scores.

    Attributes
    ----------
    estimator_
        The classifier, trained on everything.
    calibration_, rule_, rule_name_, rule_losses_, threshold_, classes_, label_names_
        As in `SetDecision`.
    decision_
        A `SetDecision` that decides in the same way for scores of the classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> X, y = make_multilabel_classification(200, random_state=0)
    >>> model = SetDecisionCV(OneVsRestClassifier(LogisticRegression(C=0.1))).fit(X, y)
    >>> model.predict(X).shape, bool(model.score(X, y) > 0.7), sorted(model.decision_.rule_losses_)
    ((200, 5), True, ['counts', 'half', 'threshold'])
    """

    estimator: Any = None
    loss: str | Loss = "f1"
    _: KW_ONLY
    rule: str = "auto"
    average: str = "samples"
    cv: Any = 5
    n_jobs: int | None = None
    verbose: Any = 0

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Train on X (n, d) and labels y (n, p), dense or sparse; or y (n,) and `groups`, the set of each element.

        Texts, one for each example, may be a list, a Series or an array (n,); without an estimator they are encoded.
        The weight of a group is the mean weight of its elements. `params` go to `fit` of the estimator, and `groups`
        and `sample_weight` too if it takes them.
        """
        self._check_parameters()
        check_rows(X, y)
        refuse_masked(X, "X")
        if not issparse(X) and not hasattr(X, "iloc") and not is_texts(X):
            X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, allow_nd=True)
            refuse_dates(X)
        X = indexable(X)[0]  # as it came if it is a table, sparse or texts (n,); the estimator checks for NaN
        labels, matrix, sets = read_sets(X, y, groups, type(self).__name__)
        self._check_with(labels)
        weights = checked_weights(sample_weight, matrix.positive)
        to_fit, to_split, offered = self._routed(params, {"sample_weight": sample_weight, "groups": groups})
        named = self._named()
        frozen = bool(named) and all(isinstance(one, FrozenEstimator) for one in named)
        prefit = frozen or (isinstance(self.cv, str) and self.cv == "prefit")
        splits = None if prefit else sets.splits(self.cv, X, matrix, **to_split)
        folds = sets.folds(splits)
        needed = (folds >= 0) & matrix.known.any(axis=1) & (weights > 0)
        if self.average == "samples":
            needed = sets.some(needed, MOST_SETS) & (folds >= 0)  # whole sets, frames of weight 0 too
        examples = Examples(
            X, matrix, sets, weights, splits, folds, needed, to_fit, offered, self.n_jobs, bool(self.verbose)
        )
        kinds = self._kinds(X, in_bags=labels.flat, missing=not matrix.known.all())
        self._scorer, learner = fit_best(
            kinds, examples, lambda learner: learner.decided_loss(self.rule, self._loss(), self.average)
        )
        self.estimator_ = self._scorer.estimator
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.verbose:
            say("learning the decision")
        self._learn(labels, learner)
        if self.verbose:
            compared = (f"{name} {loss:.4f} +- {error:.4f}" for name, (loss, error) in self.rule_losses_.items())
            say("decided by %s; held-out losses: %s", self.rule_name_, ", ".join(compared))
        return self

    def _kinds(self, X: Any, **what: bool) -> list[Kind]:
        """The candidates by kind."""
        return default_kinds(X, **what) if self.estimator is None else kinds_of(self._named())

    def _named(self) -> list[Any]:
        """The classifiers that were named."""
        if self.estimator is None:
            return []
        named = list(self.estimator) if isinstance(self.estimator, list | tuple) else [self.estimator]
        for one in named or [[]]:
            if not hasattr(one, "fit") or isinstance(one, type):
                made = f"; make one: {one.__name__}()" if isinstance(one, type) else ""
                raise TypeError(f"estimator must be a classifier or a list of them; got {one!r}{made}")
        return named

    # ---------------------------------------------------------------- deciding

    def _scores(self, X: Any) -> Array:
        refuse_masked(X, "X")
        return self._scorer.scores(X)

    @property
    def decision_(self) -> SetDecision:
        """A `SetDecision` of scores of the classifier, by the rule that was learned here."""
        check_is_fitted(self)
        decision = SetDecision(self.loss, rule=self.rule, average=self.average, scores="log-odds")
        own = {"estimator_", "n_features_in_", "feature_names_in_", "_scorer", *self.get_params(deep=False)}
        decision.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        decision.n_features_in_, decision._certainty = self._labels.width, self._scorer.certainty
        return decision

    # ---------------------------------------------------------------- metadata

    def _routed(self, params: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """What `fit` of every candidate gets, what the splitter gets, and what is offered to those that take it."""
        given = {name: np.asarray(value) for name, value in given.items() if value is not None}
        if not get_config().get("enable_metadata_routing"):
            return params, {}, given
        routed = process_routing(self, "fit", **params, **given)
        return routed.estimator.fit, routed.splitter.split, {}

    def get_metadata_routing(self) -> Any:
        """Which metadata goes where: to `fit` of the estimator, and to `split` of cv."""
        router = MetadataRouter(owner=type(self).__name__)
        router.add_self_request(self)
        first = self._kinds(np.zeros((1, 1)))[0][0].estimators[0]
        router.add(estimator=first, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = None if self.cv is None or isinstance(self.cv, int | str) else self.cv
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        wrapped = [get_tags(one) for one in self._named()]
        tags.input_tags.allow_nan = all(one.input_tags.allow_nan for one in wrapped)
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = all(getattr(one.classifier_tags, "multi_label", True) for one in wrapped)
        return tags
