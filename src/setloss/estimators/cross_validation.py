"""Choosing C, and the operator if asked, by cross-validation on the loss itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import _safe_indexing, indexable

from setloss.defaults import LINEAR_MODELS
from setloss.estimators.bags import BagClassifier
from setloss.estimators.base import LinearSetModel
from setloss.estimators.held_out import refuse_split_bags
from setloss.estimators.sets import SetClassifier
from setloss.losses import Loss
from setloss.operators.names import Operator
from setloss.solvers import Status
from setloss.typing import Array


class CrossValidatedModel(LinearSetModel):
    """A model that fits every C of a path, warm-started, on every fold, and keeps the C of least mean loss.

    `Cs` is a list or the number of values between 1e-3 and 1e3; `operators` a list to choose from instead of
    `operator`; `cv` a number of folds or a splitter. After the fit `C_` and `operator_` are the choice, and
    `cv_results_` has the mean loss, its standard error and the largest gap for every candidate.
    """

    _simple: type[LinearSetModel]

    def __init__(
        self,
        loss: str | Loss = LINEAR_MODELS.loss,
        operator: str | Operator = LINEAR_MODELS.operator,
        *,
        Cs: int | Sequence[float] = 7,
        operators: Sequence[str | Operator] | None = None,
        cv: Any = 5,
        scale: float = LINEAR_MODELS.scale,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.operator = operator
        self.Cs = Cs
        self.operators = operators
        self.cv = cv
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _path(self) -> Array:
        if isinstance(self.Cs, int | np.integer) and self.Cs > 0:
            return np.logspace(-3, 3, int(self.Cs))
        path = np.sort(np.atleast_1d(np.asarray(self.Cs, dtype=float))) if not np.isscalar(self.Cs) else np.empty(0)
        if path.ndim != 1 or len(path) == 0 or not np.all(np.isfinite(path)) or path[0] <= 0:
            raise ValueError(f"Cs is a number of values or a list of positive numbers; got {self.Cs!r}")
        return path

    def _candidate(self, operator: str | Operator, C: float) -> Any:
        shared = set(self._simple().get_params()) & set(self.get_params())
        parameters = {name: getattr(self, name) for name in shared}
        return self._simple(**(parameters | {"operator": operator, "C": C}))

    def _choose(self, X: Any, y: Any, groups: Any, splits: list[tuple[Any, Any]]) -> None:
        path, operators = self._path(), list(self.operators or [self.operator])
        results: list[dict[str, Any]] = []
        for done, operator in enumerate(operators):
            try:
                results += self._judged(operator, path, X, y, groups, splits)
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
        self.cv_results_ = {name: [row[name] for row in results] for name in best}

    def _judged(
        self, operator: str | Operator, path: Array, X: Any, y: Any, groups: Any, splits: list[tuple[Any, Any]]
    ) -> list[dict[str, Any]]:
        """One row of `cv_results_` for every C."""
        losses, gaps = zip(*(self._fold(operator, path, X, y, groups, *split) for split in splits), strict=True)
        rows: list[dict[str, Any]] = []
        for k, C in enumerate(path):
            values = np.concatenate([fold[k] for fold in losses])
            error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            gap = max(fold[k] for fold in gaps)
            rows.append({"operator": operator, "C": C, "loss": float(values.mean()), "error": error, "gap": gap})
        return rows

    def _fold(
        self, operator: str | Operator, path: Array, X: Any, y: Any, groups: Any, train: Any, test: Any
    ) -> tuple[list[Array], list[float]]:
        """The losses on the test part and the gaps, for every C of the path."""
        model = self._candidate(operator, 1.0).set_params(warm_start=True)
        losses, gaps = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for C in path:
                model.set_params(C=float(C)).fit(*_part(train, X, y, groups))
                if model.solution_.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt  # a model cut short is not compared with others
                losses.append(model.losses(*_part(test, X, y, groups)))
                gaps.append(model.dual_gap_)
        return losses, gaps

    def _refit(self, X: Any, y: Any, groups: Any) -> None:
        best = self._candidate(self.operator_, self.C_).fit(*_part(None, X, y, groups))
        for name, value in vars(best).items():
            if name.endswith("_") or name == "_flat":
                setattr(self, name, value)


def _part(index: Any, X: Any, y: Any, groups: Any) -> Iterator[Any]:
    for array in (X, y, *([] if groups is None else [groups])):
        yield array if index is None else _safe_indexing(array, index)


def _indexable(X: Any, y: Any) -> tuple[Any, Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    X, y = indexable(X, y)
    return X, y.toarray() if issparse(y) else (np.asarray(y) if isinstance(y, list) else y)


class SetClassifierCV(CrossValidatedModel, SetClassifier):
    """`SetClassifier` with C, and the operator if asked, chosen by cross-validation."""

    _simple = SetClassifier

    def fit(self, X: Any, y: Any) -> SetClassifierCV:  # type: ignore[override]
        """Choose on the folds, then train on all of X (n, d) and y (n, p)."""
        X, y = _indexable(X, y)
        cv = self.cv
        if isinstance(cv, int | np.integer) and getattr(y, "ndim", 1) == 2:
            seed = self.random_state if self.random_state is not None else 0
            cv = KFold(int(cv), shuffle=True, random_state=seed)
        self._choose(X, y, None, list(check_cv(cv, y, classifier=True).split(X, y)))
        self._refit(X, y, None)
        return self


class BagClassifierCV(CrossValidatedModel, BagClassifier):
    """`BagClassifier` with C, and the operator if asked, chosen by cross-validation over whole bags."""

    _simple = BagClassifier

    def fit(self, X: Any, y: Any, groups: Any = None) -> BagClassifierCV:  # type: ignore[override]
        """Choose on folds that never split a bag, then train on all frames."""
        X, y = _indexable(X, y)
        if groups is None:
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        else:
            folds = 5 if self.cv is None else self.cv
            cv = GroupKFold(int(folds)) if isinstance(folds, int | np.integer) else check_cv(folds)
            splits = list(cv.split(X, y, groups))
            refuse_split_bags(splits, np.asarray(groups))
        self._choose(X, y, groups, splits)
        self._refit(X, y, groups)
        return self
