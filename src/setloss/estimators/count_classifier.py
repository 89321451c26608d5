"""`CountClassifier`: which labels and how many, learned together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from setloss.decisions import CountModel, expected_losses_of
from setloss.decisions.rules import best_sets, count_loss
from setloss.estimators.count_descent import LimitedMemory
from setloss.estimators.count_problem import CountProblem, Whitened
from setloss.estimators.elements import check_features, checked_features, squared_norms
from setloss.estimators.label_scores import log_odds
from setloss.estimators.linear_model import CertifiedFit
from setloss.estimators.progress import report_end, report_fold
from setloss.estimators.search import fit_path
from setloss.estimators.set_classifier import LabelSetMixin
from setloss.losses import Loss
from setloss.solvers import Solution
from setloss.solvers.loop import run
from setloss.typing import Array


class CountClassifier(CertifiedFit, LabelSetMixin, ClassifierMixin, BaseEstimator):
    """Linear multi-label classifier that learns together which labels an example has, and how many.

        min over (W, u)   1/2 |W|^2 + prior(u) - C sum_i weight_i log P(y_i | x_i),
        P(y | x) ~ exp( sum_j y_j <w^j, x> + u_|y|(x) )

    The likelihood is concave and knows nothing of a loss; `predict` takes the set of least expected loss.

    Parameters
    ----------
    loss
        A name or a loss of counts; ``set_params(loss=...)`` needs no new fit.
    counts
        "constant": one u_k for each number k of labels. "linear": u_k(x) is linear in x.
    C
        Weight of the likelihood against the regulariser.
    tol, max_iter, max_time
        L-BFGS ends at a gap of `tol`, relative to the objective, after `max_iter` iterations or `max_time` seconds.
    fit_intercept, intercept_scaling, warm_start, checkpoint, checkpoint_seconds, verbose, callbacks
        As in `SetClassifier`.

    Attributes
    ----------
    coef_, intercept_
        Of shape (p, d) and (p,).
    counts_coef_, counts_
        The potentials of 0, ..., K labels: ``u(x) = counts_coef_ x + counts_``, the first being 0 unless linear.
    n_iter_, dual_gap_, objective_, solution_
        Iterations; |grad|^2 / 2 relative to the objective, which bounds its distance from the minimum; the objective;
        the history.
    classes_, label_names_
        As in `SetClassifier`.
    """

    def __init__(
        self,
        loss: str | Loss = "f1",
        *,
        counts: Literal["constant", "linear"] = "constant",
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        warm_start: bool = False,
        checkpoint: str | None = None,
        checkpoint_seconds: float = 30.0,
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.counts = counts
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.verbose = verbose
        self.callbacks = callbacks

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CountClassifier:
        """Train on X (n, d) and labels y (n, p) in {0, 1}; NaN in y is a missing label, which is summed out."""
        self._check_parameters()
        labels = self._read_labels(y)
        X = checked_features(self, X, reset=True)
        check_consistent_length(X, labels.positive)
        check_features(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = labels.known.any(axis=1) & (weights > 0)
        if not used.any():
            raise ValueError("every sample weight is zero, or no label is known; there is nothing to train on")
        rows = np.flatnonzero(used)
        problem = CountProblem(
            X[rows],
            self._constant(X, weights * used),
            labels.positive[rows],
            labels.known[rows],
            self.C * weights[rows],
            self.counts == "linear",
        )
        warm = getattr(self, "solution_", None) if self.warm_start else None
        solution = run(Whitened(problem), LimitedMemory(), self._limits(), warm)
        if self.verbose:
            report_end(solution)
        self._store(problem, solution)
        self._warn(solution, stacklevel=3)
        return self

    def _check_parameters(self) -> None:
        count_loss(self._loss())
        if self.counts not in ("constant", "linear"):
            raise ValueError(f'counts is "constant" or "linear"; got {self.counts!r}')
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a positive number; got {self.C}")
        self._check_constant()

    def _store(self, problem: CountProblem, solution: Solution) -> None:
        W, T = problem.unpacked(solution.parameters)
        self.solution_ = solution if self.warm_start else replace(solution, state=None)
        self.coef_, self.intercept_ = W[:, :-1].copy(), problem.constant * W[:, -1]
        potentials = problem.root @ T
        self.counts_ = potentials[:, -1] * (problem.constant if problem.linear else 1.0)
        self.counts_coef_ = potentials[:, :-1] if problem.linear else np.zeros((len(potentials), W.shape[1] - 1))
        self.n_iter_, self.dual_gap_, self.objective_ = solution.iterations, solution.gap, solution.primal

    # ---------------------------------------------------------------- prediction

    def _scores_and_counts(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        X = checked_features(self, X, reset=False)
        scores = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        if not self.counts_coef_.any():
            return scores, self.counts_
        return scores, np.asarray(X @ self.counts_coef_.T, dtype=np.float64) + self.counts_

    def _sets(self, X: Any) -> NDArray[np.bool_]:
        return best_sets(*self._decision(X), None)

    def _decision(self, X: Any) -> tuple[Array, Loss, Array]:
        scores, counts = self._scores_and_counts(X)
        return scores, self._loss(), counts

    def predict_proba(self, X: Any) -> Any:
        """P(y_j = 1) of every label (n, p); (n, 2) after a fit with a single label."""
        return self._chances_shown(CountModel(*self._scores_and_counts(X)).marginals, X)

    def decision_function(self, X: Any) -> Array:
        """Log-odds (n, p) of the labels: those of `predict_proba`."""
        found = log_odds(CountModel(*self._scores_and_counts(X)).marginals, 1e-15)
        return found[:, 0] if self._flat else found

    def predict_count_proba(self, X: Any) -> Array:
        """P(|y| = k) for k = 0, ..., K."""
        return CountModel(*self._scores_and_counts(X)).count_probabilities

    def expected_loss(self, X: Any) -> Array:
        """The loss of every example that the model expects of `predict`."""
        scores, loss, counts = self._decision(X)
        return expected_losses_of(best_sets(scores, loss, counts, None), scores, loss, counts=counts)


class CountClassifierCV(CountClassifier):
    """`CountClassifier` with C of least mean loss on held-out folds.

    `Cs` is a list, or the number of values between 1e-3 and 1e2 over the mean squared norm of the rows of X; `cv` a
    number of folds or a splitter. After the fit `C_` is the choice and `cv_results_` has the loss of every C.
    """

    def __init__(
        self,
        loss: str | Loss = "f1",
        *,
        counts: Literal["constant", "linear"] = "constant",
        Cs: int | Sequence[float] = 6,
        cv: Any = 5,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.counts = counts
        self.Cs = Cs
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CountClassifierCV:
        """Choose C on the folds, then train on everything."""
        X = checked_features(self, X, reset=True)
        read = self._read_labels(y)
        labels = np.asarray(y) if read.flat else read.numbers
        cv = KFold(int(self.cv), shuffle=True, random_state=0) if isinstance(self.cv, int) else check_cv(self.cv)
        path, splits = self._path(X), list(cv.split(X, labels))
        found = []
        columns = {"y": labels} | ({} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)})
        for number, split in enumerate(splits, 1):
            model = self._simple(warm_start=True).set_params(verbose=max(0, self.verbose - 1))
            fold = fit_path(model, path, X, columns, *split)
            if fold is None:
                raise KeyboardInterrupt  # a model cut short is not compared with others
            found.append(fold)
            if self.verbose:
                report_fold("counts", number, len(splits), path, fold.gaps)
        losses = np.concatenate([np.array(fold.found) for fold in found], axis=1)
        means = losses.mean(axis=1)
        self.C_ = float(path[np.argmin(means)])
        errors = losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1]) if losses.shape[1] > 1 else np.zeros(len(path))
        gaps = np.max([fold.gaps for fold in found], axis=0)
        results = {"C": path, "loss": means, "error": errors, "gap": gaps}
        self.cv_results_ = {name: column.tolist() for name, column in results.items()}
        self._take_fitted(self._simple(C=self.C_).fit(X, y, sample_weight))
        return self

    def _simple(self, **options: Any) -> CountClassifier:
        return CountClassifier(**self._parameters_for(CountClassifier()), **options)

    def _path(self, X: Any) -> Array:
        if isinstance(self.Cs, int | np.integer):
            return np.logspace(-3, 2, int(self.Cs)) * 10 / max(float(np.mean(squared_norms(X))), 1e-12)
        return np.sort(np.asarray(self.Cs, dtype=np.float64))
