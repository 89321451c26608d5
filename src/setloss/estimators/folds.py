"""Held-out scores, from which rules are learned: splits, scores of every fold, and what is learned from them."""

from __future__ import annotations

import logging
import warnings
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, check_cv

from setloss.bags import Bags
from setloss.decisions.held_out import HeldOut
from setloss.decisions.potentials import BagPotentials, LabelPotentials
from setloss.decisions.rules import RuleLearner
from setloss.defaults import ENOUGH_HELD_OUT, LOOSER_FOLDS
from setloss.estimators.elements import FeatureScaleWarning
from setloss.estimators.labels import LabelMatrix
from setloss.estimators.progress import say
from setloss.solvers import Status
from setloss.typing import Array

_log = logging.getLogger(__name__)

FOLDS = 3
"""Folds of the scores that `SetClassifier` and `BagClassifier` learn a decision from: as good as five (see
docs/which-operator.md), in half of the time."""

TURNS = 5
"""Folds that examples are put into where their scores do not come from several folds."""

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


# -------------------------------------------------------------------- splits


def label_splits(cv: Any, X: Any, labels: LabelMatrix, **to_split: Any) -> list[Split]:
    """(train, test) rows; a number is one of shuffled folds, stratified for a single label."""
    if isinstance(cv, int | np.integer) and not labels.single:
        cv = KFold(int(cv), shuffle=True, random_state=0)
    target = labels.numbers.ravel() if labels.single else labels.numbers
    if isinstance(cv, KFold) and cv.get_n_splits() > len(target):
        raise ValueError(f"cv={cv.get_n_splits()} folds need as many examples; there are {len(target)}. Lower cv.")
    return list(check_cv(cv, target, classifier=True).split(X, target, **to_split))


def bag_splits(cv: Any, X: Any, positive: NDArray[np.bool_], bags: Bags) -> list[Split]:
    """(train, test) frames, which never split a bag."""
    numbers = bags.scatter(np.repeat(np.arange(len(bags)), bags.sizes))
    if isinstance(cv, int | np.integer):
        refuse_few_bags(int(cv), len(bags))
        cv = GroupKFold(int(cv), shuffle=True, random_state=0)
    splits = list(check_cv(cv, positive, classifier=True).split(X, positive, numbers))
    refuse_split_bags(splits, numbers)
    return splits


def refuse_few_bags(folds: int, bags: int) -> None:
    """More folds than bags."""
    if folds > bags:
        raise ValueError(f"cv={folds} folds need as many bags; there are {bags}. Lower cv, or look at groups.")


def refuse_split_bags(splits: list[Split], groups: NDArray[Any]) -> None:
    """Folds with frames of a bag in both parts."""
    for fold, (train, test) in enumerate(splits):
        shared = np.intersect1d(groups[train], groups[test])
        if len(shared):
            raise ValueError(
                f"fold {fold} of cv splits bag {shared[0]}: frames of a bag in both parts make the loss look small. "
                "Use a splitter by groups such as GroupKFold, or a number of folds."
            )


def number_of_folds(members: int) -> int:
    """Three, or as many as there are members to hold out."""
    return max(2, min(FOLDS, members))


def enough_of(splits: list[Split], sets: int) -> list[Split]:
    """As many of the splits as it takes to hold out `ENOUGH_HELD_OUT` sets, if all of them hold out `sets`."""
    return splits[: -(-ENOUGH_HELD_OUT * len(splits) // sets)]


def out_of_fold(model: Any, X: Any, splits: list[Split], deadline: float | None, **columns: Any) -> Array:
    """Scores (n, p) by copies of a linear model that were not trained on the row; NaN where no fold holds it out.

    `columns` are what `fit` gets beside X, some of them None. An interrupted copy ends it with `KeyboardInterrupt`,
    the deadline, a time of `monotonic`, with `TimeoutError`.
    """
    quiet = {"decision": "sign", "warm_start": False, "checkpoint": None, "callbacks": (), "verbose": 0}
    scores = np.empty((0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FeatureScaleWarning)
        tell = say if model.verbose else _log.info
        for fold, (train, test) in enumerate(splits, 1):
            tell("learning the decision, fold %d of %d", fold, len(splits))
            left = None if deadline is None else deadline - monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            copy = clone(model).set_params(**quiet, tol=LOOSER_FOLDS * model.tol, max_time=left)
            copy.fit(X[train], **{name: None if part is None else part[train] for name, part in columns.items()})
            if copy.solution_.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if copy.solution_.status is Status.TIME_LIMIT:
                raise TimeoutError
            found = copy._scores(X[test])
            scores = scores if scores.size else np.full((X.shape[0], found.shape[1]), np.nan)
            scores[test] = found
    tell("learning the decision")
    return scores


# -------------------------------------------------------------------- learners


def learner_of_labels(scores: Array, labels: LabelMatrix, weights: Array, splits: list[Split] | None) -> RuleLearner:
    """What rules learn from the scores of examples; without splits they are put into `TURNS` folds at random."""
    folds = _numbered(splits, len(scores))
    used = (folds >= 0) & labels.known.any(axis=1) & (weights > 0)
    data = HeldOut(scores, labels.positive, labels.known, weights, folds).part(used)
    return RuleLearner(data, LabelPotentials.seen(data.truth.sum(axis=1), scores.shape[1]))


def learner_of_bags(
    scores: Array, positive: NDArray[np.bool_], bags: Bags, weights: Array, splits: list[Split] | None
) -> RuleLearner:
    """What rules learn from the scores (N,) of frames; a bag weighs as much as its frames on average."""
    if splits is None:
        folds = _numbered(None, len(bags))
    else:
        folds = bags.gather(_numbered(splits, len(scores)))[bags.offsets[:-1]]
    means = bags.means(weights)
    truth = bags.gather(positive)
    known, plain = np.ones(len(truth), dtype=bool), Bags(bags.offsets)
    data = HeldOut(bags.gather(scores), truth, known, means, folds, plain).part((folds >= 0) & (means > 0))
    return RuleLearner(data, BagPotentials())


def _numbered(splits: list[Split] | None, n: int) -> NDArray[np.intp]:
    """The number of the fold that holds each example out, -1 where no fold does.

    Rules are compared on several folds: without splits, or with only one, the examples are put into `TURNS` folds at
    random.
    """
    if splits is None:
        return np.random.default_rng(0).permutation(n) % min(TURNS, n)
    folds = np.full(n, -1, dtype=np.intp)
    for k, (_, test) in enumerate(splits):
        folds[test] = k if len(splits) > 1 else _numbered(None, len(test))
    return folds
