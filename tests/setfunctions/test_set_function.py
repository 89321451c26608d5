"""`SetFunction`: constructors, values, chains, algebra and error messages, against plain enumeration."""

import copy
import pickle
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.reference import mask_of, masks, subsets, values_of, values_of_table
from helpers.strategies import any_functions, general_functions, integer_array, symmetric_functions
from setloss import CostCurve, Dice, Hamming, SetFunction


def prefixes(order):
    return [frozenset(order[:k]) for k in range(len(order) + 1)]


@st.composite
def functions_and_orders(draw):
    drawn = draw(any_functions())
    return drawn, draw(st.permutations(range(drawn.function.p)))


# ---------------------------------------------------------------- values


@given(functions_and_orders())
def test_values_on_masks_by_counts_and_along_an_order_are_those_of_the_table(case):
    drawn, order = case
    function, sets = drawn.function, masks(drawn.function.p)
    assert values_of(function) == drawn.values
    assert function(sets).tolist() == list(drawn.values.values())
    assert function(sets[:0]).shape == (0,)
    np.testing.assert_array_equal(function.at(*np.indices(function.table.shape)), function.table)
    assert function.along(order).tolist() == [drawn.values[A] for A in prefixes(order)]


# ---------------------------------------------------------------- constructors


def test_without_groups_the_elements_of_the_first_axis_come_first():
    function = SetFunction.from_table([[0, 1, 2], [3, 4, 5]])
    assert function.partition.tolist() == [0, 1, 1]
    assert function([True, False, False]) == 3
    assert function([False, True, True]) == 2


def test_groups_may_have_gaps():
    table = np.array([0.0, 2, 3, 7]).reshape(2, 1, 2)
    function = SetFunction.from_table(table, [2, 0])
    assert values_of(function) == values_of_table(table, [2, 0])


def test_from_values_reads_element_0_as_the_leading_bit():
    flat = [0, 1, 2, 3, 4, 5, 6, 7]
    for values in (flat, np.reshape(flat, (2, 2, 2)), np.float32(flat)):
        function = SetFunction.from_values(values)
        assert values_of(function) == {A: sum(4 >> i for i in A) for A in subsets(3)}


def test_from_callable_calls_on_frozensets():
    function = SetFunction.from_callable(lambda A: sqrt(sum(A)), 4)
    assert values_of(function) == {A: sqrt(sum(A)) for A in subsets(4)}


def test_an_oracle_is_called_and_never_tabulated():
    calls = []

    def function(A):
        calls.append(A)
        return float(len(A) ** 2)

    oracle = SetFunction.oracle(function, 60)
    calls.clear()
    order = np.random.default_rng(0).permutation(60)
    assert oracle.along(order).tolist() == [k**2 for k in range(61)]
    assert calls == prefixes(order.tolist())
    assert oracle(np.ones(60, dtype=bool)) == 3600
    np.testing.assert_array_equal(oracle.gains(order), 2 * np.arange(60) + 1)


@given(integer_array((3, 2)))
def test_the_users_array_is_neither_kept_nor_frozen(table):
    before = table.copy()
    function = SetFunction.from_table(table)
    table += 1.0
    np.testing.assert_array_equal(function.table, before)


@pytest.mark.parametrize("name", ["table", "partition"])
def test_tables_and_groups_are_read_only(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(SetFunction.symmetric([0, 1, 4]), name)[1] = 5


# ---------------------------------------------------------------- one function, several descriptions


@given(any_functions(), st.data())
def test_finer_groups_and_elements_alone_describe_the_same_function(drawn, data):
    p = drawn.function.p
    parts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=p, max_size=p)))
    for groups in (4 * drawn.function.partition + parts, np.arange(p)):
        finer = drawn.function.refine(groups)
        assert finer.sizes == tuple(np.bincount(groups))
        assert values_of(finer) == drawn.values
        assert finer == drawn.function


# ---------------------------------------------------------------- algebra


@st.composite
def pairs_over_one_ground_set(draw):
    left = draw(any_functions())
    p = left.function.p
    return left, draw(st.one_of(symmetric_functions(p, p), general_functions(p, p) if p <= 5 else st.nothing()))


