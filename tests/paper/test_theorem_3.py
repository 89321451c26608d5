"""Theorem 3. B_D l is convex for every l; the paper adds that it is piecewise linear.

Holds: it is the sum of two maxima of finitely many affine functions, one per permutation (for increasing f, per
beginning of a permutation) and one per set.
"""

import pytest
from hypothesis import given, settings

from helpers import reference
from helpers.definitions import lovasz_hinge, slack, with_points
from helpers.strategies import any_functions, general_functions
from setloss import decompose
from setloss.operators import B_D
from setloss.testing import check_convex, check_cut


@given(with_points(general_functions(1, 4)))
def test_two_maxima_of_finitely_many_affine_functions(case):
    drawn, margins = case
    parts = decompose(drawn.function)
    f, g = reference.values_of(parts.submodular), reference.values_of(parts.supermodular)
    expected = lovasz_hinge(f, margins) + slack(g, margins)
    assert B_D(drawn.function)(margins) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=15)
@given(with_points(any_functions()))
def test_the_public_checkers_agree(case):
    drawn, margins = case
    surrogate = B_D(drawn.function)
    check_convex(surrogate, samples=20, tolerance=1e-7)
    check_cut(surrogate, margins, tolerance=1e-7)
