"""Intervals of `expected_score`: how often those of 90 % cover the score of a fold that nothing was learned on.

    python -m benchmarks.expected_scores --data DIR [--json docs/results/expected_scores.json]

Ten folds of each data set, of at most `MOST` examples drawn at random: a `SetDecisionCV` of F1 learns on nine and
says what the tenth will score. Its own five folds train on fewer examples than the classifier that is judged.
Folds that the file has are not run again.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.loaders import find_data_sets, read_data_set
from setloss.estimators import SetDecisionCV

DATA = ("flags", "emotions", "scene", "yeast", "birds")
MOST = 1000
MODELS = {
    "logistic": make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression(C=0.1, max_iter=1000))),
    "trees": ExtraTreesClassifier(100, random_state=0),
    "boosting": MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)),
}


def folds(folder: Path, name: str, model: str, done: int) -> Iterator[dict[str, Any]]:
    """What each fold is expected to score, the interval, and what it scores; `done` of them before."""
    data = read_data_set(name, find_data_sets(folder, [name])[name])
    rows = np.random.default_rng(0).permutation(len(data.Y))[:MOST]
    X, Y = data.X[rows], data.Y[rows]
    for fold, (train, test) in list(enumerate(KFold(10).split(X)))[done:]:
        fitted = SetDecisionCV(MODELS[model]).fit(X[train], Y[train])
        expected, score = fitted.expected_score(X[test]), fitted.score(X[test], Y[test])
        yield {"data": name, "model": model, "fold": fold, **expected._asdict(), "score": score}


def summary(found: list[dict[str, Any]]) -> Iterator[str]:
    """Rows of a table: covered folds, and by how many points the score is above what was expected."""
    parts = defaultdict(list)
    for row in found:
        for name in (f"{row['data']}, {row['model']}", row["model"], "all"):
            parts[name].append(row)
    for name, rows in parts.items():
        covered = sum(row["low"] <= row["score"] <= row["high"] for row in rows)
        above = 100 * np.array([row["score"] - row["value"] for row in rows])
        error = above.std() / np.sqrt(max(len(rows) - 1, 1))
        yield f"| {name} | {covered} of {len(rows)} | {above.mean():.1f} +- {error:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of real data")
    parser.add_argument("--json", type=Path, default=Path("docs/results/expected_scores.json"))
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json.exists() else []
    for model in MODELS:
        for name in DATA:
            done = sum(row["data"] == name and row["model"] == model for row in found)
            for row in folds(options.data, name, model, done):
                found.append(row)
                options.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
