"""Values of very different size: beyond the range D refuses, and what it certifies the operators accept."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.strategies import any_functions
from setloss import SetFunction, Tversky, decompose, verify_decomposition
from setloss.decomposition.certificate import TableRangeError
from setloss.operators import B_D
from setloss.setfunctions.differences import ROUNDING, cell_levels
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


def span(table):
    """By definition: the largest value or positive second difference over the smallest; 0 if g is 0."""
    numbers, is_bent = [x for x in np.abs(table).ravel() if x > ROUNDING * np.max(np.abs(table))], False
    for (A, i, j), bend in reference.second_differences(reference.values_of(SetFunction.from_table(table))).items():
        values = reference.values_of(SetFunction.from_table(table))
        corners = [abs(values[B]) for B in (A, A | {i}, A | {j}, A | {i, j})]
        if bend > ROUNDING * max(corners):
            numbers, is_bent = [*numbers, bend], True
    return max(numbers) / min(numbers) if is_bent else 0.0


@given(wide_tables())
def test_what_is_out_of_range_is_refused_and_what_is_certified_the_operators_accept(values):
    function = SetFunction.from_table(values)
    wide = span(values) > 1e8
    try:
        parts = decompose(function)
    except TableRangeError:
        assert wide
        return
    assert not wide or values.ndim == 1
    assert B_D(function)
    check_decomposition(parts)
    loss, g = reference.values_of(function), reference.values_of(parts.supermodular)
    assert broken(loss, g) <= 1e-9


@given(any_functions())
def test_the_dual_value_is_a_bound_on_every_feasible_part(drawn):
    certificate = decompose(drawn.function).certificate
    _, least = reference.brute_force_program(drawn.values)
    assert certificate.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.dual * 2**drawn.function.p <= least + 1e-7 * (1 + abs(least))


def issue_38():
    b = 1e9
    return np.array(
        [[[0, b + 2], [3, b]], [[3 * b + 2, 2], [2 * b, 2 * b + 3]], [[2 * b + 2, 2 * b + 3], [2 * b + 3, 2]]]
    )


def one_large(top):
    values = np.zeros((2,) * 4)
    values[0, 0, 0, 1] = values[0, 0, 1] = 1.0
    values[1, 1, 1, 1] = top
    return values


TEN_DECADES = np.array([[0, 0, 0], [1e10, 0, 0], [1.5, 0, 5e10], [0, 0, 4e10]])


@pytest.mark.parametrize("table", [issue_38(), one_large(2.0**30), one_large(1e15), TEN_DECADES])
def test_a_table_out_of_range_is_refused_and_the_remedy_works(table):
    """Tables that were once certified wrongly: "unique", infeasible by one small value, or with that value lost."""
    function = SetFunction.from_table(table)
    with pytest.raises(
        TableRangeError, match=r"span at most 1e\+08, and those of this one go from [12].*round"
    ) as refusal:
        decompose(function)
    unit = float(re.search(r"multiples of (\S+),", str(refusal.value)).group(1))
    rounded = decompose(SetFunction.from_table(unit * np.round(table / unit)))
    assert rounded.certificate.holds
    undecided = verify_decomposition(function, 2 * np.max(table) * np.square(cell_levels(table.shape)))
    assert undecided.feasible
    assert undecided.optimal is None


SATURATING = np.tanh(8 * (np.add.outer(np.arange(11), np.arange(11)) / 10 - 1.2))
SEVEN_DECADES = np.array([[0, 0.005, 0.0001, 0], [-2e-5, 4, 0.3, -30], [0.001, 0.1, -0.001, -10], [50, 20, 2, 20]])
MILLIONTHS = np.array([[0, 2, 3, -1], [0, 3, 5, 3], [0, 4, -3, 4], [-1, 5, -1, 1]]) / 1e6


@pytest.mark.parametrize("table", [SATURATING - SATURATING[0, 0], SEVEN_DECADES, MILLIONTHS])
def test_tables_in_range_that_were_once_refused(table):
    """f is straight but for the rounding of l; small values of the optimum of least norm beside large ones; a cell in
    which g is rounding, beside l = 0.
    """
    parts = decompose(SetFunction.from_table(table))
    assert parts.certificate.holds
    assert B_D(parts.loss)


def test_submodular_tables_and_closed_forms_have_no_range():
    saturating = SetFunction.from_table(-np.expm1(-np.add.outer(np.arange(26.0), np.arange(26.0))))
    assert not decompose(saturating).supermodular.table.any()
    curve = SetFunction.symmetric([0.0, 1e-30, 2.5, 2.5, 1e12])
    np.testing.assert_allclose(decompose(curve).supermodular.table, [0, 0, 2.5, 5, 1e12 + 5.0])


def test_what_rounding_leaves_of_a_supermodular_table_is_no_submodular_part():
    parts = decompose(SetFunction.from_table(0.1 * np.multiply.outer(np.arange(6.0), np.arange(6.0) ** 1.5)))
    assert not parts.submodular.table.any()


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
