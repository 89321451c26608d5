"""`SetClassifier`: linear scores of the elements of sets, trained for a loss of the set of wrong ones."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state

from setloss.defaults import LINEAR_MODELS
from setloss.estimators.features import check_cost, checked_features, checked_weights, warn_of_scales
from setloss.estimators.fit_log import report, say
from setloss.estimators.labels import Labels, check_rows
from setloss.estimators.set_layout import read_sets, sets_of
from setloss.losses import Loss, as_loss
from setloss.operators import Operator
from setloss.solvers import Design, Limits, Solution, Status, solve
from setloss.typing import Array

POSITIVE = Interval(Real, 0, None, closed="neither")


@dataclass(eq=False, repr=False)
class LinearModel(ClassifierMixin, BaseEstimator):
    """Linear scores of the elements of sets, however they were trained, and what they lose."""

    loss: str | Loss = LINEAR_MODELS.loss
    operator: str | Operator = LINEAR_MODELS.operator
    _: KW_ONLY
    scale: float = LINEAR_MODELS.scale
    tol: float = 1e-3
    max_iter: int = 1000
    max_time: float | None = None
    solver: str = "auto"
    fit_intercept: bool = True
    intercept_scaling: float | Literal["auto"] = "auto"
    random_state: Any = None
    verbose: int = 0

    classes_: NDArray[Any] = field(init=False)
    _labels: Labels = field(init=False)
    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "operator": [str, callable],
        "scale": [POSITIVE],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [POSITIVE, None],
        "solver": [str],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE, StrOptions({"auto"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _seed(self) -> int:
        """`random_state` as an integer, drawn from it if it is a generator."""
        if self.random_state is None or isinstance(self.random_state, Integral):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31))

    def __getstate__(self) -> dict[str, Any]:
        """Files and copies hold no training data: what a warm start needs of them stays here."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "solution_" in state:
            state["solution_"] = replace(state["solution_"], state=None, surrogate=None)
        return state

    def _scores(self, X: Any) -> Array:
        """One column of scores for each label."""
        check_is_fitted(self)
        X = checked_features(self, X, reset=False)
        return np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_

    def decision_function(self, X: Any) -> Array:
        """The linear scores (n, p), ``X @ coef_.T + intercept_``; (n,) after a fit with y (n,)."""
        scores = self._scores(X)
        return self._labels.in_form(scores)

    def predict(self, X: Any, *, groups: Any = None) -> NDArray[Any]:
        """The labels of positive score in the form and the alphabet of y; `groups` play no part."""
        scores = self._scores(X)
        return self._labels.write(scores > 0)

    def losses(self, X: Any, y: Any, *, groups: Any = None) -> Array:
        """The loss of every set with a known label, those of groups in sorted order."""
        return self._judged(X, y, groups)[0]

    def score(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> float:
        """1 - the mean loss over the sets; a group weighs as much as its elements on average."""
        losses, weights = self._judged(X, y, groups, sample_weight)
        if not weights.sum() > 0:
            raise ValueError("no set has a known label and a positive weight; there is nothing to judge")
        return 1.0 - float(np.average(losses, weights=weights))

    def _judged(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> tuple[Array, Array]:
        """The losses of the sets with a known label, and their weights."""
        check_rows(X, y)
        chosen = self._scores(X) > 0
        truth, known = self._labels.truth(y, len(chosen))
        sets = sets_of(self._labels, len(chosen), groups, "judged")
        losses, used = sets.losses(as_loss(self.loss), truth, known, chosen)
        return losses, sets.means(checked_weights(sample_weight, chosen))[used]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(eq=False, repr=False)
class SetClassifier(LinearModel):
    """Linear classifier trained for a loss of the set of wrong elements of each set.

        min over (w^1, ..., w^p)   1/2 sum_j |w^j|^2 + C sum_i weight_i B(y_i1 <w^1, x_i>, ..., y_ip <w^p, x_i>)
        min over w                 1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    The sets are the rows of y (n, p), and every label has its own weights; or y is (n,), and `groups` name the set of
    each element: groups have any size from one, and elements share their weights. Groups of rows of y (n, p) only say
    which rows no fold of a search may separate. Without groups every element of y (n,) is a set of its own, and an
    `UngroupedWarning` says so: ``groups=np.arange(len(y))`` or ``y[:, None]`` if that is meant. scikit-learn's tools
    hand `groups` to `fit`, `predict` and `score` if metadata routing is on,
    ``sklearn.set_config(enable_metadata_routing=True)``.

    `predict` takes the elements of positive score, as the paper does. `SetDecisionCV(SetClassifier())` decides for
    the whole set instead, by a rule that is learned from held-out scores.

    Parameters
    ----------
    loss : str, Loss or callable, default "dice"
        A name ("dice", "f1", "jaccard", "hamming", "curve1"...), a `Loss`, or a callable of two label vectors.
    operator : str or callable, default "slack"
        The surrogate B: "slack", "margin", "bd", "bd-monotone", "lovasz" or "hinge", or a function from set functions
        to surrogates. docs/evidence.md has the measurements behind the default.
    scale : float, default 1.0
        c of slack and margin rescaling, also inside B_D: 1 is the tightest extension, 2 is printed in the paper.
    C : float, default 1.0
        Weight of the risk against the regulariser. ``C weight |x|^2``, summed over the rows, may be 1e15 at most.
    tol : float, default 0.001
        Relative duality gap to reach: (primal - dual) / primal.
    max_iter, max_time : int, default 1000, and float, optional
        Limits in iterations and in seconds; the best model so far is kept, with a warning.
    solver : str, default "auto"
        "auto", "frank_wolfe", "admm", "cutting_plane" or "n_slack".
    fit_intercept, intercept_scaling : bool, default True, and float or "auto", default "auto"
        An intercept is one more feature of constant value `intercept_scaling`, regularised like the others; "auto" is
        the root mean squared norm of the rows of X, so that it weighs as much as all features together.
    warm_start : bool, default False
        Start from the last solution, that of a model from a file too: a fit that was cut short goes on.
    random_state, verbose, callbacks
        Seed of the visiting order; ``verbose=1`` shows every iteration; callbacks get a `Record` each.

    Attributes
    ----------
    coef_, intercept_
        Of shape (p, d) and (p,); p = 1 for y (n,).
    classes_
        0 and 1, or -1 and 1, as in y; or the two classes of a single column, the second being the positive one.
    label_names_
        The column names of y if it was a table: ``pd.DataFrame(model.predict(X), columns=model.label_names_)``.
    n_features_in_, feature_names_in_
        The number of features, and their names if X was a table.
    n_iter_, dual_gap_, solution_
        Iterations, the relative gap reached, and all else that the solver reports; `solution_` has the history.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, y = make_multilabel_classification(100, n_classes=3, random_state=0)
    >>> model = SetClassifier("jaccard", C=0.1).fit(X, y)
    >>> model.coef_.shape, bool(model.dual_gap_ <= 0.001)
    ((3, 20), True)
    """

    _: KW_ONLY
    C: float = 1.0
    warm_start: bool = False
    callbacks: Sequence[Any] = ()

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LinearModel._parameter_constraints | {
        "C": [POSITIVE],
        "warm_start": ["boolean"],
        "callbacks": [list, tuple],
    }

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train on X (n, d) and labels y (n, p) in {0, 1} or {-1, +1}, dense or sparse; or y (n,) and its `groups`.

        NaN, None or pandas' NA in y (n, p) is a missing label, left out of its set. The weight of a group is the mean
        weight of its elements.
        """
        self._validate_params()
        check_rows(X, y)
        loss = as_loss(self.loss)
        X = checked_features(self, X, reset=True)
        labels, matrix, sets = read_sets(X, y, groups, type(self).__name__)
        labels.set_attributes(self)
        elements = sets.elements(matrix.positive, matrix.known, checked_weights(sample_weight, X))
        if not len(elements.bags):
            raise ValueError("no example has a known label and a positive weight; there is nothing to train on")
        if elements.truth.all() or not elements.truth.any():
            raise ValueError("the sets of positive weight have only one class; training needs both")
        constant = self._constant(Design.of(X).squared_norms(), elements.row_weights(X.shape[0]))
        warn_of_scales(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        problem = elements.problem(X, constant, loss, self.operator, float(self.scale), self.C)
        solution = solve(problem, self.solver, *self._how(), self._seed())
        self._store(solution, constant)
        self._say_how_it_ended(solution)
        return self

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

    def _how(self) -> tuple[Limits, Solution | None]:
        """When to stop, and where to start."""
        callbacks = (*self.callbacks, *([report] if self.verbose else []))
        warm = getattr(self, "solution_", None) if self.warm_start else None
        return Limits(self.tol, self.max_iter, self.max_time, callbacks), warm

    def _store(self, solution: Solution, constant: float) -> None:
        """Set the fitted attributes."""
        # The dual variables are large; only a warm start needs them.
        self.solution_ = solution if self.warm_start else replace(solution, state=None, surrogate=None)
        self.coef_ = solution.parameters[:, :-1].copy()
        self.intercept_ = constant * solution.parameters[:, -1]
        self.n_iter_ = solution.iterations
        self.dual_gap_ = solution.gap

    def _say_how_it_ended(self, solution: Solution) -> None:
        """Warn if the gap is not as small as asked for, or is no certificate."""
        who, iterations = type(self).__name__, solution.iterations
        if self.verbose:
            say("%s after %d iterations: gap %.2e", solution.status, iterations, solution.gap)
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
            warnings.warn(words, ConvergenceWarning, stacklevel=3)
