"""`Cut` and the algebra of surrogates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.definitions import margin_vectors
from setloss import Dice, Jaccard, SetFunction
from setloss.operators import B_D, Cut, Hinge, LovaszHinge, MarginRescaling, SlackRescaling

M = np.array([0.5, -0.25, 2.0, 0.125])


def surrogates():
    """One of every kind, each over the same four elements."""
    dice = Dice().on_counts(2, 2)
    return {
        "S": SlackRescaling(dice),
        "S greedy": SlackRescaling(dice, search="greedy"),
        "M": MarginRescaling(dice, scale=0.7),
        "L elementwise": LovaszHinge(Jaccard().on_counts(2, 2)),
        "L outer": LovaszHinge(SetFunction.symmetric([0, 2, 2, 1, 0])),
        "hinge": Hinge(4),
        "B_D": B_D(dice),
        "scaled sum": 2 * (B_D(dice) + 0.5 * Hinge(4)),
    }


every_surrogate = pytest.mark.parametrize("name", surrogates())


@given(margin_vectors(2), margin_vectors(2), st.floats(0, 10), st.booleans(), st.booleans())
def test_cuts_add_up_and_scale_and_a_sum_is_exact_if_both_are(slope, m, factor, one, other):
    left, right = Cut(1.5, slope, one), Cut(-0.5, slope[::-1].copy(), other)
    assert (left + right)(m) == pytest.approx(left(m) + right(m), abs=1e-12)
    assert (left + right).exact is (one and other)
    for scaled in (factor * left, left * factor):
        assert scaled(m) == pytest.approx(factor * left(m), abs=1e-12)
        assert scaled.exact is one


@every_surrogate
@pytest.mark.parametrize("other", surrogates())
def test_the_cut_of_a_sum_is_the_sum_of_the_cuts(name, other):
    left, right = surrogates()[name], surrogates()[other]
    got, expected = (left + right).cut(M), left.cut(M) + right.cut(M)
    assert got.offset == pytest.approx(expected.offset, abs=1e-14)
    np.testing.assert_allclose(got.slope, expected.slope, atol=1e-14)
    assert got.exact is expected.exact


def test_margins_may_be_lists_integers_strided_and_read_only():
    for surrogate in surrogates().values():
        given = np.array([1.0, -2.0, 0.0, 3.0])
        given.flags.writeable = False
        expected = surrogate(given)
        assert surrogate([1, -2, 0, 3]) == expected
        assert surrogate(np.array([1, -2, 0, 3], dtype=np.int8)) == expected
        assert surrogate(np.array([1.0, 9, -2, 9, 0, 9, 3, 9])[::2]) == expected


def test_one_element_is_enough():
    for function in (Dice().on_counts(1, 0), Dice().on_counts(0, 1), SetFunction.symmetric([0, 1])):
        for m in (-1.0, 0.0, 0.25, 1.0, 3.0):
            assert SlackRescaling(function)([m]) == max(0, 1 - 2 * m)
            assert MarginRescaling(function)([m]) == max(0, 1 - 2 * m)
            assert B_D(function)([m]) == LovaszHinge(function)([m]) == Hinge(1)([m]) == max(0, 1 - m)


REFUSED = [(np.zeros(shape), "a margin for each of 4 elements; got shape") for shape in ((), (3,), (5,), (1, 4))]
REFUSED += [([0.0, 1.0, bad, 2.0], f"element 2 has margin {bad}") for bad in (np.nan, np.inf, -np.inf)]


@every_surrogate
@pytest.mark.parametrize(("margins", "words"), REFUSED)
def test_margins_of_another_shape_or_not_finite_are_refused(name, margins, words):
    with pytest.raises(ValueError, match=words):
        surrogates()[name].cut(margins)


@pytest.mark.parametrize("factor", [-1, -1e-300, np.nan, np.inf])
def test_only_factors_from_zero_up_keep_a_surrogate_convex(factor):
    with pytest.raises(ValueError, match="a convex surrogate can be scaled by a number >= 0 only; got"):
        factor * Hinge(4)


def test_surrogates_over_different_sets_do_not_add():
    with pytest.raises(ValueError, match="surrogates over 4 and 3 elements cannot be added"):
        Hinge(4) + Hinge(3)
    with pytest.raises(ValueError, match="over 4 elements and over all sets cannot be added"):
        Hinge(4) + B_D(Dice())
