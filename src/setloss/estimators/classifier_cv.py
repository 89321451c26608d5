"""`SetClassifierCV`: C of least mean loss in cross-validation, each fitted from the solution of the one before."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from setloss.decisions.rules import standard_error
from setloss.estimators.features import FeatureScaleWarning, checked_features, checked_weights
from setloss.estimators.fit_log import say
from setloss.estimators.labels import check_rows
from setloss.estimators.set_classifier import LinearModel, SetClassifier
from setloss.estimators.set_layout import read_sets
from setloss.solvers import Status
from setloss.typing import Array

LOOSER_FOLDS = 3.0
"""Ratio of the gap of fits on folds, which are only compared, to the gap of the final fit."""


@dataclass(eq=False, repr=False)
class SetClassifierCV(LinearModel):
    """`SetClassifier` with C chosen by cross-validation.

    Parameters
    ----------
    Cs : int or sequence of float, default 7
        A list, or the number of values between 1e-3 and 1e3.
    cv : int, splitter or sequence of splits, default 5
        A number of folds, a splitter or a list of (train, test); no fold splits a set or a group.
    n_jobs : int, optional
        Folds at a time, in processes of their own.
    loss, operator, scale, tol, max_iter, max_time, solver, fit_intercept, intercept_scaling, random_state, verbose
        As in `SetClassifier`. `max_time` is for each fit; fits on folds end at three times `tol`; ``verbose=1`` tells
        how every fold fared, 2 shows the iterations too.

    Attributes
    ----------
    C_
        The choice. All attributes of a `SetClassifier` are those of the choice, trained on everything.
    cv_results_
        For every C the mean loss, its standard error, and the largest gap.

    Sample weights count in the fits and in the mean losses. Ctrl-C ends the search, and there is no model.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, y = make_multilabel_classification(60, n_classes=3, random_state=0)
    >>> search = SetClassifierCV(Cs=[0.01, 0.1], cv=2).fit(X, y)
    >>> search.C_ in (0.01, 0.1), len(search.cv_results_["loss"])
    (True, 2)
    """

    _: KW_ONLY
    Cs: int | Sequence[float] = 7
    cv: Any = 5
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LinearModel._parameter_constraints | {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Choose on folds that never split a set or a group, then train on everything."""
        self._validate_params()
        check_rows(X, y)
        path, X = c_path(self.Cs), checked_features(self, X, reset=True)
        labels, matrix, sets = read_sets(X, y, groups, type(self).__name__)
        weights, some = checked_weights(sample_weight, X), np.asarray(matrix.known.any(axis=1))
        splits = sets.splits(self.cv, X, matrix, seed=self._seed())
        columns = {"y": indexable(y)[0]}
        if labels.flat:
            columns["groups"] = sets.numbers
        if sample_weight is not None:
            columns["sample_weight"] = weights
        looser = {"warm_start": True, "tol": LOOSER_FOLDS * self.tol}  # each fold has a model of its own: threads
        tasks = (delayed(fit_path)(self._candidate(**looser), path, X, columns, *split) for split in splits)
        folds = []
        for number, fold in enumerate(Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks), 1):
            folds.append(fold)
            if self.verbose:
                gaps = ", ".join(f"{C:g}: {gap:.1e}" for C, (_, gap) in zip(path, fold, strict=True))
                say("fold %d of %d: gaps at C = %s", number, len(splits), gaps)
        held_out = [test[some[test]] for _, test in splits]
        judged = np.concatenate([sets.part(rows).means(weights[rows]) for rows in held_out])
        losses = [np.concatenate([loss for loss, _ in each]) for each in zip(*folds, strict=True)]
        self.cv_results_ = {
            "C": path.tolist(),
            "loss": [float(np.average(loss, weights=judged)) for loss in losses],
            "error": [standard_error(loss, judged) for loss in losses],
            "gap": [max(gap for _, gap in each) for each in zip(*folds, strict=True)],
        }
        self.C_ = self.cv_results_["C"][int(np.argmin(self.cv_results_["loss"]))]
        chosen = vars(self._candidate(C=self.C_).fit(X, **columns))
        self.__dict__.update({name: value for name, value in chosen.items() if name.endswith("_")})
        labels.set_attributes(self)
        return self

    def _candidate(self, **own: Any) -> SetClassifier:
        """A classifier with the parameters of this one, but for its own."""
        given = {name: value for name, value in self.get_params().items() if name not in ("Cs", "cv", "n_jobs")}
        return SetClassifier(**given | {"verbose": max(0, self.verbose - 1)} | own)


def fit_path(
    model: Any, path: Array, X: Any, columns: dict[str, Any], train: Any, test: Any
) -> list[tuple[Array, float]]:
    """For every C, fitted on one fold from the solution of the one before: the losses of its sets, and the gap."""
    inside, outside = _safe_indexing(X, train), _safe_indexing(X, test)
    known = {name: _safe_indexing(column, train) for name, column in columns.items()}
    held_out = {name: _safe_indexing(column, test) for name, column in columns.items() if name != "sample_weight"}
    judged = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FeatureScaleWarning)  # the fit on everything says it
        for C in path:
            model.set_params(C=float(C)).fit(inside, **known)
            if model.solution_.status is Status.INTERRUPTED:
                raise KeyboardInterrupt  # a model cut short is not compared with others
            judged.append((model.losses(outside, **held_out), model.dual_gap_))
    return judged


def c_path(Cs: Any) -> Array:
    """The values of C in rising order."""
    if isinstance(Cs, Integral):
        return np.logspace(-3, 3, int(Cs))
    try:
        path = np.sort(np.asarray(Cs, dtype=float), axis=None)
    except (TypeError, ValueError):
        path = np.empty(0)
    if np.ndim(Cs) != 1 or len(path) == 0 or not np.all(np.isfinite(path)) or path[0] <= 0:
        raise ValueError(f"Cs is a number of values or a list of positive numbers; got {Cs!r}")
    return path
