"""verify_decomposition: a g that somebody brings, judged."""

import numpy as np
import pytest

from setloss import Dice, SetFunction, decompose, verify_decomposition
from setloss.losses import PAPER_CURVES


def non_unique():
    """The function of four elements with two optima, and both of them."""
    loss, first, second = np.zeros((3, 2, 2, 2, 2))
    loss[0, 0, 1, 0] = loss[0, 0, 0, 1] = loss[0, 0, 1, 1] = 1
    first[1, 1] = 1
    second[1, 1, 1, 0] = second[1, 1, 0, 1] = 1
    second[1, 1, 1, 1] = 2
    return SetFunction.from_values(loss), first, second


def test_both_optima_of_the_counter_example_are_verified():
    loss, first, second = non_unique()
    for g in (first, second, 0.3 * first + 0.7 * second):
        found = verify_decomposition(loss, g)
        assert found
        assert str(found) == "feasible and optimal"
    assert decompose(loss).supermodular == SetFunction.from_values(first)
    assert decompose(loss).certificate.unique is False


@pytest.mark.parametrize("slope", [1.0, 1e4, 2e7])
def test_a_large_modular_part_hides_nothing(slope):
    """D does not see modular terms, and neither may its tolerances: the minimum stays 4, and not unique."""
    loss, first, second = non_unique()
    steep = loss + slope * SetFunction.symmetric(np.arange(5.0))
    found = decompose(steep)
    np.testing.assert_allclose(found.supermodular.table, first, atol=1e-7)
    assert found.certificate.unique is False
    assert verify_decomposition(steep, first)
    assert verify_decomposition(steep, second)
    assert not verify_decomposition(steep, 0.75 * first)


def random_table(*shape):
    table = np.random.default_rng(3).random(shape)
    table[0, 0] = 0
    return SetFunction.from_table(table)


PAIRS = SetFunction.from_table(0.01 * np.multiply.outer(np.arange(4), np.arange(5)))


@pytest.mark.parametrize(
    ("loss", "more", "excess"),
    [
        (random_table(4, 5), PAIRS, 0.03),
        (PAPER_CURVES["curve2"].on_counts(7, 0), 0.1 * SetFunction.symmetric(np.arange(8.0)), 0.35),
        (Dice().on_counts(4, 3), 0.1 * SetFunction.symmetric(np.arange(8.0)), 0.35),
    ],
)
def test_what_exceeds_the_least_is_feasible_and_not_optimal(loss, more, excess):
    g = decompose(loss).supermodular
    assert verify_decomposition(loss, g)
    found = verify_decomposition(loss, g + more)
    assert found.feasible
    assert not found.optimal
    assert found.mean_excess == pytest.approx(excess)
    assert f"not optimal: its mean over all subsets exceeds D's by {excess}; at" in str(found)


@pytest.mark.parametrize(
    ("loss", "g", "words"),
    [
        (Dice().on_counts(4, 3), np.zeros((5, 4)), "l - g is not submodular: adding 3 to {0, 1} gains"),
        (SetFunction.symmetric([0, 1, 1, 1]), [0, 1, 1.5, 1.6], "g is not supermodular"),
    ],
)
def test_a_part_that_is_not_feasible_has_a_witness_that_says_where(loss, g, words):
    found = verify_decomposition(loss, g)
    assert not found.feasible
    assert words in str(found)


def test_beyond_the_linear_program_feasibility_is_still_decided():
    counts = np.add.outer(np.arange(80.0), np.arange(80.0))
    found = verify_decomposition(random_table(80, 80), 4 * counts**2)
    assert found.feasible
    assert found.optimal is None
    assert not found
    assert "not decided" in str(found)


def test_another_number_of_elements_is_refused():
    with pytest.raises(ValueError, match="over 3 and 4 elements cannot be combined"):
        verify_decomposition(SetFunction.symmetric(np.arange(4.0)), SetFunction.symmetric(np.arange(5.0)))
