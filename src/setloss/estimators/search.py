"""Choosing C, and the operator if asked, by cross-validation on the loss itself."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight

from setloss.decisions.rules import RuleLearner, standard_error
from setloss.defaults import DECISION, LINEAR_MODELS, LOOSER_FOLDS
from setloss.estimators.bag_classifier import BagClassifier, bags_named, warn_if_ungrouped
from setloss.estimators.elements import FeatureScaleWarning, two_classes
from setloss.estimators.folds import Split, learner_of_bags, learner_of_labels, refuse_few_bags, refuse_split_bags
from setloss.estimators.labels import as_array, labels_of
from setloss.estimators.linear_model import LinearSetModel
from setloss.estimators.progress import report_fold
from setloss.estimators.set_classifier import SetClassifier
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.solvers import Status
from setloss.typing import Array

Columns = dict[str, Any]
"""What `fit` gets beside X, by name."""


@dataclass(frozen=True, eq=False)
class FoldPath:
    """For every C: losses of the sets held out (or scores, to learn a decision from), and the gap reached."""

    found: list[Array]
    gaps: list[float]


class CrossValidatedModel(LinearSetModel):
    """A model that fits every C of a path, warm-started, on every fold, and keeps the C of least mean loss.

    `Cs` is a list or the number of values between 1e-3 and 1e3; `operators` a list to choose from instead of
    `operator`; `cv` a number of folds or a splitter; `n_jobs` folds at a time, in processes of their own. Fits on
    folds end at three times `tol`. Sample weights count in the fits and in the mean losses. Where a `decision` is
    learned, the scores that the folds hold out serve for that too: C is the one whose decisions lose least, and no
    further fits are needed. `max_time` is for each fit. ``verbose=1`` says how every fold fared, 2 shows the
    iterations too.

    After the fit `C_` and `operator_` are the choice, and `cv_results_` has the mean loss, its standard error and the
    largest gap for every candidate. Ctrl-C ends the search: candidates that were not fitted on every fold are not
    compared, and if there are no others there is no model.
    """

    _simple: type[LinearSetModel]

    def __init__(  # noqa: PLR0913 (scikit-learn's parameters are the arguments of this one function)
        self,
        loss: str | Loss = LINEAR_MODELS.loss,
        operator: str | Operator = LINEAR_MODELS.operator,
        *,
        Cs: int | Sequence[float] = 7,
        operators: Sequence[str | Operator] | None = None,
        cv: Any = 5,
        decision: str = DECISION,
        scale: float = LINEAR_MODELS.scale,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.operator = operator
        self.Cs = Cs
        self.operators = operators
        self.cv = cv
        self.decision = decision
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @abstractmethod
    def _learner(self, scores: Array, columns: Columns, splits: list[Split]) -> RuleLearner:
        """What rules learn from the scores that the folds held out."""

    @abstractmethod
    def _set_weights(self, columns: Columns) -> Array:
        """The weight of every set whose loss `losses` gives."""

    @abstractmethod
    def _sizes(self, columns: Columns) -> NDArray[np.intp]:
        """The number of elements of every set of positive weight."""

    # ---------------------------------------------------------------- the search

    def _path(self) -> Array:
        if isinstance(self.Cs, int | np.integer) and self.Cs > 0:
            return np.logspace(-3, 3, int(self.Cs))
        path = np.sort(np.atleast_1d(np.asarray(self.Cs, dtype=float))) if not np.isscalar(self.Cs) else np.empty(0)
        if path.ndim != 1 or len(path) == 0 or not np.all(np.isfinite(path)) or path[0] <= 0:
            raise ValueError(f"Cs is a number of values or a list of positive numbers; got {self.Cs!r}")
        return path

    def _candidate(self, operator: str | Operator, C: float) -> Any:
        own = {"operator": operator, "C": C, "decision": "sign", "verbose": max(0, self.verbose - 1)}
        return self._simple(**(self._parameters_for(self._simple()) | own))

    def _search(self, X: Any, columns: Columns, splits: list[Split]) -> None:
        """Choose on the folds, then train on everything."""
        loss = self._decidable_loss()
        self._check_decision()
        learns = self._learns(loss, self._sizes(columns))
        path, operators = self._path(), list(self.operators or [self.operator])
        results: list[dict[str, Any]] = []
        for done, operator in enumerate(operators):
            try:
                results += self._judged(operator, path, X, columns, splits, loss if learns else None)
            except KeyboardInterrupt:
                if not results:
                    raise
                warnings.warn(
                    f"the search was interrupted: the choice is among {done} of {len(operators)} operators, those "
                    "that were fitted on every fold",
                    ConvergenceWarning,
                    stacklevel=3,
                )
                break
        best = min(results, key=lambda row: row["loss"])
        self.C_, self.operator_ = best["C"], best["operator"]
        learners = [row.pop("learner") for row in results]
        self.cv_results_ = {name: [row[name] for row in results] for name in best}
        self._take_fitted(self._candidate(self.operator_, self.C_).fit(X, **columns))
        self._keep_sign()
        if learns:
            self._learn_unless_stopped(lambda: learners[results.index(best)], loss)

    def _judged(
        self,
        operator: str | Operator,
        path: Array,
        X: Any,
        columns: Columns,
        splits: list[Split],
        decided_for: Loss | None,
    ) -> list[dict[str, Any]]:
        """One row of `cv_results_` for every C and, where decisions are learned, their learner."""
        folds = list(self._each_fold(operator, path, X, columns, splits, decided_for is not None))
        rows: list[dict[str, Any]] = []
        learner: RuleLearner | None = None
        for k, C in enumerate(path):
            if decided_for is None:
                values = np.concatenate([fold.found[k] for fold in folds])
                weights = np.concatenate([self._set_weights(dict(_part(columns, test))) for _, test in splits])
            else:
                learner = self._learner_after(learner, [fold.found[k] for fold in folds], columns, splits)
                values, weights = self._held_out_losses(learner, decided_for), learner.data.weights
            error = standard_error(values, weights) * np.sqrt(len(values) / max(len(values) - 1, 1))
            gap = max(fold.gaps[k] for fold in folds)
            row = {"operator": operator, "C": float(C), "loss": float(np.average(values, weights=weights))}
            rows.append(row | {"error": float(error), "gap": gap, "learner": learner})
        return rows

    def _learner_after(
        self, last: RuleLearner | None, found: list[Array], columns: Columns, splits: list[Split]
    ) -> RuleLearner:
        """What is learned from the scores of one C; how strongly to shrink is chosen for the first C."""
        scores = np.full((len(columns["y"]), found[0].shape[1]), np.nan)
        for (_, test), part in zip(splits, found, strict=True):
            scores[test] = part
        learner = self._learner(scores, columns, splits)
        return learner if last is None else RuleLearner(learner.data, learner.family, last.widths)

    def _held_out_losses(self, learner: RuleLearner, loss: Loss) -> Array:
        name = learner.chosen(loss)[0] if self.decision == "auto" else self.decision
        return learner.losses(name, loss)

    def _each_fold(
        self, operator: str | Operator, path: Array, X: Any, columns: Columns, splits: list[Split], scores: bool
    ) -> Iterator[FoldPath]:
        own: dict[str, Any] = {"warm_start": True, "tol": LOOSER_FOLDS * self.tol}
        if self.n_jobs not in (None, 1):
            own["callbacks"] = ()  # they belong to this process
        tasks = (
            delayed(fit_path)(self._candidate(operator, 1.0).set_params(**own), path, X, columns, *split, scores)
            for split in splits
        )
        found = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
        for number, fold in enumerate(found, 1):
            if fold is None:
                raise KeyboardInterrupt  # a model cut short is not compared with others
            if self.verbose:
                report_fold(operator, number, len(splits), path, fold.gaps)
            yield fold


def fit_path(
    model: Any, path: Array, X: Any, columns: Columns, train: Any, test: Any, scores: bool = False
) -> FoldPath | None:
    """Every C of the path on one fold, each from the solution of the one before; None if that was interrupted."""
    found, gaps = [], []
    held_out = {name: part for name, part in _part(columns, test) if name != "sample_weight"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FeatureScaleWarning)  # the fit on everything says it
        for C in path:
            model.set_params(C=float(C)).fit(_safe_indexing(X, train), **dict(_part(columns, train)))
            if model.solution_.status is Status.INTERRUPTED:
                return None
            features = _safe_indexing(X, test)
            found.append(model._scores(features) if scores else model.losses(features, **held_out))
            gaps.append(model.dual_gap_)
    return FoldPath(found, gaps)


def _part(columns: Columns, index: Any) -> Iterator[tuple[str, Any]]:
    """Some rows of every column."""
    for name, column in columns.items():
        yield name, _safe_indexing(column, index)


def _indexable(X: Any, y: Any) -> tuple[Any, Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    X, y = indexable(X, y)
    return X, y.toarray() if issparse(y) else (as_array(y) if isinstance(y, list) else y)


def _known(y: Any) -> NDArray[np.bool_]:
    """Which labels (n, p) are known."""
    labels = as_array(y).reshape(len(y), -1)
    return ~np.isnan(labels) if labels.dtype.kind == "f" else np.ones(labels.shape, dtype=bool)


def _weights(sample_weight: Any, X: Any) -> Columns:
    """The column of weights, if there is one."""
    if sample_weight is None:
        return {}
    return {"sample_weight": _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)}


def _weights_in(columns: Columns) -> Array:
    """The weight of every row, 1 without a column of weights."""
    return np.asarray(columns.get("sample_weight", np.ones(len(columns["y"]))))


class SetClassifierCV(CrossValidatedModel, SetClassifier):
    """`SetClassifier` with C, and the operator if asked, chosen by cross-validation."""

    _simple = SetClassifier

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifierCV:
        """Choose on the folds, then train on all of X (n, d) and y (n, p)."""
        X, y = _indexable(X, y)
        cv = self.cv
        if isinstance(cv, int | np.integer) and getattr(y, "ndim", 1) == 2:
            cv = KFold(int(cv), shuffle=True, random_state=self._seed())
        splits = list(check_cv(cv, y, classifier=True).split(X, y))
        self._search(X, {"y": y} | _weights(sample_weight, X), splits)
        return self

    def _learner(self, scores: Array, columns: Columns, splits: list[Split]) -> RuleLearner:
        return learner_of_labels(scores, labels_of(columns["y"], type(self).__name__), _weights_in(columns), splits)

    def _set_weights(self, columns: Columns) -> Array:
        return np.asarray(_weights_in(columns)[_known(columns["y"]).any(axis=1)])

    def _sizes(self, columns: Columns) -> NDArray[np.intp]:
        return np.asarray(_known(columns["y"])[_weights_in(columns) > 0].sum(axis=1))


class BagClassifierCV(CrossValidatedModel, BagClassifier):
    """`BagClassifier` with C, and the operator if asked, chosen by cross-validation over whole bags."""

    _simple = BagClassifier

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> BagClassifierCV:
        """Choose on folds that never split a bag, then train on all frames."""
        X, y = _indexable(X, y)
        if groups is None:
            warn_if_ungrouped(groups, "trained")
            groups = np.arange(len(y))
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        else:
            folds = 5 if self.cv is None else self.cv
            bags = bags_named(groups, len(y))
            if isinstance(folds, int | np.integer):
                refuse_few_bags(int(folds), len(bags))
            cv = GroupKFold(int(folds)) if isinstance(folds, int | np.integer) else check_cv(folds)
            splits = list(cv.split(X, y, groups))
            refuse_split_bags(splits, np.asarray(groups))
        self._search(X, {"y": y, "groups": np.asarray(groups)} | _weights(sample_weight, X), splits)
        return self

    def _learner(self, scores: Array, columns: Columns, splits: list[Split]) -> RuleLearner:
        weights = _weights_in(columns)
        positive = two_classes(np.asarray(columns["y"]))[1]
        return learner_of_bags(scores[:, 0], positive, bags_named(columns["groups"], len(scores)), weights, splits)

    def _set_weights(self, columns: Columns) -> Array:
        return bags_named(columns["groups"], len(columns["groups"])).means(_weights_in(columns))

    def _sizes(self, columns: Columns) -> NDArray[np.intp]:
        used = _weights_in(columns) > 0
        return bags_named(columns["groups"][used], int(used.sum())).sizes
