"""Proposition 1. A function of |A| alone, l(A) = c(|A|), is submodular exactly when c is concave.

Holds. Concavity is meant on 0..p: what c does beyond p = |V| no set can see.
"""

import numpy as np
from hypothesis import given

from helpers.reference import subsets
from helpers.strategies import symmetric_functions
from setloss import SetFunction, is_submodular


def submodular_by_definition_3(values, p):
    """l(B + x) - l(B) >= l(A + x) - l(A) for all B inside A and x outside of A."""
    return all(
        values[B | {x}] - values[B] >= values[A | {x}] - values[A]
        for A in subsets(p)
        for B in subsets(p)
        if B <= A
        for x in range(p)
        if x not in A
    )


@given(symmetric_functions(max_p=5))
def test_submodular_iff_concave(drawn):
    p = drawn.function.p
    curve = [drawn.values[frozenset(range(k))] for k in range(p + 1)]
    concave = all(curve[k + 1] - curve[k] <= curve[k] - curve[k - 1] for k in range(1, p))
    assert submodular_by_definition_3(drawn.values, p) == concave == bool(is_submodular(drawn.function))


def test_concavity_beyond_the_size_of_the_set_is_not_needed():
    c = np.array([0.0, 1.0, 2.0, 9.0])
    assert is_submodular(SetFunction.symmetric(c[:3]))
    assert not is_submodular(SetFunction.symmetric(c))
