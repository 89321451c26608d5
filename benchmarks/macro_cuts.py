"""Cuts of single labels for macro F1, judged without test parts.

``python -m benchmarks.macro_cuts DATA [NAME...]``: held-out scores of the training parts by the base models of the
label-set benchmark; cuts are learned on one half of them and judged on the other, both ways, for three draws of the
halves. The best cut as it is, smoothed as by Lin and Lin, and that of `average="macro"`, for both values of 0/0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.training_parts import training_parts
from experiments.baselines import smoothed_cut
from experiments.document import Cell, ResultTable
from experiments.label_sets.methods import PLAIN, Choices, scaling, scores_of
from setloss.decisions.threshold_scan import threshold_of_column
from setloss.estimators import SetDecision
from setloss.losses import Dice
from setloss.typing import Array

DRAWS = 3
CUTS = ("best cut", "Lin and Lin", 'average="macro"')


def cuts(scores: Array, truth: Any, loss: Dice) -> dict[str, Array]:
    """The cuts of all labels by each way."""
    columns, even = list(zip(scores.T, truth.T, strict=True)), np.ones(len(scores))
    best = np.array([threshold_of_column(s, y, even, loss) for s, y in columns])
    ours = SetDecision(loss, average="macro", scores="log-odds").fit(scores, truth).thresholds()
    return dict(zip(CUTS, (best, np.array([smoothed_cut(s, y) for s, y in columns]), ours), strict=True))


def macro_scores(scores: Array, truth: Any, loss: Dice) -> dict[str, float]:
    """The mean macro F1 of each way."""
    found: dict[str, list[float]] = {name: [] for name in CUTS}
    for draw in range(DRAWS):
        half = np.random.default_rng(draw).random(len(scores)) < 0.5
        for learn, judge in ((half, ~half), (~half, half)):
            for name, values in cuts(scores[learn], truth[learn], loss).items():
                said, true = scores[judge] > values, truth[judge]
                tallies = [flags.sum(axis=0) for flags in (true & ~said, said & ~true, true, ~true)]
                found[name].append(1 - float(np.mean(loss.value(*tallies))))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    rows: list[tuple[Cell, ...]] = []
    for data in training_parts(Path(arguments[0]), arguments[1:]):
        X, truth = scaling(data.X).fit_transform(data.X), np.asarray(data.Y) == 1
        for base in PLAIN:
            scores = scores_of(base, X, data.Y, X[:1], Choices(trees=100)).held_out
            for zero_division in (0.0, 1.0):
                found = macro_scores(scores, truth, Dice(zero_division=zero_division))
                rows.append((f"{data.name}, {base}", f"{zero_division:g}", *(f"{found[name]:.3f}" for name in CUTS)))
    title, note = "Macro F1 of cuts of single labels", "Halves of held-out scores of the training parts."
    sys.stdout.write(ResultTable(title, ("data", "0/0 scores", *CUTS), tuple(rows), note).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
