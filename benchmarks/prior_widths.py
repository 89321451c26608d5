"""How wide the priors of a count model should be, judged on training parts only.

``python -m benchmarks.prior_widths DATA [NAME...]``: base models score five folds of the training part
of every data set; count models of fixed widths, and those whose widths are chosen by likelihood, learn on the scores
of four of these folds and are judged by the example F1 of the fifth. No test example is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.training_parts import training_parts
from experiments.document import Cell, ResultTable
from experiments.label_sets.methods import Choices, base_model, scaling
from experiments.label_sets.methods import held_out_scores as scores_of_folds
from experiments.loaders import DataSet
from setloss.decisions import decide
from setloss.decisions.calibration import LabelPotentials
from setloss.decisions.fitting import BIAS_WIDTHS, Widths, calibrate, chosen_widths
from setloss.decisions.held_out import HeldOut
from setloss.losses import loss_named

COUNT_WIDTHS = (0.05, 0.3, 1.5, 5.0)
FIXED = tuple(Widths(bias, counts) for bias, counts in product(BIAS_WIDTHS, COUNT_WIDTHS))


def held_out_scores(data: DataSet, base: str, choices: Choices) -> HeldOut:
    """Scores of all examples by models that have not seen their fold."""
    X, truth, splits = scaling(data.X).fit_transform(data.X), data.Y == 1, choices.splits(len(data.Y))
    folds = np.empty(len(truth), dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    scores = scores_of_folds(base_model(base, choices), X, data.Y, splits)
    return HeldOut(scores, truth, np.ones_like(truth), np.ones(len(truth)), folds)


def scores_of_widths(data: HeldOut) -> list[float]:
    """The mean example F1 with each of the `FIXED` widths, then with chosen ones."""
    family = LabelPotentials.seen(data.truth.sum(axis=1), data.truth.shape[1])
    found = np.empty((len(FIXED) + 1, len(data.truth)))
    for train, test, here in data.splits():
        for row, widths in enumerate((*FIXED, chosen_widths(train, family))):
            model = calibrate(train, family, widths)
            sets = decide(model.log_odds(test.scores), "f1", scores="log-odds", counts=model.counts()).sets
            found[row, here] = 1 - loss_named("f1")(test.truth, sets)
    return [float(mean) for mean in found.mean(axis=1)]


def widths_table(cases: Iterator[tuple[str, HeldOut]]) -> ResultTable:
    """A row for every data set and base model, and their mean."""
    found = [(name, scores_of_widths(data)) for name, data in cases]
    means = np.mean([scores for _, scores in found], axis=0)
    rows: list[tuple[Cell, ...]] = [
        (name, *(f"{score:.3f}" for score in scores)) for name, scores in [*found, ("mean", list(means))]
    ]
    columns = ("biases / potentials", *(f"{one.bias:g} / {one.counts:g}" for one in FIXED), "chosen")
    return ResultTable(
        "example F1 on folds of training parts", columns, tuple(rows), "Standard deviations of priors."
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    cases = (
        (f"{base}, {data.name}", held_out_scores(data, base, Choices()))
        for data in training_parts(Path(arguments[0]), arguments[1:])
        for base in ("linear", "trees")
    )
    sys.stdout.write(widths_table(cases).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
