"""`SetLayout`: which elements are judged together, rows of y or groups. `Labels`: what a fit remembers of y.

Arrays are (n, p), one row for each row of X. The sets are the rows of y (n, p), where every label has its own
weights; or, if y is (n,), groups of its elements, which share their weights and form one column, p = 1. Splits into
folds are the same for searches and for held-out scores, and never split a set.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from setloss.bags import Bags, group_array
from setloss.decisions.held_out import HeldOut, numbered_folds
from setloss.estimators.labels import LabelMatrix, known_truth, labels_of
from setloss.estimators.linear_model import Elements, elements_of_groups, elements_of_labels
from setloss.losses import Loss
from setloss.typing import Array, Flags


class UngroupedWarning(UserWarning):
    """Elements came without groups, so that every element is a set of its own."""


AFFIRMATIVE = ("yes", "y", "true", "t", "positive", "pos", "1", "1.0")
"""Words that are the positive class without a warning."""


class SetLayout(ABC):
    """Which elements of arrays (n, p) form a set."""

    bags: Bags | None
    """The sets of gathered elements, one after the other; None where they are the rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def part(self, rows: NDArray[np.intp]) -> SetLayout:
        """The sets of some rows."""

    @abstractmethod
    def means(self, values: NDArray[Any]) -> NDArray[Any]:
        """The mean over the rows of each set."""

    @abstractmethod
    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        """The value at the first row of each set."""

    @abstractmethod
    def to_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of sets as those of rows."""

    @abstractmethod
    def gather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Elements (n, p) so that the sets lie one after the other; those of groups are flat then."""

    @abstractmethod
    def scatter(self, gathered: NDArray[Any]) -> NDArray[Any]:
        """The reverse of `gather`: elements (n, p)."""

    @abstractmethod
    def elements(self, positive: Flags, known: Flags, weights: Array) -> Elements:
        """The elements of the training problem."""

    @abstractmethod
    def splits(self, cv: Any, X: Any, labels: LabelMatrix, *, seed: int = 0, **to_split: Any) -> list[Split]:
        """Folds that never split a set."""

    def folds(self, splits: list[Split] | None, rows: int) -> NDArray[np.intp]:
        """The number of the fold that holds each row out, -1 where none does; without splits, sets take turns."""
        return self.to_rows(numbered_folds(None, len(self))) if splits is None else numbered_folds(splits, rows)

    def some(self, rows: Flags, most: int) -> Flags:
        """The rows of at most so many of the sets with a marked row, at random."""
        places = np.flatnonzero(self.means(rows))
        kept = np.zeros(len(self), dtype=bool)
        kept[places if len(places) <= most else np.random.default_rng(0).permutation(places)[:most]] = True
        return self.to_rows(kept)

    def held_out(
        self, scores: Array, truth: Flags, known: Flags, weights: Array, folds: NDArray[np.intp] | None = None
    ) -> HeldOut:
        """Scores with their labels, to learn from or to judge by; `weights` and `folds` are those of rows."""
        turns = numbered_folds(None, len(self)) if folds is None else self.first(folds)
        elements = self.gather(scores), self.gather(truth), self.gather(known)
        return HeldOut(*elements, self.means(weights), turns, self.bags)

    def losses(self, loss: Loss, truth: Flags, known: Flags, chosen: Flags) -> tuple[Array, Flags]:
        """The loss of every set with a known element, and which sets those are."""
        numbers = np.broadcast_to(self.to_rows(np.arange(len(self)))[:, None], known.shape)[known]
        used = np.zeros(len(self), dtype=bool)
        used[numbers] = True
        if used.all() and self.bags is None and known.all():
            return np.asarray(loss(truth, chosen)), used
        return np.asarray(loss(truth[known], chosen[known], groups=numbers)), used


