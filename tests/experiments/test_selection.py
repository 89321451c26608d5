"""Choosing C by held-out losses."""

import pytest

from experiments.selection import ChosenC, choose_C

Cs = (1.0, 10.0, 100.0, 1000.0)


def total(held_out):
    return [(sum(held_out), None)]


def test_the_smallest_of_equally_good_ones():
    assert choose_C(Cs, [[3, 1, 1, 2], [0, 0, 0, 0]], total) == [ChosenC(10.0, 1, None)]


def test_every_way_to_decide_has_a_choice_and_a_rule_of_its_own():
    folds = [[(3, 1), (2, 2), (1, 3), (0, 4)]]
    first, second = choose_C(Cs, folds, lambda held_out: [(loss, f"rule {loss}") for loss in held_out[0]])
    assert (first, second) == (ChosenC(1000.0, 0, "rule 0"), ChosenC(1.0, 1, "rule 1"))


def test_a_path_ends_where_a_fold_ends():
    assert choose_C(Cs, [[3, 2], [3, 2, 1, 0]], total) == [ChosenC(10.0, 4, None)]


@pytest.mark.parametrize(("patience", "trained"), [(2, 3), (3, 4)])
def test_patience_leaves_the_rest_of_the_path_untrained(patience, trained):
    seen = []
    folds = [(seen.append(loss) or loss for loss in (1, 2, 3, 0))]
    choose_C(Cs, folds, total, patience)
    assert len(seen) == trained
