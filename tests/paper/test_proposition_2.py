"""Proposition 2. Every set function is the sum of a submodular and a supermodular one.

Holds. Take K as large as the largest second difference of l: then K |A|(|A| - 1)/2 is supermodular, and what it
leaves of l is submodular.
"""

from hypothesis import given

from helpers import reference
from helpers.definitions import difference
from helpers.strategies import any_functions
from setloss import decompose


@given(any_functions())
def test_a_multiple_of_the_number_of_pairs_is_enough(drawn):
    largest = max(0.0, reference.submodular_excess(drawn.values))
    supermodular = {A: largest * len(A) * (len(A) - 1) / 2 for A in drawn.values}
    assert reference.supermodular_excess(supermodular) <= 0
    assert reference.submodular_excess(difference(drawn.values, supermodular)) <= 0


@given(any_functions())
def test_decompose_finds_one(drawn):
    parts = decompose(drawn.function)
    f, g = reference.values_of(parts.submodular), reference.values_of(parts.supermodular)
    for A, value in drawn.values.items():
        assert abs(f[A] + g[A] - value) <= 1e-8
    assert reference.submodular_excess(f) <= 1e-7
    assert reference.supermodular_excess(g) <= 1e-7
