"""What experiments share: estimates, tables, the choice of C."""

import numpy as np
import pytest

from experiments.document import Estimate, clearly_lowest, lowest
from experiments.protocol import past_the_best, smallest_good_C


def test_estimates():
    found = Estimate.of([1.0, 2.0, 3.0])
    assert (found.mean, found.n) == (2.0, 3)
    assert found.error == pytest.approx(1 / 3**0.5)
    assert str(found) == "2.000 ± 0.577"
    assert str(Estimate.of([1.0, 2.0, 3.0], digits=2)) == "2.00 ± 0.58"
    assert Estimate.of([0.5]).error is None


def test_bold_marks_what_is_lowest_as_shown():
    rows = [("a", Estimate(0.2004, 0.1, 5, 2)), ("b", Estimate(0.2041, 0.1, 5, 2)), ("c", Estimate(0.21, 0.1, 5, 2))]
    assert lowest(rows) == {(0, 1), (1, 1)}


def test_bold_marks_what_is_ahead_of_all_by_two_errors_of_paired_differences():
    folds = np.array([0.1, 0.5, 0.9])  # much wider than the differences
    ahead, behind, level = folds, folds + np.array([0.1, 0.1, 0.11]), folds + np.array([0.1, -0.02, 0.05])
    assert clearly_lowest({1: [behind, ahead, None], 3: [level, ahead, behind], 4: [behind, behind]}) == {(1, 1)}


def test_the_smallest_c_that_is_level_with_the_best():
    spread = np.array([-0.1, 0.1, -0.1, 0.1])  # a standard error of 0.058
    losses = {C: mean + spread for C, mean in ((0.01, 0.309), (0.1, 0.304), (1.0, 0.3), (10.0, 0.32))}
    assert smallest_good_C(losses) == 0.1
    assert smallest_good_C({0.1: np.zeros(4), 1.0: np.zeros(4)}) == 0.1
    assert smallest_good_C({10.0: 0.2 + spread / 100, 0.1: 0.25 + spread}) == 10.0


def test_a_path_of_c_ends_where_losses_are_clearly_above_the_least():
    spread = np.array([-0.1, 0.1, -0.1, 0.1])
    best = {0.01: np.full(4, 0.3), 0.1: np.full(4, 0.2)}
    assert past_the_best(best | {1.0: 0.3 + spread})
    assert not past_the_best(best | {1.0: 0.25 + spread})
    assert not past_the_best(best)
