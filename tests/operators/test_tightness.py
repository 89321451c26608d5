"""The convex closure against the linear program over all 2^p vertices."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers.definitions import chain_sum
from helpers.reference import masks, subsets
from helpers.strategies import any_functions, submodular_functions
from setloss import Dice, Jaccard, SetFunction
from setloss.operators import B_D, LovaszHinge, SlackRescaling, convex_closure
from setloss.setfunctions.counts import TableTooLargeError


def cheapest_mixture(values, u):
    """min sum_A lambda_A l(A) over the distributions lambda on sets with mean u: the closure's definition."""
    p = len(u)
    matrix, target = np.vstack([masks(p).T, np.ones(2**p)]), np.append(u, 1.0)
    cost = [values[A] for A in subsets(p)]
    answer = linprog(cost, A_eq=matrix, b_eq=target, bounds=(0, None), method="highs")
    assert answer.status == 0, answer.message
    return answer.fun


@cache
def unit_points(p):
    tenths = st.integers(0, 10).map(lambda k: k / 10)
    return st.lists(tenths, min_size=p, max_size=p).map(np.array)


@settings(max_examples=100)
@given(any_functions(), st.data())
def test_the_closure_is_the_cheapest_mixture_of_vertices(drawn, data):
    """One, two and three groups and none at all, negative values included."""
    u = data.draw(unit_points(drawn.function.p))
    assert convex_closure(drawn.function, u) == pytest.approx(cheapest_mixture(drawn.values, u), abs=1e-7)


@given(submodular_functions(1, 5), st.data())
def test_for_a_submodular_function_it_is_the_lovasz_extension(drawn, data):
    u = data.draw(unit_points(drawn.function.p))
    extension = chain_sum(drawn.values, np.argsort(-u), u)
    assert convex_closure(drawn.function, u) == pytest.approx(extension, abs=1e-8)


def test_large_groups_are_no_obstacle():
    """50 + 40 elements: the closure of Jaccard is its Lovász extension, which the hinge is on the cube."""
    function = Jaccard().on_counts(50, 40)
    u = np.random.default_rng(0).random(90)
    assert convex_closure(function, u) == pytest.approx(LovaszHinge(function)(1 - u), abs=1e-7)


@pytest.mark.parametrize(
    "factor",
    [1e-8, 1e-6, 1e-3, 1e12, 1e25],
)
def test_it_scales_with_the_function(factor):
    generator = np.random.default_rng(0)
    for _ in range(4):
        table = generator.random((3, 3, 2))
        table.flat[0] = 0
        function, u = SetFunction.from_table(table), generator.random(5)
        expected = factor * convex_closure(function, u)
        assert convex_closure(factor * function, u) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("function", [Dice().on_counts(3, 2), SetFunction.symmetric([0, 0, 1, 4])])
def test_extensions_lie_below_the_closure_and_the_smaller_scale_nearer(function, scale):
    for u in np.random.default_rng(0).random((20, function.p)):
        slack, wide = (SlackRescaling(function, c)(1 - u) for c in (scale, 2.0))
        assert wide <= slack <= convex_closure(function, u) + 1e-8
        assert B_D(function, scale=scale)(1 - u) <= convex_closure(function, u) + 1e-8


# ---------------------------------------------------------------- errors


def test_the_point_must_lie_in_the_cube():
    function = Dice().on_counts(2, 1)
    for bad in ([0.5, 1.1, 0], [-0.1, 0, 0], [np.nan, 0, 0]):
        with pytest.raises(ValueError, match=r"every coordinate must be in \[0, 1\]"):
            convex_closure(function, bad)
    with pytest.raises(ValueError, match=r"expected a point in \[0, 1\]\^3; got shape \(2,\)"):
        convex_closure(function, [0.5, 0.5])


def test_too_many_cells_are_refused_with_the_limit():
    with pytest.raises(TableTooLargeError, match="the limit is 16384"):
        convex_closure(Dice().on_counts(200, 200), np.zeros(400))
