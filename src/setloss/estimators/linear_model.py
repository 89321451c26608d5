"""What both estimators share: parameters, the fitting of a problem, prediction from scores."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_random_state

from setloss.arguments import is_positive_number
from setloss.bags import Bags
from setloss.decisions.rules import Rule, RuleLearner, Sets, count_loss
from setloss.defaults import DECISION, ENOUGH_TO_LEARN, LINEAR_MODELS
from setloss.estimators.elements import Elements, check_features, checked_features, squared_norms, warn_of_scales
from setloss.estimators.progress import report, report_end
from setloss.losses import CountLoss, Loss, as_loss
from setloss.operators.names import Operator
from setloss.solvers import Limits, Problem, Solution, Status, solve
from setloss.typing import Array


class LossParameter:
    """A parameter `loss`: a name, a `Loss`, or a callable ``(y_true, y_pred) -> float``."""

    loss: Any

    def _loss(self) -> Loss:
        return as_loss(self.loss)


@dataclass(frozen=True)
class BySign:
    """The rule that learns nothing: it takes the elements of positive score."""

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        """The chosen elements, in the shape of the scores."""
        return np.asarray(scores > 0)


class LearnedDecision(LossParameter, ABC):
    """An estimator with a rule that was learned from held-out scores."""

    learner_: RuleLearner
    rule_: Rule
    rule_name_: str
    rule_losses_: dict[str, tuple[float, float]]
    _learned_for: tuple[Any, str]

    @abstractmethod
    def _rule_asked(self) -> str:
        """The word for the rule among the parameters."""

    def _learn(self, learner: RuleLearner, loss: Loss) -> None:
        """Keep what was learned, and the rule for the loss."""
        self.learner_ = learner
        asked = self.rule_name_ = self._rule_asked()
        if asked == "auto":
            self.rule_name_, self.rule_losses_ = learner.chosen(loss)
        self._keep(learner.rule(self.rule_name_, loss))

    def _keep(self, rule: Rule) -> None:
        self.rule_, self._learned_for = rule, (self.loss, self._rule_asked())

    def _keep_sign(self) -> None:
        """Decide element by element, by the sign of the scores."""
        self.rule_name_ = "sign"
        self._keep(BySign())

    def _learned_rule(self) -> Rule:
        """The rule for the present parameters, which may have been set to another loss or rule after the fit."""
        asked = self._rule_asked()
        if asked == "sign":
            return BySign()
        check_is_fitted(self)
        check_is_fitted(self, "rule_", msg=f"learn the rule {asked!r} first: call fit again")
        if (self.loss, asked) == self._learned_for or (asked == "auto" and not hasattr(self, "learner_")):
            return self.rule_
        return self._held_out().rule(asked, self._loss())

    def _held_out(self) -> RuleLearner:
        check_is_fitted(self, "learner_", msg="there is no count model of held-out scores; call fit again")
        return self.learner_

    def _decides_by_counts(self) -> bool:
        """Whether there is a count model of held-out scores, or will be after a fit."""
        return True


def _has_counts(model: LearnedDecision) -> bool:
    if not model._decides_by_counts():
        raise AttributeError(
            f"this {type(model).__name__} decides by sign and has learned no chances; decision='auto' learns them "
            f"from {ENOUGH_TO_LEARN} sets of several elements on, decision='counts' always"
        )
    return True


Method = TypeVar("Method")
of_count_models: Callable[[Method], Method] = available_if(_has_counts)
"""Decorates methods that need a count model."""


class CertifiedFit:
    """Linear models that the loop of `setloss.solvers` trains to a relative gap: limits, intercept, warnings."""

    tol: float
    max_iter: int
    max_time: float | None
    fit_intercept: bool
    intercept_scaling: float | Literal["auto"]
    checkpoint: str | None
    checkpoint_seconds: float
    verbose: int
    callbacks: Sequence[Any]

    def _check_constant(self) -> None:
        constant = self.intercept_scaling
        if constant != "auto" and not is_positive_number(constant):
            raise ValueError(f'intercept_scaling must be a positive number or "auto"; got {constant!r}')

    def _constant(self, X: Any, weights: Array) -> float:
        """The value of the intercept's constant feature: as asked, or the root mean squared norm of the rows."""
        if not self.fit_intercept:
            return 0.0
        if self.intercept_scaling != "auto":
            return float(self.intercept_scaling)
        return float(np.sqrt(np.average(squared_norms(X), weights=weights))) or 1.0

    def _parameters_for(self, simple: Any) -> dict[str, Any]:
        """The parameters that another estimator takes too."""
        shared = set(simple.get_params()) & set(self.get_params())  # type: ignore[attr-defined]
        return {name: getattr(self, name) for name in shared}

    def _take_fitted(self, fitted: Any) -> None:
        """Become what another estimator was fitted to."""
        for name, value in vars(fitted).items():
            if name.endswith("_") or name == "_flat":
                setattr(self, name, value)

    def _limits(self) -> Limits:
        callbacks = [*self.callbacks, *([report] if self.verbose else [])]
        limits = (self.tol, self.max_iter, self.max_time, tuple(callbacks))
        return Limits(*limits, self.checkpoint, self.checkpoint_seconds)

    def _warn(self, solution: Solution, stacklevel: int = 5) -> None:
        """Warn where the gap is not as small as asked for, or is no certificate."""
        if solution.status is Status.UNCERTIFIED:
            warnings.warn(
                f"{type(self).__name__}: no duality gap is certified, for some cuts of the operator are inexact, as "
                f"those of a heuristic search are. It ended after {solution.iterations} iterations, where these cuts "
                "have nothing to add; more iterations change nothing. An operator with exact cuts, such as 'slack', "
                "comes with a certificate.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        elif solution.status is not Status.CONVERGED:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of {solution.gap:.2e} instead of "
                f"{self.tol:.2e} ({solution.status} after {solution.iterations} iterations). Increase max_iter or "
                "max_time, scale the features, or decrease C.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )


class LinearSetModel(CertifiedFit, LearnedDecision, ClassifierMixin, BaseEstimator):
    """Linear scores trained for ``1/2 |W|^2 + C sum_i weight_i B(m_i(W))`` to a certified gap."""

    _decisions: tuple[str, ...] = ("sign",)
    """What `decision` may be."""

    rule_status_: Status

    def __init__(  # noqa: PLR0913 (scikit-learn's parameters are the arguments of this one function)
        self,
        loss: str | Loss = LINEAR_MODELS.loss,
        operator: str | Operator = LINEAR_MODELS.operator,
        *,
        scale: float = LINEAR_MODELS.scale,
        C: float = 1.0,
        decision: str = DECISION,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        warm_start: bool = False,
        checkpoint: str | None = None,
        checkpoint_seconds: float = 30.0,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.loss = loss
        self.operator = operator
        self.scale = scale
        self.C = C
        self.decision = decision
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    # ---------------------------------------------------------------- fitting

    def _check_decision(self) -> None:
        if self.decision not in self._decisions:
            raise ValueError(
                f"{type(self).__name__} has no decision {self.decision!r}; the names are {', '.join(self._decisions)}"
            )

    def _check_parameters(self) -> None:
        self._check_decision()
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a positive number; got {self.C}")
        if not is_positive_number(self.scale):
            raise ValueError(f"the scale c must be a positive number; got {self.scale!r}")
        self._check_constant()

    def _fit(self, X: Any, elements: Elements, loss: Loss) -> None:
        """Train on checked data."""
        check_features(X)
        warn_of_scales(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        constant = self._constant(X, elements.row_weights(X.shape[0]))
        self._solve(elements.problem(X, constant, loss, self.operator, float(self.scale), self.C))

    def _solve(self, problem: Problem) -> None:
        """Run the solver and store what it found."""
        solution = solve(problem, self.solver, self._limits(), self._warm(), self._seed())
        if self.verbose:
            report_end(solution)
        self._store(solution, problem.design.constant)
        self._warn(solution)

    def _warm(self) -> Solution | None:
        return getattr(self, "solution_", None) if self.warm_start else None

    def _deadline(self) -> float | None:
        """When time is up, on the clock `monotonic`."""
        return None if self.max_time is None else monotonic() + self.max_time

    def _seed(self) -> int:
        """`random_state` as an integer, drawn from it if it is a generator."""
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return int(self.random_state or 0)
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**31))
        return int(check_random_state(self.random_state).randint(2**31))

    def _store(self, solution: Solution, constant: float) -> None:
        """The fitted attributes."""
        # The dual variables are large; only a warm start needs them.
        self.solution_ = solution if self.warm_start else replace(solution, state=None)
        self.coef_ = solution.parameters[:, :-1].copy()
        self.intercept_ = constant * solution.parameters[:, -1]
        self.n_iter_ = solution.iterations
        self.dual_gap_ = solution.gap
        self._keep_sign()
        self.rule_status_ = Status.CONVERGED

    def _checked_X(self, X: Any, *, reset: bool) -> Any:
        return checked_features(self, X, reset=reset)

    # ---------------------------------------------------------------- decisions

    def _rule_asked(self) -> str:
        return self.decision

    def _decides_by_counts(self) -> bool:
        return self.decision != "sign" and (self.decision != "auto" or hasattr(self, "learner_"))

    def _decidable_loss(self) -> Loss:
        """The loss, checked: learned rules need one of counts. What the last fit learned is forgotten."""
        for name in ("learner_", "rule_", "rule_name_", "rule_losses_", "rule_status_"):
            if hasattr(self, name):
                delattr(self, name)
        return self._loss() if self.decision in ("sign", "auto") else count_loss(self._loss())

    def _learns(self, loss: Loss, sizes: NDArray[np.intp]) -> bool:
        """Whether a rule is learned: if asked for by name, or with "auto" if enough sets have several elements."""
        if self.decision != "auto":
            return self.decision != "sign"
        return isinstance(loss, CountLoss) and int(np.sum(sizes > 1)) >= ENOUGH_TO_LEARN

    def _learn_unless_stopped(self, learned: Callable[[], RuleLearner], loss: Loss) -> None:
        """Learn the rule; after Ctrl-C or past `max_time` take the sign: models cut short are no basis for a rule."""
        try:
            if self.solution_.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            self._learn(learned(), loss)
            return
        except KeyboardInterrupt:
            self.rule_status_, what = Status.INTERRUPTED, "was interrupted"
        except TimeoutError:
            self.rule_status_, what = Status.TIME_LIMIT, "reached max_time"
        self._keep_sign()
        warnings.warn(
            f"{type(self).__name__} {what} before decision={self.decision!r} was learned; it predicts by "
            "the sign of the scores",
            ConvergenceWarning,
            stacklevel=4,
        )

    # ---------------------------------------------------------------- prediction

    def _scores(self, X: Any) -> Array:
        """One column of scores per label."""
        check_is_fitted(self)
        X = self._checked_X(X, reset=False)
        scores: Array = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
