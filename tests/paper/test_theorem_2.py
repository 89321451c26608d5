"""Theorem 2. For submodular l, B_D l = L l.

Holds everywhere, not only on the cube: g = 0 is feasible, and nothing is smaller.
"""

import pytest
from hypothesis import given

from helpers.definitions import lovasz_hinge, with_points
from helpers.strategies import submodular_functions
from setloss import decompose
from setloss.operators import B_D, LovaszHinge


@given(with_points(submodular_functions(1, 5)))
def test_b_d_is_the_lovasz_hinge(case):
    drawn, margins = case
    combined = B_D(drawn.function)(margins)
    assert combined == pytest.approx(LovaszHinge(drawn.function)(margins), abs=1e-12)
    assert combined == pytest.approx(lovasz_hinge(drawn.values, margins), abs=1e-9)


@given(submodular_functions(1, 5))
def test_nothing_is_supermodular_in_it(drawn):
    parts = decompose(drawn.function)
    assert not parts.supermodular.table.any()
    assert parts.submodular == drawn.function
    assert parts.certificate.unique is True
