"""Thresholds of single labels for macro F1, learned on training parts and judged on test parts.

``python -m benchmarks.macro_cuts DATA OUT [NAME...]``: held-out probabilities of logistic regression, which
`python -m experiments multilabel --out OUT` keeps (they are made where it has not), and on them the best threshold of
every label as it is, smoothed as by Lin and Lin, and that of `average="macro"`, for both values of 0/0. Beside them
scikit-learn's `TunedThresholdClassifierCV`, one for every label. (Inside `OneVsRestClassifier` its threshold is
ignored: `predict` of that asks for scores and cuts log-odds at 0, probabilities at 1/2.)
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV

from experiments.baselines import smoothed_cut
from experiments.document import Cell, Estimate, ResultTable
from experiments.label_sets.methods import Scores, scores_of
from experiments.label_sets.tuning import Choices, name_of, preparations
from experiments.loaders import find_data_sets, read_data_set
from setloss.decisions.threshold_scan import threshold_of_column
from setloss.estimators import SetDecision
from setloss.losses import Dice
from setloss.typing import Array

WAYS = ("at 1/2", "best threshold", "TunedThresholdClassifierCV", "Lin and Lin", 'average="macro"')


def tuned_thresholds(X: Any, truth: Any, chosen: dict[str, Any]) -> Array:
    """Thresholds by scikit-learn, for the preparation and the C of the scores; 1/2 for labels with one positive."""
    (way,) = [one for one in preparations(X) if name_of(one) == chosen["preparation"]]
    prepared, found = way.fit_transform(X), np.full(truth.shape[1], 0.5)
    for j in np.flatnonzero(np.minimum(truth.sum(axis=0), (~truth).sum(axis=0)) > 1):
        model = TunedThresholdClassifierCV(LogisticRegression(C=chosen["C"], max_iter=1000), scoring="f1", cv=5)
        found[j] = model.fit(prepared, truth[:, j]).best_threshold_
    return found


def macro_scores(scores: Scores, tuned: Array, truth: Any, test: Any, loss: Dice) -> dict[str, Array]:
    """The F1 of every label on the test part, by each way; `truth` and `test` are the labels of the two parts."""
    columns, even = list(zip(scores.held_out.T, truth.T, strict=True)), np.ones(len(truth))
    ours = SetDecision(loss, average="macro", scores="probabilities").fit(scores.held_out, truth)
    best = scores.test > np.array([threshold_of_column(s, y, even, loss) for s, y in columns])
    smoothed = scores.test > np.array([smoothed_cut(s, y) for s, y in columns])
    sets = (scores.test > 0.5, best, scores.test >= tuned, smoothed, ours.predict(scores.test) == 1)
    found = {}
    for way, said in zip(WAYS, sets, strict=True):
        tallies = [flags.sum(axis=0) for flags in (test & ~said, said & ~test, test, ~test)]
        found[way] = 1 - np.asarray(loss.value(*tallies))
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    rows: list[tuple[Cell, ...]] = []
    kept = Memory(Path(arguments[1]) / "runs", verbose=0).cache(scores_of)
    for name, files in find_data_sets(Path(arguments[0]), arguments[2:] or None).items():
        data = read_data_set(name, files)
        ((train, test),) = data.splits()
        truth = data.Y == 1
        scores = kept("linear", data.X[train], data.Y[train], data.X[test], Choices())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # folds without a positive
            tuned = tuned_thresholds(data.X[train], truth[train], scores.chosen)
        for empty in (0.0, 1.0):
            found = macro_scores(scores, tuned, truth[train], truth[test], Dice(zero_division=empty))
            gains = [Estimate.of(found[WAYS[-1]] - found[way]) for way in ("best threshold", "Lin and Lin")]
            rows.append((name, f"{empty:g}", *(f"{found[way].mean():.3f}" for way in WAYS), *gains))
    columns = ("data", "0/0 scores", *WAYS, "ours - best", "ours - Lin and Lin")
    note = "Means over labels on the test part; differences are paired, with standard errors over labels."
    sys.stdout.write(ResultTable("Macro F1 of thresholds of single labels", columns, tuple(rows), note).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
