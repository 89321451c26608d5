"""Proposition 3. In any decomposition l = f + g some modular function, moved from f to g, makes g increasing.

Holds, with the weights of Equation 10. To the letter its minimum over all A includes those that contain j, for
which the gain is 0; it then moves nothing where g increases already. Taken over the A without j, it also takes
away what is modular in g: g is 0 on every single element. The second reading is the one that Proposition 4 and
D need; both make g increasing.

The remark before it, that the increasing supermodular functions are the non-negative ones, holds as well.
"""

from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import difference, modular, plus, printed_weights, singletons, weights_without_j
from helpers.strategies import submodular_functions, supermodular_functions

pairs = st.integers(1, 4).flatmap(lambda p: st.tuples(submodular_functions(p, p), supermodular_functions(p, p)))


@given(pairs)
def test_both_readings_make_g_increasing_and_keep_f_submodular(pair):
    f, g = (drawn.values for drawn in pair)
    for weights in (printed_weights(g), weights_without_j(g)):
        shifted = plus(g, modular(weights))
        assert reference.increasing_excess(shifted) <= 0
        assert reference.negative_excess(shifted) <= 0
        assert reference.supermodular_excess(shifted) <= 0
        assert reference.submodular_excess(difference(f, modular(weights))) <= 0


@given(pairs)
def test_only_the_second_reading_removes_the_modular_part(pair):
    g = pair[1].values
    assert all(value == 0 for value in singletons(plus(g, modular(weights_without_j(g)))))
    assert singletons(plus(g, modular(printed_weights(g)))) == [max(0.0, value) for value in singletons(g)]


@given(supermodular_functions(1, 5))
def test_a_supermodular_function_is_increasing_iff_it_is_non_negative(drawn):
    increasing = reference.increasing_excess(drawn.values) <= 0
    assert increasing == (reference.negative_excess(drawn.values) <= 0)