@dataclass(frozen=True, eq=False)
class RowSets(SetLayout):
    """Every row is a set; `together` are rows that no fold may separate."""

    rows: int
    together: Bags | None = None
    bags = None

    def __len__(self) -> int:
        return self.rows

    def part(self, rows: NDArray[np.intp]) -> RowSets:
        return RowSets(len(rows))

    def means(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    first = to_rows = gather = means

    def scatter(self, gathered: NDArray[Any]) -> NDArray[Any]:
        return gathered

    def elements(self, positive: Flags, known: Flags, weights: Array) -> Elements:
        return elements_of_labels(positive, known, weights)

    def splits(self, cv: Any, X: Any, labels: LabelMatrix, *, seed: int = 0, **to_split: Any) -> list[Split]:
        if self.together is None:
            return label_splits(cv, X, labels.target, seed=seed, **to_split)
        return bag_splits(cv, X, labels.target, self.together, seed=seed, **to_split)


@dataclass(frozen=True, eq=False)
class GroupedSets(SetLayout):
    """Groups of elements, one element a row, in sorted order of their names."""

    named: Bags

    def __len__(self) -> int:
        return len(self.named)

    @cached_property
    def bags(self) -> Bags:  # type: ignore[override]
        return Bags(self.named.offsets)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The number of the set of each row."""
        return self.named.scatter(np.repeat(np.arange(len(self)), self.named.sizes))

    def part(self, rows: NDArray[np.intp]) -> GroupedSets:
        return GroupedSets(Bags.from_groups(self.numbers[rows]))

    def means(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.named.means(values)

    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.named.gather(values)[self.named.offsets[:-1]]

    def to_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        return values[self.numbers]

    def gather(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.named.gather(values[:, 0])

    def scatter(self, gathered: NDArray[Any]) -> NDArray[Any]:
        return self.named.scatter(gathered)[:, None]

    def elements(self, positive: Flags, known: Flags, weights: Array) -> Elements:
        return elements_of_groups(positive[:, 0], self.named, weights)

    def splits(self, cv: Any, X: Any, labels: LabelMatrix, *, seed: int = 0, **to_split: Any) -> list[Split]:
        return bag_splits(cv, X, labels.target, self.named, seed=seed, **to_split)


# -------------------------------------------------------------------- reading y and groups


@dataclass(frozen=True, eq=False)
class Labels:
    """The two classes of y, the names of its columns if any and their number.

    `flat` is whether y was (n,), and `grouped` whether groups named its sets.
    """

    classes: NDArray[Any]
    names: NDArray[np.object_] | None
    width: int
    flat: bool
    grouped: bool

    def set_attributes(self, model: Any) -> None:
        """Let a model remember them; it has no `label_names_` where y was no table."""
        model.classes_, model._labels = self.classes, self
        vars(model).pop("label_names_", None)
        if self.names is not None:
            model.label_names_ = self.names

    def sets(self, rows: int, groups: Any, what: str) -> SetLayout:
        """The sets of new data; groups play no part if the rows of y are the sets."""
        if not self.flat:
            return RowSets(rows)
        if self.grouped and groups is None:
            warn_ungrouped(what)
        return GroupedSets(bags_named(groups, rows))

    def truth(self, y: Any, rows: int) -> tuple[Flags, Flags]:
        """Labels (n, p) to judge by: which are positive, and which are known."""
        return known_truth(y, self.classes, self.names, (rows, self.width))

    def in_form(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values (n, p) in the form of y."""
        return values[:, 0] if self.flat else values

    def write(self, chosen: Flags) -> NDArray[Any]:
        """Chosen elements (n, p) in the form and the alphabet of y."""
        return np.asarray(self.in_form(self.classes[chosen.astype(np.intp)]))


def rows_are_sets(model: Any) -> bool:
    """Whether a fitted model, of any package, judges the rows of y, not groups of its elements."""
    labels = getattr(model, "_labels", None)
    return labels is None or not labels.flat


def read_sets(X: Any, y: Any, groups: Any, who: str) -> tuple[Labels, LabelMatrix, SetLayout]:
    """The labels of a training and their sets, by the shape of y; y (n,) without groups gets a warning."""
    matrix = labels_of(y, who)
    check_consistent_length(X, matrix.positive)
    warn_of_words(matrix.classes)
    rows, width = matrix.positive.shape
    labels = Labels(matrix.classes, matrix.names, width, matrix.flat, matrix.flat and groups is not None)
    if not matrix.flat:
        return labels, matrix, RowSets(rows, None if groups is None else bags_named(groups, rows))
    if groups is None:
        warn_ungrouped("trained")
    return labels, matrix, GroupedSets(bags_named(groups, rows))


def warn_of_words(classes: NDArray[Any]) -> None:
    """Warn which of two words is the positive class, unless it says yes."""
    other, positive = classes.tolist()
    if isinstance(positive, str) and positive.strip().lower() not in AFFIRMATIVE:
        warnings.warn(
            f"the positive class is {positive!r}, the second in the alphabet, and losses count its errors; pass "
            f"y == {positive!r} to say so, or y == {other!r} for the other.",
            UserWarning,
            stacklevel=4,
        )


def warn_ungrouped(what: str) -> None:
    """Warn that every element becomes a set of its own, which is hardly ever meant."""
    warnings.warn(
        f"no groups: every element of y is {what} as a set of its own. Pass groups=, the set of each element; "
        "through scikit-learn's tools call sklearn.set_config(enable_metadata_routing=True) first and pass "
        "params={'groups': groups}. If elements are meant one by one, pass groups=np.arange(len(y)), or y[:, None].",
        UngroupedWarning,
        stacklevel=4,
    )


def bags_named(groups: Any, size: int) -> Bags:
    """The bags that `groups` names, one name for each of `size` rows; without groups every row is a bag."""
    if groups is None:
        return Bags.from_offsets(np.arange(size + 1))
    if np.shape(groups) != (size,):
        raise ValueError(f"groups must name the set of each of {size} rows; got shape {np.shape(groups)}")
    return Bags.from_groups(group_array(groups))


# -------------------------------------------------------------------- folds


Split = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows to train on, and rows held out."""


def label_splits(cv: Any, X: Any, target: NDArray[Any], *, seed: int = 0, **to_split: Any) -> list[Split]:
    """Splits of examples; a number is one of shuffled folds, stratified for a single label (n,)."""
    if isinstance(cv, int | np.integer) and target.ndim == 2:
        cv = KFold(int(cv), shuffle=True, random_state=seed)
    if isinstance(cv, KFold) and cv.get_n_splits() > len(target):
        raise ValueError(f"cv={cv.get_n_splits()} folds need as many examples; there are {len(target)}. Lower cv.")
    return _checked(check_cv(cv, target, classifier=True).split(X, target, **to_split))


def bag_splits(cv: Any, X: Any, target: NDArray[Any], bags: Bags, *, seed: int = 0, **to_split: Any) -> list[Split]:
    """Splits of rows that never split a bag; a number, or None for 5, is one of shuffled folds of whole bags.

    If every row is a bag, folds are stratified by a single label (n,).
    """
    numbers = bags.scatter(np.repeat(np.arange(len(bags)), bags.sizes))
    groups: NDArray[np.intp] | None = numbers
    cv = 5 if cv is None else cv
    if isinstance(cv, int | np.integer):
        if cv > len(bags):
            raise ValueError(f"cv={cv} folds need as many bags; there are {len(bags)}. Lower cv, or look at groups.")
        alone = len(bags) == len(target)
        groups = None if alone else numbers
        kind = GroupKFold if not alone else StratifiedKFold if target.ndim == 1 else KFold
        cv = kind(int(cv), shuffle=True, random_state=seed)
    splits = _checked(check_cv(cv, target, classifier=True).split(X, target, **(to_split | {"groups": groups})))
    for fold, (train, test) in enumerate(splits):
        shared = np.intersect1d(numbers[train], numbers[test])
        if len(shared):
            name = shared[0] if bags.ids is None else bags.ids[shared[0]]
            raise ValueError(
                f"fold {fold} of cv splits bag {name}: rows of a bag in both parts make the loss look small. "
                "Use a splitter by groups such as GroupKFold, or a number of folds."
            )
    return splits


def _checked(found: Any) -> list[Split]:
    """Splits as arrays of rows; none at all and rows in both parts are refused."""
    splits = [(_rows(train), _rows(test)) for train, test in found]
    if not splits:
        raise ValueError("cv gives no splits; it must be a number of folds, a splitter or a list of (train, test)")
    for fold, (train, test) in enumerate(splits):
        shared = np.intersect1d(train, test)
        if len(shared):
            raise ValueError(
                f"fold {fold} of cv has row {shared[0]} in both parts; what is held out is not trained on"
            )
    return splits


def _rows(part: Any) -> NDArray[np.intp]:
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == bool else part.astype(np.intp)
