"""Proposition 4. Decompositions of one function can differ by more than a modular function.

Holds for two or more elements: any submodular function that is not modular can be moved from g to f. With a
single element every function is modular and the statement is empty. As printed, "g_1 + m_1 differs from
g_2 + m_2" says less than the text around it: with Equation 10 to the letter it is already true of two g that
differ by a modular function only (see Proposition 3 for the two readings).
"""

from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import difference, modular, plus, printed_weights, singletons, weights_without_j
from helpers.strategies import general_functions


def a_decomposition(values, extra=0.0):
    """F and g of Proposition 2, with `extra` more of the non-modular |A|(|A| - 1)/2 than needed."""
    largest = max(0.0, reference.submodular_excess(values)) + extra
    g = {A: largest * len(A) * (len(A) - 1) / 2 for A in values}
    return difference(values, g), g


def without_modular_part(g):
    return plus(g, modular(weights_without_j(g)))


@given(general_functions(min_p=2, max_p=4), st.integers(1, 5))
def test_two_decompositions_with_different_curvature(drawn, extra):
    f_1, g_1 = a_decomposition(drawn.values)
    f_2, g_2 = a_decomposition(drawn.values, float(extra))
    for f, g in ((f_1, g_1), (f_2, g_2)):
        assert plus(f, g) == drawn.values
        assert reference.submodular_excess(f) <= 0
        assert reference.supermodular_excess(g) <= 0
    assert without_modular_part(g_1) != without_modular_part(g_2)
    assert reference.modular_excess(difference(g_2, g_1)) > 0


@given(st.integers(-6, 6), st.integers(-6, 6))
def test_one_element_has_nothing_but_modular_functions(left, right):
    g_1, g_2 = modular([left]), modular([right])
    assert without_modular_part(g_1) == without_modular_part(g_2) == modular([0])


def test_the_printed_weights_tell_modular_differences_apart_which_they_should_not():
    g_1, g_2 = modular([0, 0]), modular([1, 1])
    shifted = [plus(g, modular(printed_weights(g))) for g in (g_1, g_2)]
    assert shifted[0] != shifted[1]
    assert singletons(shifted[1]) == [1, 1]
    assert without_modular_part(g_1) == without_modular_part(g_2)
