"""Values of very different size: no false certificate, and what is certified the operators accept."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.strategies import any_functions
from setloss import SetFunction, Tversky, decompose, verify_decomposition
from setloss.operators import B_D, LovaszHinge
from setloss.setfunctions.tolerance import ROUNDING
from setloss.testing import check_decomposition

SHAPES = st.one_of(
    st.integers(2, 8).map(lambda p: (p + 1,)),
    st.tuples(st.integers(2, 6), st.integers(2, 6)),
    st.integers(3, 6).map(lambda p: (2,) * p),
)


@st.composite
def wide_tables(draw):
    """A table with values in (0, 1), one of them or its top replaced by a large one, or spread over 15 decades."""
    shape = draw(SHAPES)
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = generator.random(shape)
    if draw(st.booleans()):
        values = np.round(4 * values) / 4
    kind = draw(st.sampled_from(["top", "one", "spread"]))
    if kind == "spread":
        values *= 10.0 ** -generator.integers(0, 16, size=shape)
    else:
        cell = values.size - 1 if kind == "top" else int(generator.integers(1, values.size))
        values.flat[cell] = draw(st.sampled_from([1.0, 0.7])) * 10.0 ** draw(st.integers(0, 15))
    values.flat[0] = 0.0
    return values


def broken(values, g):
    """By definition and by the magnitudes of each inequality: the worst breach by f = l - g or g, over all sets."""
    f = {A: values[A] - g[A] for A in values}
    worst = 0.0
    for part, sign in ((f, 1.0), (g, -1.0)):
        for (A, i, j), bend in reference.second_differences(part).items():
            corners = [A, A | {i}, A | {j}, A | {i, j}]
            rounding = ROUNDING * max(max(abs(values[B]), abs(g[B])) for B in corners)
            gains = max(abs(part[A | {k}] - part[A]) for k in (i, j))
            gains = max(gains, *(abs(part[A | {i, j}] - part[A | {k}]) for k in (i, j)))
            worst = max(worst, (sign * bend - rounding) / (gains or 1.0))
    return worst


@given(wide_tables())
def test_what_is_certified_the_operators_and_the_checkers_accept(values):
    function = SetFunction.from_table(values)
    parts = decompose(function)
    assert parts.certificate.holds
    assert LovaszHinge(parts.submodular)
    assert B_D(function)
    check_decomposition(parts)
    assert verify_decomposition(function, parts.supermodular)
    loss, g = reference.values_of(function), reference.values_of(parts.supermodular)
    assert broken(loss, g) <= 1e-9


@given(any_functions())
def test_the_dual_value_is_a_bound_on_every_feasible_part(drawn):
    certificate = decompose(drawn.function).certificate
    _, least = reference.brute_force_program(drawn.values)
    assert certificate.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.dual * 2**drawn.function.p <= least + 1e-7 * (1 + abs(least))


def test_the_false_certificate_that_was_found():
    values = np.zeros(16)
    values[[1, 2, 3]] = 1.0
    values[15] = 2.0**30
    function = SetFunction.from_values(values)
    parts = decompose(function)
    assert parts.certificate.rule == "linear program"
    assert broken(reference.values_of(function), reference.values_of(parts.supermodular)) <= 1e-12
    assert B_D(function)
    bound = np.zeros(16)
    bound[15] = 2.0**30
    found = verify_decomposition(function, bound.reshape((2,) * 4))
    assert not found.feasible
    assert "l - g is not submodular" in str(found)


@pytest.mark.parametrize("top", [1e7, 1e9, 1e12, 1e15])
def test_random_tables_with_one_large_value(top):
    generator = np.random.default_rng(int(np.log10(top)))
    for _ in range(10):
        values = generator.random(16)
        values[0], values[15] = 0.0, top
        function = SetFunction.from_values(values)
        parts = decompose(function)
        assert broken(reference.values_of(function), reference.values_of(parts.supermodular)) <= 1e-9
        assert B_D(function)


def test_a_small_curve_before_a_large_value_keeps_its_slope():
    curve = np.append(1e-8 * np.arange(6), 1.0)
    surrogate = B_D(SetFunction.symmetric(curve), monotone=True)
    part = surrogate.terms[0][1].function
    np.testing.assert_allclose(part.table, 1e-8 * np.arange(7), rtol=1e-12)


@pytest.mark.parametrize("counts", [(1, 5), (2, 1), (5, 3), (8, 8)])
def test_misses_that_cost_almost_nothing(counts):
    function = Tversky(alpha=0.5, beta=1e-6).on_counts(*counts)
    assert B_D(function)
    assert decompose(function).certificate.holds
    assert B_D(Tversky(alpha=0.5, beta=1e-6).on_counts(counts[0], 0), monotone=True)


def test_a_false_certificate_would_be_seen_in_one_inequality():
    """The rule is local: 1 too little in one inequality between ones, beside 1e15 elsewhere."""
    values = np.array([0.0, 1.0, 1.0, 1e15]).reshape(2, 2)
    assert verify_decomposition(SetFunction.from_table(values), [[0, 0], [0, 1e15 - 2]])
    curve = SetFunction.symmetric([0.0, 1.0, 1.0, 3.0, 1e15])
    assert not verify_decomposition(curve, [0, 0, 0, 0, 1e15])


def test_a_value_ten_decades_below_the_others_is_not_lost():
    """g(0, 2) = 1.5 is needed beside values of 1e10; the bound 0 there is broken by 1.5e-10 of the gains only."""
    table = np.array([[0, 0, 0], [1e10, 0, 0], [1.5, 0, 5e10], [0, 0, 4e10]])
    function = SetFunction.from_table(table)
    g = decompose(function).supermodular.table
    assert g[0, 2] == 1.5
    exact = [[Fraction(a) - Fraction(b) for a, b in zip(*rows, strict=True)] for rows in zip(table, g, strict=True)]
    for part, sign in ((np.array(exact), 1), (np.vectorize(Fraction)(g), -1)):
        for b, c in ((0, 0), (0, 1), (1, 1)):
            assert np.all(sign * np.diff(np.diff(part, axis=b), axis=c) <= 0)
    assert verify_decomposition(function, g)
    without = g.copy()
    without[0, 2] = 0
    assert not verify_decomposition(function, without)
