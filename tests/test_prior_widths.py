"""Widths of priors are judged on training parts: no test example is read."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("benchmarks.prior_widths", reason="the benchmarks are not beside the tests")

from benchmarks.prior_widths import FIXED, held_out_scores, scores_of_widths, widths_table
from benchmarks.training_parts import training_part
from experiments.label_sets.methods import Choices
from helpers.label_set_data import small


def test_test_examples_play_no_part_and_the_table_has_a_column_for_each_width():
    data, choice = small(), Choices(folds=2)
    found = held_out_scores(training_part(data), "linear", choice)
    assert len(found.truth) == data.n_train
    changed = data.X.copy()
    changed[data.n_train :] += 100.0
    again = held_out_scores(training_part(replace(data, X=changed)), "linear", choice)
    np.testing.assert_array_equal(again.scores, found.scores)
    table = widths_table(iter([("small", found)]))
    assert len(table.columns) == len(FIXED) + 2
    assert [row[0] for row in table.rows] == ["small", "mean"]
    assert table.rows[0][1:] == table.rows[1][1:] == tuple(f"{score:.3f}" for score in scores_of_widths(found))
