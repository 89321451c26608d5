"""Trees from files: compiled loops follow their nodes without checks, so wrong nodes are refused at loading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from setloss.archives import ArchiveError


def check_trees(estimator: Any) -> None:
    """Refuse an estimator with a tree that asks for features that do not exist, or whose nodes lead back."""
    for part in _estimators(estimator):
        features = vars(part).get("n_features_in_")
        for tree in _own_trees(part):
            if isinstance(tree, Tree):
                nodes = tree.__getstate__()["nodes"]
                inner = nodes["left_child"] != -1
                _check(nodes["left_child"], nodes["right_child"], nodes["feature"], inner, features)
            else:
                nodes = tree.nodes
                inner = nodes["is_leaf"] == 0
                _check(nodes["left"], nodes["right"], nodes["feature_idx"], inner, features)
                sets = nodes["bitset_idx"][nodes["is_categorical"] != 0]
                if np.any(sets >= min(len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets))):
                    raise ArchiveError("has a tree with categories that are not there")


def _own_trees(part: Any) -> Iterator[Any]:
    """The trees that an estimator walks itself: its own, and those of its members, which it asks without checks."""
    if isinstance(getattr(part, "tree_", None), Tree):
        yield part.tree_
    for row in vars(part).get("_predictors", ()):
        yield from row
    for member in np.ravel(np.array(vars(part).get("estimators_", ()), dtype=object)):
        if isinstance(getattr(member, "tree_", None), Tree) and not hasattr(part, "estimators_features_"):
            yield member.tree_


def _check(left: Any, right: Any, feature: Any, inner: NDArray[np.bool_], features: Any) -> None:
    """Children come after their parents and are nodes; features are among those that the estimator was trained on."""
    n, own = len(inner), np.flatnonzero(inner)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)
    onward = bool(np.all(children > own) and np.all(children < n))
    wanted = feature[inner].astype(np.int64)
    if n == 0 or not onward or not isinstance(features, int) or np.any((wanted < 0) | (wanted >= features)):
        raise ArchiveError("has a tree whose nodes lead out of it")


def _estimators(value: Any) -> Iterator[Any]:
    """An estimator and all those inside it."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, BaseEstimator):
            yield part
            waiting.extend(vars(part).values())
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set):
            waiting.extend(part)
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting.extend(part.ravel().tolist())
