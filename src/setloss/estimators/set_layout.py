"""`SetLayout`: which elements are judged together, rows of y or groups.

Arrays are (n, p), one row for each row of X. The sets are the rows of y (n, p), where every label has its own
weights; or, if y is (n,), groups of its elements, which share their weights and form one column, p = 1. Splits into
folds are the same for searches and for held-out scores, and never split a set.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from setloss.bags import Bags
from setloss.decisions.held_out import HeldOut, numbered_folds
from setloss.estimators.labels import LabelMatrix, Labels, labels_of
from setloss.losses import Loss
from setloss.operators import Operator
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem
from setloss.typing import Array, Flags

AFFIRMATIVE = ("yes", "y", "true", "t", "positive", "pos", "1", "1.0")
"""Words that are the positive class without a warning."""

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows to train on, and rows held out."""


class UngroupedWarning(UserWarning):
    """Elements came without groups, so that every element is a set of its own."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of a training problem: the truth of each, the row of X of every frame or label set, weights of bags.

    `tasks` has the label of every element of label sets, and is empty where all have all labels.
    """

    truth: Flags
    bags: Bags
    rows: NDArray[np.intp]
    weights: Array
    n_tasks: int = 1
    tasks: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def row_weights(self, rows: int) -> Array:
        """The weight of the bag of each row of X; 0 for rows of no bag."""
        weights = np.zeros(rows)
        frames = len(self.rows) == self.bags.elements
        weights[self.rows] = np.repeat(self.weights, self.bags.sizes) if frames else self.weights
        return weights

    def problem(
        self, X: Any, constant: float, loss: Loss, operator: str | Operator, scale: float, C: float
    ) -> Problem:
        """The training problem of these elements."""
        batch = batch_surrogate(loss, self.truth, self.bags, operator, scale)
        signs = np.where(self.truth, np.int8(1), np.int8(-1))
        return Problem(Design.of(X, constant), batch, signs, self.rows, C * self.weights, self.n_tasks, self.tasks)


