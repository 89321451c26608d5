"""Lemma 1. If l is supermodular then l - D l is modular: the sum of l over the single elements.

Holds, and D is unique there.
"""

from hypothesis import given

from helpers import reference
from helpers.definitions import difference, function_of, modular, optimal_face_width, singletons
from helpers.strategies import supermodular_functions
from setloss import decompose


@given(supermodular_functions(1, 4))
def test_the_rest_over_the_single_elements_is_the_only_minimiser(drawn):
    expected = difference(drawn.values, modular(singletons(drawn.values)))
    assert reference.infeasibility(drawn.values, expected) <= 0
    _, minimum = reference.brute_force_program(drawn.values)
    assert abs(sum(expected.values()) - minimum) <= 1e-6
    if drawn.function.p > 1:
        assert optimal_face_width(drawn.values) <= 1e-6


@given(supermodular_functions(1, 5))
def test_decompose_leaves_the_modular_part(drawn):
    parts = decompose(drawn.function)
    rest = modular(singletons(drawn.values))
    assert parts.submodular == function_of(rest)
    assert parts.certificate.unique is True
