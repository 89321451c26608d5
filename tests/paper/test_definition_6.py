"""Definition 6, the operator D, and two remarks of Section 3.1.

Every minimiser is 0 on the single elements, so f({j}) = l({j}): a modular part of g can always be moved to f.
The linear program of a function of counts has one unknown per cell, as the paper says; it may, because
averaging a minimiser over the permutations of a group gives another one. Modular functions pass through:
D(l + m) = D l, and D(t l) = t D l for t >= 0. D is not linear: D l + D(-l) is not 0.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import function_of, modular, plus, singletons
from helpers.strategies import any_functions, general_functions, grouped_functions
from setloss import SetFunction, decompose


@given(any_functions())
def test_d_is_zero_on_single_elements(drawn):
    parts = decompose(drawn.function)
    assert singletons(reference.values_of(parts.supermodular)) == pytest.approx([0.0] * drawn.function.p, abs=1e-9)
    f = reference.values_of(parts.submodular)
    assert singletons(f) == pytest.approx(singletons(drawn.values), abs=1e-8)


@given(general_functions(1, 4))
def test_so_is_every_minimiser(drawn):
    found, _ = reference.brute_force_program(drawn.values)
    assert max(map(abs, singletons(found))) <= 1e-7


@given(grouped_functions(k=2, max_size=2, max_p=4))
def test_the_program_over_counts_has_the_same_minimum(drawn):
    g = decompose(drawn.function).supermodular
    _, minimum = reference.brute_force_program(drawn.values)
    assert sum(reference.values_of(g).values()) == pytest.approx(minimum, rel=1e-6, abs=1e-6)


@given(general_functions(1, 4), st.lists(st.integers(-5, 5), min_size=4, max_size=4), st.integers(1, 5))
def test_modular_functions_and_factors_pass_through(drawn, rates, factor):
    g = decompose(drawn.function).supermodular
    shifted = function_of(plus(drawn.values, modular(rates[: drawn.function.p])))
    assert decompose(shifted).supermodular.allclose(g, rtol=1e-5)
    assert decompose(drawn.function * factor).supermodular.allclose(g * factor, rtol=1e-5)


def test_d_is_not_linear():
    bent = SetFunction.symmetric([0, 1, 3])
    assert (decompose(bent).supermodular + decompose(-bent).supermodular).table.tolist() == [0, 0, 1]
