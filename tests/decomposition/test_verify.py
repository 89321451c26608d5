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


@pytest.mark.parametrize("loss", [Dice().on_counts(4, 3), PAPER_CURVES["curve2"].on_counts(8, 0)])
def test_what_decompose_returns_is_verified(loss):
    assert verify_decomposition(loss, decompose(loss).supermodular)


def test_a_table_of_random_values_is_verified_too():
    table = np.random.default_rng(3).random((4, 5))
    table[0, 0] = 0
    loss = SetFunction.from_table(table)
    g = decompose(loss).supermodular
    assert verify_decomposition(loss, g)
    larger = g.table + 0.01 * np.multiply.outer(np.arange(4), np.arange(5))
    found = verify_decomposition(loss, larger)
    assert found.feasible
    assert not found.optimal
    assert found.mean_excess == pytest.approx(0.01 * 1.5 * 2)


def test_a_modular_excess_is_feasible_and_not_optimal():
    loss = Dice().on_counts(4, 3)
    more = decompose(loss).supermodular + 0.1 * SetFunction.symmetric(np.arange(8.0))
    found = verify_decomposition(loss, more)
    assert found.feasible
    assert not found
    assert "not optimal: its mean over all subsets exceeds D's by 0.35; at" in str(found)


def test_too_small_a_part_is_not_feasible_and_the_witness_says_where():
    loss = Dice().on_counts(4, 3)
    found = verify_decomposition(loss, np.zeros((5, 4)))
    assert not found.feasible
    assert "not feasible, by 1.81 of what is compared" in str(found)
    assert "l - g is not submodular: adding 3 to {0, 1} gains" in str(found)


def test_a_part_that_is_not_supermodular_is_not_feasible():
    found = verify_decomposition(SetFunction.symmetric([0, 1, 1, 1]), np.array([0, 1, 1.5, 1.6]))
    assert not found
    assert "g is not supermodular" in str(found)


def test_beyond_the_linear_program_feasibility_is_still_decided():
    generator = np.random.default_rng(0)
    table = generator.random((80, 80))
    table[0, 0] = 0
    counts = np.add.outer(np.arange(80.0), np.arange(80.0))
    found = verify_decomposition(SetFunction.from_table(table), 4 * counts**2)
    assert found.feasible
    assert found.optimal is None
    assert not found
    assert "not decided" in str(found)


def test_another_number_of_elements_is_refused():
    with pytest.raises(ValueError, match="over 3 and 4 elements cannot be combined"):
        verify_decomposition(SetFunction.symmetric(np.arange(4.0)), SetFunction.symmetric(np.arange(5.0)))
