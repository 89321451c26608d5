"""What `SetDecisionCV()` chooses by: kinds of classifiers, preparations of sparse features, sizes of leaves.

``python -m benchmarks.choices DATA OUT [NAME...]``: everything is chosen on training parts; the last columns say what
that is worth on test parts. Probabilities are those of the label-set benchmark, which `python -m experiments
multilabel --out OUT` keeps; they are made where it has not. Losses are held-out: log-loss of a label, and the F1 loss
of the rule "auto" on folds that it has not learned on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from scipy.sparse import issparse
from sklearn.metrics import log_loss

from experiments.document import Cell, Estimate, ResultTable
from experiments.label_sets.methods import LOSSES, Scores, by_folds, linear_chances, scores_of
from experiments.label_sets.tuning import Choices, loss_of, name_of, preparations
from experiments.loaders import DataSet, find_data_sets, read_data_set
from setloss.estimators import SetDecision

LEAVES = (1, 2, 3, 5)
DEFAULT_LEAF = 3
COLUMNS = ("data", "candidate", "held-out log-loss", "held-out F1 loss", "example F1 on the test part")


def row_of(data: DataSet, candidate: str, scores: Scores) -> tuple[Cell, ...]:
    """What is known of a candidate on the training part, and its score on the test part."""
    ((train, test),) = data.splits()
    truth = data.Y[train] == 1
    model = SetDecision(rule="auto", scores="probabilities").fit(scores.held_out, truth)
    likely = log_loss(truth.ravel(), np.clip(scores.held_out.ravel(), 1 / 600, 1 - 1 / 600))
    loss = model.rule_losses_[model.rule_name_][0]
    found = Estimate.of(1 - np.asarray(LOSSES[0](data.Y[test] == 1, model.predict(scores.test))))
    return data.name, candidate, f"{likely:.4f}", f"{loss:.4f}", found


def of_kinds(data: DataSet, kept: Any) -> Iterator[tuple[Cell, ...]]:
    """Logistic regression, and trees with the leaves of the default."""
    ((train, test),) = data.splits()
    for base, leaf in (("linear", 1), ("trees", DEFAULT_LEAF)):
        choices = replace(Choices(), leaf=leaf)
        yield row_of(data, base, kept(base, data.X[train], data.Y[train], data.X[test], choices))


def of_leaves(data: DataSet, kept: Any) -> Iterator[tuple[Cell, ...]]:
    """Trees by the fewest examples of a leaf."""
    ((train, test),) = data.splits()
    for leaf in () if issparse(data.X) else LEAVES:
        choices = replace(Choices(), leaf=leaf)
        yield row_of(data, f"leaf {leaf}", kept("trees", data.X[train], data.Y[train], data.X[test], choices))


def of_preparations(data: DataSet, kept: Any) -> Iterator[tuple[Cell, ...]]:
    """Logistic regression after every preparation, each with its C of largest held-out likelihood."""
    ((train, test),) = data.splits()
    X, truth, choices = data.X[train], (data.Y[train] == 1).astype(np.intp), Choices()
    few = choices.few_splits(len(truth))
    for way in preparations(X) if issparse(X) else []:
        prepared = way.fit_transform(X)
        C = choices.climb(lambda C, X=prepared: float(np.mean([loss_of(X, z, C, few) for z in truth.T])))
        found = by_folds(partial(linear_chances, C=C), prepared, truth, way.transform(data.X[test]), choices)
        yield row_of(data, f"{name_of(way)}, C = {C:g}", Scores(*found, {}))


TABLES = {"Kinds of classifiers": of_kinds, "Preparations": of_preparations, "Sizes of leaves": of_leaves}


def main(arguments: Sequence[str]) -> int:
    """Print the three tables."""
    warnings.simplefilter("ignore")  # labels that are constant in a fold
    kept = Memory(Path(arguments[1]) / "runs", verbose=0).cache(scores_of)
    found = find_data_sets(Path(arguments[0]), arguments[2:] or None)
    sets = [read_data_set(name, files) for name, files in found.items()]
    for title, rows_of in TABLES.items():
        rows = tuple(row for data in sets for row in rows_of(data, kept))
        sys.stdout.write(ResultTable(title, COLUMNS, rows).markdown() + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
