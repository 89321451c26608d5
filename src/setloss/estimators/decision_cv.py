"""`SetDecisionCV`: any classifier, its held-out scores, and a `SetDecision` of them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_is_fitted

from setloss.arguments import is_texts, refuse_masked
from setloss.decisions.promises import Promise
from setloss.decisions.rules import MOST_SETS
from setloss.estimators.candidates import Examples, Kind, default_kinds, fit_best, kinds_of
from setloss.estimators.features import refuse_dates
from setloss.estimators.fit_log import say
from setloss.estimators.label_scores import Scorer
from setloss.estimators.linear_model import checked_weights
from setloss.estimators.set_decision import ExpectedScore, SetDecision, check_average, check_parameters
from setloss.estimators.set_layout import read_sets
from setloss.losses import Loss
from setloss.typing import Array


class SetDecisionCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
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
    decision_
        The `SetDecision`: `calibration_`, `rule_name_`, `rule_losses_` are there. It is what was learned, and
        `predict` decides with it for the parameters of this object: `set_params(loss=...)` here, not there.
    classes_, label_names_
        As in `SetDecision`.

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

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    decision_: SetDecision
    estimator_: Any
    _scorer: Scorer

    def __init__(
        self,
        estimator: Any = None,
        loss: str | Loss = "f1",
        *,
        rule: str = "auto",
        average: str = "samples",
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.rule = rule
        self.average = average
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None, **params: Any) -> SetDecisionCV:
        """Train on X (n, d) and labels y (n, p), dense or sparse; or y (n,) and `groups`, the set of each element.

        Texts, one for each example, may be a list, a Series or an array (n,); without an estimator they are encoded.
        The weight of a group is the mean weight of its elements. `params` go to `fit` of the estimator, and `groups`
        and `sample_weight` too if it takes them.
        """
        decision = self._checked_decision()
        X = features_of(X)
        labels, matrix, sets = read_sets(X, y, groups, type(self).__name__)
        check_average(self.average, labels)
        weights = checked_weights(sample_weight, matrix.positive)
        to_fit, to_split, offered = self._routed(params, {"sample_weight": sample_weight, "groups": groups})
        splits = None if self._is_fitted_already else sets.splits(self.cv, X, matrix, **to_split)
        folds = sets.folds(splits, len(weights))
        needed = (folds >= 0) & matrix.known.any(axis=1) & (weights > 0)
        if self.average == "samples":
            needed = sets.some(needed, MOST_SETS) & (folds >= 0)

        examples = Examples(
            X,
            matrix,
            sets,
            weights,
            splits,
            folds,
            needed,
            params=to_fit,
            offered=offered,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        kinds = self._kinds(X, in_bags=labels.flat, missing=not matrix.known.all())
        self._scorer, learner = fit_best(kinds, examples, decision.held_out_loss)
        self.estimator_ = self._scorer.estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.verbose:
            say("learning the decision")
        self.decision_ = decision.fit_held_out(labels, learner.data, learner, self._scorer.certainty)
        labels.set_attributes(self)
        if self.verbose:
            compared = (f"{name} {loss:.4f} +- {error:.4f}" for name, (loss, error) in decision.rule_losses_.items())
            say("decided by %s; held-out losses: %s", decision.rule_name_, ", ".join(compared))
        return self

    def _checked_decision(self) -> SetDecision:
        """The decision to learn; parameters that make no sense are refused."""
        if not isinstance(self.verbose, int | np.integer) or self.verbose < 0:
            raise ValueError(f"verbose is 0, or 1 to show what is done; got {self.verbose!r}")
        decision = SetDecision(self.loss, rule=self.rule, average=self.average, scores="log-odds")
        check_parameters(decision)
        return decision

    def _kinds(self, X: Any, **what: bool) -> list[Kind]:
        """The candidates by kind."""
        return default_kinds(X, **what) if self.estimator is None else kinds_of(self._named())

    def _named(self) -> list[Any]:
        """The classifiers that were named."""
        if self.estimator is None:
            return []
        named = list(self.estimator) if isinstance(self.estimator, list | tuple) else [self.estimator]
        for one in named or [[]]:
            if not hasattr(one, "fit"):
                raise TypeError(f"estimator must be a classifier or a list of them; got {one!r}")
        return named

    @property
    def _is_fitted_already(self) -> bool:
        prefit, named = isinstance(self.cv, str) and self.cv == "prefit", self._named()
        return prefit or (bool(named) and all(isinstance(one, FrozenEstimator) for one in named))

    # ---------------------------------------------------------------- deciding

    def _decision(self) -> SetDecision:
        """A copy of the decision with the present parameters of this object, which may have changed since the fit."""
        check_is_fitted(self, "decision_")
        decision = copy(self.decision_)
        decision.set_params(loss=self.loss, rule=self.rule, average=self.average)
        return decision

    def _scores(self, X: Any) -> Array:
        """Scores (n, p) of new examples."""
        check_is_fitted(self, "decision_")
        refuse_masked(X, "X")
        return self._scorer.scores(X)

    def predict(self, X: Any, *, groups: Any = None) -> NDArray[Any]:
        """The chosen sets in the form and the alphabet of y: label sets (n, p), or a class for every element (n,)."""
        return self._decision().predict(self._scores(X), groups=groups)

    def predict_names(self, X: Any) -> list[tuple[str, ...]]:
        """The names of the chosen labels of every example, those of the columns of y in the fit.

        The form is that of `sklearn.preprocessing.MultiLabelBinarizer.inverse_transform`.

        Examples
        --------
        >>> import pandas
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.multiclass import OneVsRestClassifier
        >>> from setloss.estimators import SetDecisionCV
        >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
        >>> y = pandas.DataFrame(Y, columns=["oil", "gas", "gold"])
        >>> SetDecisionCV(OneVsRestClassifier(LogisticRegression())).fit(X, y).predict_names(X[:2])
        [('gas',), ('oil', 'gas', 'gold')]
        """
        check_is_fitted(self, "decision_")
        if not hasattr(self, "label_names_"):
            raise AttributeError(
                "the labels have no names; fit with a table y, such as pandas.DataFrame(Y, columns=...)"
            )
        chosen = np.reshape(self.predict(X) == self.classes_[1], (-1, len(self.label_names_)))
        return [tuple(map(str, self.label_names_[row])) for row in chosen]

    def predict_proba(self, X: Any, *, groups: Any = None) -> Array:
        """P(y_j = 1) of every label (n, p) given all scores of its set; after a fit of y (n,), of both classes."""
        return self._decision().predict_proba(self._scores(X), groups=groups)

    def expected_loss(self, X: Any, *, groups: Any = None) -> Array:
        """The loss to expect of every set; see `SetDecision.expected_loss`."""
        return self._decision().expected_loss(self._scores(X), groups=groups)

    def expected_score(self, X: Any, *, groups: Any = None, level: float = 0.9) -> ExpectedScore:
        """The mean score to expect on sets without labels; see `SetDecision.expected_score`."""
        return self._decision().expected_score(self._scores(X), groups=groups, level=level)

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
        """Promise a mean loss of at most `at_most` on what is answered of new sets; see `SetDecision.promise`.

        X and y are of examples that `fit` has not seen.
        """
        decision, given = self._decision(), {"groups": groups, "sample_weight": sample_weight}
        decision.promise(self._scores(X), y, at_most=at_most, confidence=confidence, **given)
        self.decision_ = decision
        return self.promise_

    @property
    def promise_(self) -> Promise:
        """The last promise; see `SetDecision.promise_`."""
        return replace(self._decision().promise_, model=copy(self))

    def losses(self, X: Any, y: Any, *, groups: Any = None) -> Array:
        """The loss of every set on its known labels; see `SetDecision.losses`."""
        return self._decision().losses(self._scores(X), y, groups=groups)

    def score(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss of the sets, or of the labels (macro), or of everything as one set (micro)."""
        return self._decision().score(self._scores(X), y, groups=groups, sample_weight=sample_weight)

    def thresholds(self, *, probabilities: bool = False) -> Array:
        """The threshold of every label; see `SetDecision.thresholds`."""
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


def features_of(X: Any) -> Any:
    """X as it came if it is a DataFrame, sparse or texts (n,), else as an array; the estimator checks for NaN."""
    refuse_masked(X, "X")
    if not issparse(X) and not hasattr(X, "iloc") and not is_texts(X):
        X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, allow_nd=True)
        refuse_dates(X)
    return indexable(X)[0]
