"""Which classifier: the one by whose held-out scores the labels are likeliest under a count model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from setloss.decisions.held_out import HeldOut
from setloss.decisions.rules import RuleLearner
from setloss.estimators.fit_log import in_words, say
from setloss.estimators.folds import Split
from setloss.estimators.label_scores import Outputs, Rows, Scorer, fit_parameter, fit_scorer, gathered, out_of_fold
from setloss.typing import Array

TREES = 300
"""Number of trees where no classifier is named."""

LEAF = 3
"""Fewest examples of a leaf of these trees: a leaf of one would store a training row and its labels."""

PATH = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Values of C of the logistic regressions where no classifier is named; the search begins in the middle."""

ENOUGH_HELD_OUT = 500
"""Candidates are compared on as many folds as hold out this many sets, at least two."""


@dataclass(frozen=True, eq=False)
class Examples:
    """What candidates are trained on: features, labels, splits (None for classifiers that are fitted already).

    `needed` marks the rows whose held-out scores are wanted, `held_out` makes data of scores of some rows, and `sets`
    is the number of sets, bags or examples.
    """

    X: Any
    Y: Any
    splits: list[Split] | None
    needed: Any
    held_out: Callable[[Rows, Array], HeldOut]
    sets: int
    params: dict[str, Any] = field(default_factory=dict)
    offered: dict[str, Any] = field(default_factory=dict)
    n_jobs: int | None = None
    verbose: bool = False

    def params_for(self, estimator: Any) -> dict[str, Any]:
        """What `fit` of a candidate gets: `params`, and of what is `offered` that which it takes."""
        names = {name: fit_parameter(estimator, name) for name in self.offered}
        taken = {there: np.asarray(self.offered[name]) for name, there in names.items() if there is not None}
        return self.params | taken


@dataclass(eq=False)
class Trial:
    """A candidate with what it said on the first folds, and what is learned from that."""

    estimator: Any
    examples: Examples
    outputs: list[Outputs] = field(default_factory=list)
    learner: RuleLearner | None = None
    certainty: float = 0.0

    def run(self, folds: int) -> RuleLearner:
        """Hold out as many folds, those that were not yet, and learn from all."""
        examples = self.examples
        assert examples.splits is not None
        rest = [(train, test[examples.needed[test]]) for train, test in examples.splits[len(self.outputs) : folds]]
        params, how = examples.params_for(self.estimator), (examples.n_jobs, examples.verbose, len(self.outputs))
        self.outputs += out_of_fold(self.estimator, examples.X, examples.Y, rest, params, *how)
        rows, scores, self.certainty = gathered(self.outputs)
        self.learner = RuleLearner.of(examples.held_out(rows, scores))
        return self.learner

    def finished(self) -> tuple[Scorer, RuleLearner]:
        """A scorer that is trained on everything, and the learner of all folds."""
        examples = self.examples
        assert examples.splits is not None
        learner = self.learner
        if learner is None or len(self.outputs) < len(examples.splits):
            learner = self.run(len(examples.splits))
        if examples.verbose:
            say("%s: final fit on all %d sets", in_words(self.estimator), examples.sets)
        params = examples.params_for(self.estimator)
        return fit_scorer(self.estimator, examples.X, examples.Y, None, params, self.certainty), learner


def fit_likeliest(estimators: Sequence[Any], path: int, examples: Examples) -> tuple[Scorer, RuleLearner]:
    """Train the likeliest of some classifiers, of which the first `path` are ordered by their strength."""
    if examples.splits is None:
        return max((_frozen(one, examples) for one in estimators), key=lambda found: found[1].log_likelihood)
    if len(estimators) == 1:
        return Trial(estimators[0], examples).finished()
    folds = max(2, -(-ENOUGH_HELD_OUT * len(examples.splits) // examples.sets))
    trials = [Trial(one, examples) for one in estimators]

    @cache
    def likelihood(index: int) -> float:
        value = trials[index].run(folds).log_likelihood
        if examples.verbose:
            say("%s: held-out log-likelihood %.3f for each set", in_words(estimators[index]), value)
        return value

    found = [_climb(likelihood, path)] if path else []
    return trials[max([*found, *range(path, len(estimators))], key=likelihood)].finished()


def _frozen(estimator: Any, examples: Examples) -> tuple[Scorer, RuleLearner]:
    """A classifier that is fitted already, and what is learned from its scores of everything."""
    rows, p = np.flatnonzero(examples.needed), examples.Y.shape[1]
    scorer = Scorer(estimator, np.arange(p), np.zeros(p))
    rows, scores, certainty = gathered([(rows, scorer, scorer.outputs(_safe_indexing(examples.X, rows)))])
    return replace(scorer, certainty=certainty), RuleLearner.of(examples.held_out(rows, scores))


def _climb(value: Callable[[int], float], length: int) -> int:
    """The highest of a row of values that rise and then fall, from the middle on."""
    best = length // 2
    for step in (-1, 1):
        while 0 <= best + step < length and value(best + step) > value(best):
            best += step
        if best != length // 2:
            break
    return best


def default_estimators(X: Any, *, in_bags: bool = False) -> tuple[list[Any], int]:
    """What is compared where no classifier is named, and how many of them are a path of one parameter.

    Logistic regressions per label on scaled features, from strongly to weakly shrunk, and `TREES` extremely
    randomised trees: trees win where labels depend on few features or on their interplay, logistic regression where
    each feature adds a bit. Trees alone where features are missing; no trees where X is sparse, or for frames.
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    def logistic(C: float) -> Any:
        model = LogisticRegression(C=C, max_iter=1000, tol=1e-3)
        scaler = MaxAbsScaler() if issparse(X) else StandardScaler()
        return make_pipeline(scaler, model if in_bags else MultiOutputClassifier(model))

    linear = [logistic(C) for C in PATH] if _is_finite(X) else []
    trees = (
        []
        if linear and (in_bags or issparse(X))
        else [ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=0)]
    )
    return [*linear, *trees], len(linear)


def _is_finite(X: Any) -> bool:
    """Whether X is of numbers, none of them missing or infinite."""
    try:
        values = X.data if issparse(X) else np.asarray(X, dtype=np.float64)
        return bool(np.isfinite(values).all())
    except (TypeError, ValueError):  # the classifier says what is wrong
        return False