@given(pairs_over_one_ground_set())
def test_sums_and_differences_are_taken_set_by_set(pair):
    left, right = pair
    total, difference = left.function + right.function, left.function - right.function
    assert values_of(total) == {A: left.values[A] + right.values[A] for A in left.values}
    assert values_of(difference) == {A: left.values[A] - right.values[A] for A in left.values}


@given(any_functions(), st.sampled_from([0, -1, 2.5, np.float32(2), np.int64(3)]))
def test_scaling_multiplies_every_value(drawn, factor):
    expected = {A: float(factor) * value for A, value in drawn.values.items()}
    assert values_of(drawn.function * factor) == values_of(factor * drawn.function) == expected


def test_closed_forms_combine_on_their_common_groups():
    y = np.array([1, 0, 1, 0, 0])
    dice, curve = Dice().set_function(y), CostCurve([(0, 0), (1, 1)]).set_function(y)
    total = dice + 2 * curve - 0.5 * dice
    expected = {A: 0.5 * dice(mask_of(A, 5)) + 2 * len(A) / 5 for A in subsets(5)}
    assert values_of(total) == pytest.approx(expected, abs=1e-15)
    order = [4, 2, 0, 1, 3]
    np.testing.assert_allclose(total.gains(order), np.diff(total.along(order)), atol=1e-14)


@given(pairs_over_one_ground_set())
def test_equality_means_equal_on_every_set(pair):
    left, right = pair
    assert (left.function == right.function) == (left.values == right.values)


def test_equality_is_relative_to_the_scale():
    for scale in (1e-300, 1.0, 1e300):
        curve = np.array([0.0, 1, 3]) * scale
        assert SetFunction.symmetric(curve) == SetFunction.symmetric(curve * (1 + 1e-12))
        assert SetFunction.symmetric(curve) != SetFunction.symmetric(curve * (1 + 1e-6))
        assert SetFunction.symmetric(curve).allclose(SetFunction.symmetric(curve * (1 + 1e-6)), rtol=1e-5)


@pytest.mark.parametrize("function", [SetFunction.symmetric([0, 1, 4]), Dice().on_counts(2, 3)])
def test_copies_and_pickles_are_the_same_function(function):
    for other in (copy.copy(function), copy.deepcopy(function), pickle.loads(pickle.dumps(function))):
        assert other == function


# ---------------------------------------------------------------- repr


def test_repr_of_a_closed_form_builds_no_huge_table():
    assert "two groups (1000000, 1000000): TverskyCounts, no table" in repr(Dice().on_counts(10**6, 10**6))


# ---------------------------------------------------------------- errors


