"""The Lovász hinge against the maximum over all permutations of the printed formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import lovasz_elementwise, lovasz_outer, margin_vectors, random_margins, with_points
from helpers.reference import increasing_excess
from helpers.strategies import cut_functions, submodular_functions
from setloss import Dice, Jaccard, SetFunction
from setloss.operators import Hinge, LovaszHinge
from setloss.operators.lovasz import hinge_like

# A cut function: submodular, zero on V, so not increasing.
EDGE = SetFunction.from_values([0, 0, 1, 0])
INCREASING = SetFunction.symmetric([0, 2, 3, 3.5])


@given(with_points(submodular_functions(1, 5), 3))
def test_the_value_is_the_maximum_over_all_permutations_and_the_cut_a_minorant(case):
    drawn, m, *others = case
    increasing = increasing_excess(drawn.values) <= 0
    by_definition = lovasz_elementwise if increasing else lovasz_outer
    hinge = LovaszHinge(drawn.function)
    cut = hinge.cut(m)
    assert hinge.elementwise is increasing
    assert cut(m) == hinge(m) == pytest.approx(by_definition(drawn.values, m), rel=1e-12, abs=1e-12)
    assert cut.exact
    for other in others:
        assert cut(other) <= by_definition(drawn.values, other) + 1e-9


@given(with_points(cut_functions(4)))
def test_of_closure_is_the_hinge_of_the_largest_increasing_function_below(case):
    drawn, m = case
    closed = reference.monotone_closure(drawn.values)
    hinge = LovaszHinge.of_closure(drawn.function)
    assert hinge.elementwise
    assert hinge(m) == pytest.approx(lovasz_elementwise(closed, m), rel=1e-12, abs=1e-12)


@given(st.integers(1, 8).flatmap(margin_vectors), st.booleans())
def test_the_hinge_is_the_sum_of_hinges(m, normalize):
    expected = sum(max(0.0, 1 - x) for x in m) / (len(m) if normalize else 1)
    hinge = Hinge(len(m), normalize=normalize)
    assert hinge(m) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(hinge.cut(m).slope > 0, m < 1)


def test_the_hinge_over_the_groups_of_another_function():
    m = np.array([0.5, -1.0, 2.0, 0.0, 1.0])
    for function in (Dice().set_function([1, 0, 1, 0, 0]), SetFunction.from_values(np.zeros(32))):
        assert hinge_like(function)(m) == 0.5 + 2 + 1


def published_jaccard_hinge(truth, m):
    """Algorithm 1 of Berman, Triki and Blaschko (CVPR 2018), in exact arithmetic."""
    order = sorted(range(len(truth)), key=lambda i: m[i])
    positives = sum(truth)
    total, before, found, false_alarms = Fraction(0), Fraction(0), 0, 0
    for i in order:
        found, false_alarms = found + truth[i], false_alarms + (1 - truth[i])
        jaccard = 1 - Fraction(positives - found, positives + false_alarms)
        total += max(Fraction(0), 1 - Fraction(m[i])) * (jaccard - before)
        before = jaccard
    return float(total)


def test_the_jaccard_hinge_is_the_published_one():
    generator = np.random.default_rng(0)
    for _ in range(40):
        truth = generator.integers(0, 2, generator.integers(1, 9)).tolist()
        truth[0] = 1
        for m in random_margins(generator, len(truth), 3):
            expected = published_jaccard_hinge(truth, m.tolist())
            assert LovaszHinge(Jaccard().set_function(truth))(m) == pytest.approx(expected, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("part", ["elementwise", "outer"])
def test_an_oracle_is_vouched_for_at_any_size(part):
    p = 300
    oracle = SetFunction.oracle(lambda A: len(A) ** 0.5, p)
    symmetric = SetFunction.symmetric(np.arange(p + 1) ** 0.5)
    m = np.random.default_rng(0).normal(size=p)
    assert LovaszHinge(oracle, part)(m) == pytest.approx(LovaszHinge(symmetric, part)(m), rel=1e-12)


@pytest.mark.parametrize(
    ("function", "part", "words"),
    [
        (SetFunction.oracle(len, 3), None, 'cannot be checked; vouch for it with positive_part="elementwise"'),
        (SetFunction.symmetric([0, 0, 1, 1]), None, r"adding 1 to \{\} gains 0, to \{0\} gains 1. Use .* B_D"),
        (EDGE, "elementwise", r"adding 1 to \{0\} lowers the value from 1 to 0. Use positive_part='outer'"),
        (Dice().on_counts(10**6, 10**6), None, "needs a submodular function; this one is not: adding"),
    ],
)
def test_what_has_no_hinge_is_refused_with_a_witness_and_a_remedy(function, part, words):
    with pytest.raises(ValueError, match=words):
        LovaszHinge(function, part)