@dataclass(frozen=True, eq=False)
class SetLayout:
    """Which elements of arrays (n, p) form a set: the rows; or, if y was `flat`, the groups of its elements.

    `named` are the groups, in sorted order of names; those of rows of y only say which rows no fold may separate.
    """

    rows: int
    named: Bags | None
    flat: bool

    @classmethod
    def of(cls, rows: int, groups: Any, flat: bool) -> Self:
        """The sets that `groups` names, one name for each row; without groups every element of a flat y is a set."""
        if groups is None:
            return cls(rows, Bags.from_offsets(np.arange(rows + 1)) if flat else None, flat)
        if np.shape(groups) != (rows,):
            raise ValueError(f"groups must name the set of each of {rows} rows; got shape {np.shape(groups)}")
        return cls(rows, Bags.from_groups(groups), flat)

    @cached_property
    def sets(self) -> Bags | None:
        """The groups that are sets; None where the rows are the sets."""
        return self.named if self.flat else None

    @cached_property
    def bags(self) -> Bags | None:
        """The sets of gathered elements, one after the other; None where they are the rows."""
        return None if self.sets is None else Bags(self.sets.offsets)

    def __len__(self) -> int:
        return self.rows if self.sets is None else len(self.sets)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The number of the group of each row; without groups that of the row."""
        if self.named is None:
            return np.arange(self.rows)
        return self.named.scatter(np.repeat(np.arange(len(self.named)), self.named.sizes))

    def part(self, rows: NDArray[np.intp]) -> Self:
        """The sets of some rows."""
        return self.of(len(rows), self.numbers[rows] if self.flat else None, self.flat)

    def means(self, values: NDArray[Any]) -> NDArray[Any]:
        """The mean over the rows of each set."""
        return values if self.sets is None else self.sets.means(values)

    def to_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of sets as those of rows."""
        return values if self.sets is None else values[self.numbers]

    def gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Elements (n, p) so that the sets lie one after the other; those of groups are flat then."""
        return values if self.sets is None else self.sets.gather(values[:, 0])

    def scatter(self, gathered: NDArray[Any]) -> NDArray[Any]:
        """The reverse of `gather`: elements (n, p)."""
        return gathered if self.sets is None else self.sets.scatter(gathered)[:, None]

    def elements(self, positive: Flags, known: Flags, weights: Array) -> Elements:
        """The known elements of the sets that have any and a positive weight; that of a group is the mean of its own.

        A row of weight 0 in a group that has a weight belongs to it as in scores: it counts in the loss and the mean.
        """
        means = self.means(weights)
        if self.sets is not None:
            heavy = means > 0
            rows = self.sets.gather(np.arange(self.rows))[np.repeat(heavy, self.sets.sizes)]
            return Elements(positive[rows, 0], _bags_of(self.sets.sizes[heavy]), rows, means[heavy])
        sizes, p = known.sum(axis=1) * (means > 0), known.shape[1]
        used = np.flatnonzero(sizes)
        sizes, truth = sizes[used], positive if len(used) == self.rows else positive[used]
        if np.all(sizes == p):
            return Elements(truth.ravel(), _bags_of(sizes), used, means[used], p)
        places, tasks = np.nonzero(known[used])
        return Elements(truth[places, tasks], _bags_of(sizes), used, means[used], p, tasks)

    def splits(self, cv: Any, X: Any, labels: LabelMatrix, *, seed: int = 0, **to_split: Any) -> list[Split]:
        """Folds that never split a group; a number of them, or None for 5, is one of shuffled folds.

        Where no rows belong together, those are stratified by a single label.
        """
        groups, cv = self.named, 5 if cv is None else cv
        single = labels.positive.shape[1] == 1 and bool(labels.known.all())
        target = labels.positive[:, 0].astype(np.int64) if single else labels.positive
        if isinstance(cv, int | np.integer):
            count = self.rows if groups is None else len(groups)
            if cv > count:
                what = "examples" if groups is None else "groups"
                raise ValueError(f"cv={cv} folds need as many {what}; there are {count}. Lower cv.")
            groups = None if count == self.rows else groups
            kind = GroupKFold if groups is not None else StratifiedKFold if target.ndim == 1 else KFold
            cv = kind(int(cv), shuffle=True, random_state=seed)
        if groups is not None:
            to_split["groups"] = self.numbers
        folds = check_cv(cv, target, classifier=True).split(X, target, **to_split)
        splits = [(_rows(train), _rows(test)) for train, test in folds]
        if not splits:
            raise ValueError("cv gives no splits; it is a number of folds, a splitter or a list of (train, test)")
        for fold, (train, test) in enumerate(splits):
            for number in np.intersect1d(self.numbers[train], self.numbers[test])[:1]:
                ids = None if self.named is None else self.named.ids
                what = f"row {number}" if ids is None else f"rows of group {ids[number]}"
                raise ValueError(
                    f"fold {fold} of cv has {what} in both parts, which makes the loss look small. Use a number of "
                    "folds, or a splitter by groups such as GroupKFold."
                )
        return splits

    def folds(self, splits: list[Split] | None) -> NDArray[np.intp]:
        """The number of the fold that holds each row out, -1 where none does; without splits, sets take turns."""
        if splits is None:
            return self.to_rows(numbered_folds(None, len(self)))
        return numbered_folds(splits, self.rows)

    def some(self, rows: Flags, most: int) -> Flags:
        """The rows of at most so many of the sets with a marked row, at random."""
        places = np.flatnonzero(self.means(rows))
        kept = np.zeros(len(self), dtype=bool)
        kept[places if len(places) <= most else np.random.default_rng(0).permutation(places)[:most]] = True
        return self.to_rows(kept)

    def held_out(
        self, scores: Array, truth: Flags, known: Flags, weights: Array, folds: NDArray[np.intp] | None = None
    ) -> HeldOut:
        """Scores and labels of the sets with a known label and a positive weight, to learn from or to judge by.

        `weights` and `folds` are those of rows.
        """
        turns = self.folds(None) if folds is None else folds
        if self.sets is not None:
            turns = self.sets.gather(turns)[self.sets.offsets[:-1]]
        elements = self.gather(scores), self.gather(truth), self.gather(known)
        data = HeldOut(*elements, self.means(weights), turns, self.bags)
        used = data.weights > 0
        if self.sets is None:
            used &= known.any(axis=1)
        return data if used.all() else data.part(used)

    def losses(self, loss: Loss, truth: Flags, known: Flags, chosen: Flags) -> tuple[Array, Flags]:
        """The loss of every set with a known element, and which sets those are."""
        numbers = np.broadcast_to(self.to_rows(np.arange(len(self)))[:, None], known.shape)[known]
        used = np.zeros(len(self), dtype=bool)
        used[numbers] = True
        if used.all() and self.sets is None and known.all():
            return np.asarray(loss(truth, chosen)), used
        return np.asarray(loss(truth[known], chosen[known], groups=numbers)), used


def _bags_of(sizes: NDArray[np.intp]) -> Bags:
    return Bags.from_offsets(np.concatenate(([0], np.cumsum(sizes))))


def _rows(part: Any) -> NDArray[np.intp]:
    """Rows by their numbers, or by a mask."""
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == bool else part.astype(np.intp)


# -------------------------------------------------------------------- reading y and groups


def sets_of(labels: Labels, rows: int, groups: Any, what: str) -> SetLayout:
    """The sets of new data; groups play no part if the rows of y are the sets."""
    if labels.grouped and groups is None:
        warn_ungrouped(what)
    return SetLayout.of(rows, groups, labels.flat)


def read_sets(X: Any, y: Any, groups: Any, who: str) -> tuple[Labels, LabelMatrix, SetLayout]:
    """The labels of a training and their sets, by the shape of y; y (n,) without groups gets a warning."""
    matrix = labels_of(y, who)
    check_consistent_length(X, matrix.positive)
    labels = replace(matrix.labels, grouped=matrix.labels.flat and groups is not None)
    warn_of(labels)
    return labels, matrix, SetLayout.of(len(matrix.positive), groups, labels.flat)


def warn_of(labels: Labels) -> None:
    """Warn of elements without groups, and which of two words is the positive class, unless it says yes."""
    if labels.flat and not labels.grouped:
        warn_ungrouped("trained")
    other, positive = labels.classes.tolist()
    if isinstance(positive, str) and positive.strip().lower() not in AFFIRMATIVE:
        words = "the positive class is {1!r}, the second in the alphabet; pass y == {1!r} to say so, or y == {0!r}"
        warnings.warn(words.format(other, positive), UserWarning, stacklevel=4)


def warn_ungrouped(what: str) -> None:
    """Warn that every element becomes a set of its own, which is hardly ever meant."""
    warnings.warn(
        f"no groups: every element of y is {what} as a set of its own. Pass groups=, the set of each element; "
        "through scikit-learn's tools call sklearn.set_config(enable_metadata_routing=True) first and pass "
        "params={'groups': groups}. If elements are meant one by one, pass groups=np.arange(len(y)), or y[:, None].",
        UngroupedWarning,
        stacklevel=5,
    )