FUNCTION = SetFunction.from_table([[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: SetFunction.symmetric([1, 2]), r"l\(empty\) = 1\. Subtract"),
        (lambda: SetFunction.symmetric([]), "the curve is empty; the value of the empty set, 0, comes first"),
        (lambda: SetFunction.symmetric([0, np.nan]), r"the curve must be finite; entry \(1,\) is nan"),
        (lambda: SetFunction.from_table([[0, 1], [np.inf, 1]]), r"the table must be finite; entry \(1, 0\)"),
        (lambda: SetFunction.symmetric([[0, 1]]), r"the curve must have 1 axis; got shape \(1, 2\)"),
        (lambda: SetFunction.symmetric(np.ma.masked_array([0, 1], [0, 1])), "the curve is a masked array"),
        (lambda: SetFunction.from_table([[0, 1], [2]]), "the table must be an array of real numbers"),
        (lambda: SetFunction.from_table(0.0), "the table needs at least one axis; got a single number"),
        (lambda: SetFunction.from_table(np.zeros((2, 2)), [0, 0]), r"sizes \(2, 0\), .* expects \(1, 1\)"),
        (lambda: SetFunction.from_table(np.zeros((2, 2)), [0.0, 1.0]), "a partition is a 1-D array"),
        (lambda: SetFunction.from_table(np.zeros((2, 2)), [0, -1]), "a partition is .* non-negative"),
        (lambda: SetFunction.from_table(np.zeros((2, 2)), [[0, 1]]), "a partition is a 1-D array"),
        (lambda: SetFunction.from_values([0, 1, 2]), r"needs 2\^p values.* got shape \(3,\)"),
        (lambda: SetFunction.from_values(np.zeros((4, 2))), r"got shape \(4, 2\)"),
        (lambda: SetFunction.from_callable(len, 17), r"1 <= p <= 16; got p = 17\. Describe .*oracle"),
        (lambda: SetFunction.from_callable(lambda A: float("nan") if A else 0.0, 2), r"entry \(1,\) is nan"),
        (lambda: SetFunction.symmetric([0.0]), "at least one element; leave empty sets out"),
        (lambda: SetFunction.oracle(len, 0), "at least one element; leave empty sets out"),
        (lambda: Dice().set_function([]), "at least one element; leave empty sets out"),
        (lambda: Hamming().on_counts(0, 0), "at least one element; leave empty sets out"),
        (lambda: FUNCTION([0, 2]), r"mask of shape \(3,\) or .* Python set of elements from 0 to 2; got int64"),
        (lambda: FUNCTION([0.5, 1, 0]), r"mask of shape .* got float64 of shape \(3,\)"),
        (lambda: FUNCTION([True]), r"mask of shape \(3,\) or \(n, 3\).* got bool of shape \(1,\)"),
        (lambda: FUNCTION({-1}), r"elements from 0 to 2"),
        (lambda: FUNCTION.at(1), "expected 2 counts, one per group; got 1"),
        (lambda: FUNCTION.at(2, 0), "a count of group 0 must be an integer between 0 and 1"),
        (lambda: FUNCTION.at(0, -1), "a count of group 1 must be an integer between 0 and 2"),
        (lambda: FUNCTION.along([0, 1]), r"the order must be a permutation of 0\.\.2"),
        (lambda: FUNCTION.along([0, 1, 1]), r"the order must be a permutation of 0\.\.2"),
        (lambda: FUNCTION.gains([0.0, 1.0, 2.0]), r"the order must be a permutation of 0\.\.2"),
        (lambda: FUNCTION.refine([0, 0, 1]), "group 0 is not finer: it holds element 0 together with"),
        (lambda: FUNCTION.refine([0, 1]), r"expected one group per element, 3; got shape \(2,\)"),
        (lambda: FUNCTION + SetFunction.symmetric([0, 1]), "over 3 and 1 elements cannot be combined"),
        (lambda: FUNCTION * np.inf, "scaled by a finite number only; got inf"),
        (
            lambda: Dice().on_counts(10**5, 10**5).table,
            r"counts \(100000, 100000\) has 1e\+10 cells.* Use a loss",
        ),
    ],
)
def test_constructors_and_methods_say_what_is_wrong(use, message):
    with pytest.raises(ValueError, match=message):
        use()


def test_only_set_functions_add_and_only_numbers_scale():
    for use in (lambda: FUNCTION + 1, lambda: FUNCTION - 1, lambda: FUNCTION * "2", lambda: FUNCTION * FUNCTION):
        with pytest.raises(TypeError):
            use()


# ---------------------------------------------------------------- no elements, overflow, fractions


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("use", [lambda huge: huge * 1e300, lambda huge: huge * 1e8 + huge * 1e8])
def test_values_stay_finite_under_scaling_and_addition(use):
    with pytest.raises(ValueError, match="finite"):
        use(SetFunction.symmetric([0, 1e300]))


@pytest.mark.parametrize("A", [{0, 2}, frozenset({2, 0}), [1, 0, 1, 0], (1, 0, 1, 0)])
def test_a_set_is_named_by_its_elements_or_by_a_mask(A):
    function = SetFunction.from_values(np.arange(16.0))
    assert function(A) == function([True, False, True, False]) == 10
    assert function(set()) == 0
    np.testing.assert_array_equal(function([[1, 0, 1, 0], [0, 0, 0, 1]]), [10, 1])
