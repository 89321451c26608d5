"""Splits of label sets and of bags into folds, checked: the same for searches and for held-out scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv

from setloss.bags import Bags

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
