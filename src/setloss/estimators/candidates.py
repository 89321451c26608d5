"""Classifiers that are compared: those that a user names, by kind, or those that are tried where none is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from setloss.arguments import is_texts
from setloss.estimators.fit_log import innermost
from setloss.estimators.label_scores import LabelwiseClassifier
from setloss.io.encoding import TableEncoder

TREES = 300
"""Number of trees where no classifier is named."""

LEAF = 3
"""Fewest examples of a leaf of these trees: a leaf of one would store a training row and its labels."""

PATH = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Values of C of the logistic regressions where no classifier is named."""

START = 10.0
"""C times the mean squared length of the rows of X, where the search along `PATH` begins."""

DENSE_TOL, SPARSE_TOL = 1e-3, 1e-4
"""Largest entry of the gradient at which logistic regressions end. Gradients of features that are mostly 0 are small:
with 1e-3, models of tf-idf end long before C matters."""


@dataclass(frozen=True)
class Path:
    """Classifiers in the order of one parameter, such as C; the search begins at `start`."""

    estimators: tuple[Any, ...]
    start: int = 0


Kind = list[Path]
"""Classifiers of one kind: a path for every preparation of the features."""


def kinds_of(estimators: Sequence[Any]) -> list[Kind]:
    """Classifiers that a user names, by the class that remains without pipelines and wrappers."""
    names = [type(innermost(one)).__qualname__ for one in estimators]
    order = sorted(range(len(names)), key=lambda i: names.index(names[i]))
    return [[Path((estimators[i],)) for i in same] for _, same in groupby(order, key=names.__getitem__)]


def default_kinds(X: Any, *, in_bags: bool = False, missing: bool = False) -> list[Kind]:
    """The classifiers that are compared where none is named.

    Logistic regressions per label, from strongly to weakly shrunk, for every preparation of the features, and `TREES`
    extremely randomised trees: trees win where labels depend on few features or on their interplay, logistic
    regression where each feature adds a bit. Trees alone where features are missing; no trees where X is sparse, if
    labels are `missing`, or for frames. Tables that are not all numbers are encoded first, in folds as in the end,
    and each kind of column is prepared as `TableEncoder` does.
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.preprocessing import StandardScaler

    forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=0)
    with_trees = not (in_bags or missing)
    if not _is_finite(X):
        return _encoded_kinds(X, forest if with_trees else None, in_bags) if _is_table(X) else [[Path((forest,))]]
    if issparse(X):
        return [[_logistic_path(steps, length, SPARSE_TOL, in_bags) for steps, length in preparations(X)]]
    linear = [_logistic_path([StandardScaler()], float(np.shape(X)[-1]), DENSE_TOL, in_bags)]
    return [linear, [Path((forest,))]] if with_trees else [linear]


def _encoded_kinds(X: Any, forest: Any, in_bags: bool) -> list[Kind]:
    """The same for a table: classifiers of its encoded columns; no trees of words, whose features are sparse."""
    from sklearn.pipeline import make_pipeline

    whole = TableEncoder()
    encoded = whole.fit_transform(X)
    encoder = TableEncoder(whole.columns_)  # a fold may lack the one cell that tells what a column holds
    tol = SPARSE_TOL if issparse(encoded) else DENSE_TOL
    linear = [_logistic_path([encoder], _squared_length(csr_array(encoded)), tol, in_bags)]
    if forest is None or issparse(encoded):
        return [linear]
    return [linear, [Path((make_pipeline(encoder, forest),))]]


def _is_table(X: Any) -> bool:
    """Whether X is for the encoder: texts (n,), or a DataFrame with names of columns."""
    if is_texts(X):
        return True
    return hasattr(X, "columns") and hasattr(X, "iloc") and all(isinstance(name, str) for name in X.columns)


def _logistic_path(steps: list[Any], squared_length: float, tol: float, in_bags: bool) -> Path:
    """Logistic regressions for every C of `PATH`, after some steps that give rows of that mean squared length."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    models = [LogisticRegression(C=C, max_iter=1000, tol=tol) for C in PATH]
    start = int(np.argmin(np.abs(np.log(PATH) - np.log(START / squared_length))))
    return Path(tuple(make_pipeline(*steps, one if in_bags else LabelwiseClassifier(one)) for one in models), start)


def preparations(X: Any) -> list[tuple[list[Any], float]]:
    """Preparations of sparse features that differ, with the mean squared length of the rows that each gives.

    As given, rows of length 1, every column's largest absolute value 1, and, of counts, tf-idf. Which one suits
    depends on whether long texts say more than short ones, and rare words more than common ones.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import MaxAbsScaler, Normalizer

    given = csr_array(csr_array(X)[:: -(-X.shape[0] // 2000)], dtype=np.float64)  # up to 2000 rows tell enough
    are_counts = bool((given.data >= 0).all() and (given.data == np.round(given.data)).all())
    prepared: list[tuple[list[Any], float]] = [([], _squared_length(given))]
    for way in (Normalizer(), MaxAbsScaler(), *([TfidfTransformer()] if are_counts else [])):
        other = csr_array(way.fit_transform(given))
        if abs(other - given).max() > 1e-9:  # else the features are the same
            prepared.append(([way], _squared_length(other)))
    return prepared


def _squared_length(X: Any) -> float:
    """The mean squared length of the rows; 1 if all are empty."""
    return float(np.square(X.data).sum() / X.shape[0]) or 1.0


def _is_finite(X: Any) -> bool:
    """Whether X is of numbers, none of them missing or infinite."""
    try:
        values = X.data if issparse(X) else np.asarray(X, dtype=np.float64)
        return bool(np.isfinite(values).all())
    except (TypeError, ValueError):  # the classifier says what is wrong
        return False
