"""The monotone closure against the minimum over all supersets."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from helpers import reference
from helpers.reference import values_of
from helpers.strategies import any_functions, submodular_functions
from setloss import Dice, Hamming, Jaccard, SetFunction, Tversky, decompose, is_submodular, monotone_closure
from setloss.setfunctions.tversky import TverskyClosure


def nonnegative(drawn):
    """|l|, whose closure is a set function again."""
    table = np.abs(drawn.function.table)
    return SetFunction.from_table(table, drawn.function.partition)


@given(any_functions())
def test_the_closure_is_the_minimum_over_supersets(drawn):
    function = nonnegative(drawn)
    assert values_of(monotone_closure(function)) == reference.monotone_closure(values_of(function))


@given(submodular_functions())
def test_the_closure_of_a_submodular_function_is_submodular(drawn):
    assert is_submodular(monotone_closure(drawn.function))


def test_rounding_below_zero_is_zero_in_the_closure():
    assert monotone_closure(SetFunction.symmetric([0, 1, -1e-12])).table.tolist() == [0, 0, 0]


def test_a_negative_function_has_no_closure_and_is_told_where():
    message = "is -2 at the empty set instead of 0, because the value of {0, 1} is -2. Only a non-negative function"
    with pytest.raises(ValueError, match=message):
        monotone_closure(SetFunction.symmetric([0, 1, -2]))
    with pytest.raises(ValueError, match="Only a non-negative function"):
        monotone_closure(-1 * Hamming().on_counts(2, 1))


WEIGHTS = [(0.5, 0.5), (2.0, 0.5), (0.1, 0.6), (1.0, 0.8), (5.0, 0.95)]


def submodular_part(m, q, a, b):
    return decompose(Tversky(a, b).on_counts(m, q)).submodular


@pytest.mark.parametrize(("a", "b"), WEIGHTS)
def test_the_closed_form_is_the_minimum_over_larger_counts_and_its_steps_are_differences(a, b):
    for m, q in [*product(range(1, 8), range(8)), (30, 40)]:
        part = submodular_part(m, q, a, b)
        closure, table = monotone_closure(part), part.table
        lowest = [[table[n:, k:].min() for k in range(q + 1)] for n in range(m + 1)]
        np.testing.assert_allclose(closure.table, lowest, rtol=0, atol=1e-14)
        order = np.random.default_rng(1).permutation(m + q)
        np.testing.assert_allclose(closure.gains(order), np.diff(closure.along(order)), rtol=0, atol=1e-14)


def test_the_closed_form_is_taken_where_f_is_not_increasing_and_only_there():
    assert isinstance(monotone_closure(submodular_part(3, 30, 0.5, 0.5)).counts, TverskyClosure)
    homogeneous = decompose(Dice().on_counts(30, 0)).submodular
    assert monotone_closure(homogeneous).counts is homogeneous.counts
    jaccard = Jaccard().on_counts(10**6, 10**6)
    assert monotone_closure(jaccard).counts is jaccard.counts
