"""`LinearSetModel`: parameters, training to a certified gap and scores of `SetClassifier`, here and on Dask."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from setloss.defaults import LINEAR_MODELS
from setloss.estimators.elements import Elements
from setloss.estimators.features import check_cost, checked_features, warn_of_scales
from setloss.estimators.fit_log import report, say
from setloss.losses import Loss, as_loss
from setloss.operators.names import Operator
from setloss.solvers import Design, Limits, Solution, Status, solve
from setloss.typing import Array

POSITIVE = Interval(Real, 0, None, closed="neither")


class LinearSetModel(ClassifierMixin, BaseEstimator):
    """Linear scores trained for ``1/2 |W|^2 + C sum_i weight_i B(m_i(W))`` to a certified gap.

    Subclasses read labels and their sets, make `Elements` or partitions of them, and solve.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "operator": [str, callable],
        "scale": [POSITIVE],
        "C": [POSITIVE],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [POSITIVE, None],
        "solver": [str],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE, StrOptions({"auto"})],
        "warm_start": ["boolean"],
        "checkpoint": [str, os.PathLike, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": [list, tuple],
    }

    def __init__(
        self,
        loss: str | Loss = LINEAR_MODELS.loss,
        operator: str | Operator = LINEAR_MODELS.operator,
        *,
        scale: float = LINEAR_MODELS.scale,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.operator = operator
        self.scale = scale
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    # ---------------------------------------------------------------- fitting

    def _loss(self) -> Loss:
        return as_loss(self.loss)

    def _fit(self, X: Any, elements: Elements, loss: Loss) -> None:
        """Train on checked data."""
        constant = self._constant(Design.of(X).squared_norms(), elements.row_weights(X.shape[0]))
        warn_of_scales(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        problem = elements.problem(X, constant, loss, self.operator, float(self.scale), self.C)
        solution = solve(problem, self.solver, self._limits(), self._warm(), self._seed())
        if self.verbose:
            say("%s after %d iterations: gap %.2e", solution.status, solution.iterations, solution.gap)
        self._store(solution, constant)
        self._warn(solution)

    def _constant(self, norms: Array, weights: Array) -> float:
        """The value of the intercept's constant feature: as asked, or the root mean squared norm of the rows.

        Squared norms, constant, weights and C together must be in the range of doubles.
        """
        constant = 0.0
        if self.fit_intercept and self.intercept_scaling != "auto":
            constant = float(self.intercept_scaling)
        elif self.fit_intercept:
            constant = float(np.sqrt(np.average(norms, weights=weights / weights.max()))) or 1.0
        with np.errstate(over="ignore"):
            cost = self.C * float(weights @ (norms + np.square(constant)))
        check_cost(cost, type(self).__name__)
        return constant

    def _limits(self) -> Limits:
        callbacks = (*self.callbacks, *([report] if self.verbose else []))
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint)
        return Limits(self.tol, self.max_iter, self.max_time, callbacks, checkpoint)

    def _warm(self) -> Solution | None:
        return getattr(self, "solution_", None) if self.warm_start else None

    def _seed(self) -> int:
        """`random_state` as an integer, drawn from it if it is a generator."""
        if self.random_state is None or isinstance(self.random_state, Integral):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31))

    def _store(self, solution: Solution, constant: float) -> None:
        """Set the fitted attributes."""
        # The dual variables are large; only a warm start needs them.
        self.solution_ = solution if self.warm_start else _without_data(solution)
        self.coef_ = solution.parameters[:, :-1].copy()
        self.intercept_ = constant * solution.parameters[:, -1]
        self.n_iter_ = solution.iterations
        self.dual_gap_ = solution.gap

    def _warn(self, solution: Solution) -> None:
        """Warn if the gap is not as small as asked for, or is no certificate."""
        who, iterations = type(self).__name__, solution.iterations
        words = (
            f"{who} stopped at a relative duality gap of {solution.gap:.2e} instead of {self.tol:.2e} "
            f"({solution.status} after {iterations} iterations). Increase max_iter or max_time, scale the features, "
            "or decrease C."
        )
        if solution.status is Status.UNCERTIFIED:
            words = (
                f"{who}: no duality gap is certified, for some cuts of the operator are inexact, as those of a "
                f"heuristic search are. It ended after {iterations} iterations, where these cuts have nothing to "
                "add; more iterations change nothing. An operator with exact cuts, such as 'slack', is certified."
            )
        if solution.status is not Status.CONVERGED:
            warnings.warn(words, ConvergenceWarning, stacklevel=4)

    def __getstate__(self) -> dict[str, Any]:
        """Files and copies hold no training data: what a warm start needs of them stays here."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "solution_" in state:
            state["solution_"] = _without_data(state["solution_"])
        return state

    # ---------------------------------------------------------------- scores

    def _scores(self, X: Any) -> Array:
        """One column of scores per label."""
        check_is_fitted(self)
        X = checked_features(self, X, reset=False)
        scores: Array = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def _without_data(solution: Solution) -> Solution:
    """The solution without what has a part for every example."""
    return replace(solution, state=None, surrogate=None)
