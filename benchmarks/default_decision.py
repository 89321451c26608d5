"""By sign, or by a rule that is learned? What `SetClassifier` should do if nothing is said, without test parts.

``python -m benchmarks.default_decision DATA [NAME...]``: linear models are trained by slack
rescaling on four of five folds of the training part of every data set, and of generated ones; decided by sign, by
counts and by "auto", they are judged on the fifth. Differences are in points of loss, with standard errors over
examples; negative ones are in favour of what is learned.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from benchmarks.training_parts import training_parts
from experiments.document import Cell, ResultTable
from setloss.estimators import SetClassifier
from setloss.estimators.elements import Standardizer
from setloss.typing import Array

TRIALS = (("f1", 0.1), ("f1", 1.0), ("f1", 10.0), ("jaccard", 1.0), ("hamming", 1.0), ("curve1", 1.0))
GENERATED: dict[str, dict[str, Any]] = {
    "500 examples, 5 labels": {"n_samples": 500, "n_features": 20, "n_classes": 5},
    "500, 5, none empty": {"n_samples": 500, "n_features": 20, "n_classes": 5, "allow_unlabeled": False},
    "300, 50 labels": {"n_samples": 300, "n_features": 100, "n_classes": 50, "n_labels": 3},
    "80, 6 labels, one each": {"n_samples": 80, "n_features": 20, "n_classes": 6, "n_labels": 1},
    "80, 8 labels, many each": {"n_samples": 80, "n_features": 10, "n_classes": 8, "n_labels": 5},
}
Examples = tuple[str, Any, NDArray[Any]]


def examples(folder: Path, names: Sequence[str]) -> Iterator[Examples]:
    """Training parts, then generated sets; labels that no example has are left out."""
    for data in training_parts(folder, names):
        yield data.name, data.X, data.Y[:, data.Y.any(axis=0)]
    for name, settings in GENERATED.items():
        X, Y = make_multilabel_classification(random_state=0, **settings)
        yield name, X, Y


def judged(X: Any, Y: NDArray[Any], loss: str, C: float, folds: int = 5) -> tuple[dict[str, Array], Counter[str]]:
    """The loss of every example by each decision, and what "auto" came to on the folds."""
    losses: dict[str, Array] = {name: np.empty(len(Y)) for name in ("sign", "counts", "auto")}
    chosen: Counter[str] = Counter()
    for train, test in KFold(folds, shuffle=True, random_state=1).split(Y):
        features = Standardizer.of(X[train])
        model = SetClassifier(loss, C=C, tol=1e-2, max_iter=200).fit(features.apply(X[train]), Y[train])
        chosen[model.rule_name_] += 1
        for name, found in losses.items():
            found[test] = model.set_params(decision=name).losses(features.apply(X[test]), Y[test])
    return losses, chosen


def row_of(name: str, X: Any, Y: NDArray[Any], loss: str, C: float) -> tuple[Cell, ...]:
    """A line of the table, also shown as it is made."""
    losses, chosen = judged(X, Y, loss, C)
    cells = []
    for rule in ("counts", "auto"):
        gains = 100 * (losses[rule] - losses["sign"])
        cells.append(f"{gains.mean():+.1f} ± {gains.std() / np.sqrt(len(gains)):.1f}")
    words = ", ".join(f"{rule} {times}" for rule, times in chosen.most_common())
    row = (name, loss, f"{C:g}", f"{losses['sign'].mean():.3f}", *cells, words)
    sys.stderr.write(f"{'  '.join(row)}\n")
    return row


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = list(examples(Path(arguments[0]), arguments[1:]))
    rows = tuple(row_of(*one, *trial) for trial in TRIALS for one in found)
    columns = ("data", "loss", "C", "sign", "counts - sign", "auto - sign", "auto came to")
    title, note = "learned decisions against the sign, on folds of training parts", "Differences in points of loss."
    sys.stdout.write(ResultTable(title, columns, rows, note).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
