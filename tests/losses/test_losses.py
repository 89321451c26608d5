"""Losses against scikit-learn's metrics, against sets, and against loops over bags."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, fbeta_score, hamming_loss, jaccard_score

from helpers import reference
from helpers.reference import masks
from helpers.strategies import lists_of
from setloss import (
    CostCurve,
    Dice,
    FBeta,
    Hamming,
    Jaccard,
    SetFunction,
    Tversky,
    decompose,
    from_counts,
    from_set_function,
    loss_named,
)
from setloss.losses import PAPER_CURVES, loss_of

LOSSES = [
    Dice(),
    Jaccard(),
    Tversky(0.3, 1.7),
    FBeta(2.0),
    FBeta(0.5),
    Hamming(),
    Hamming(normalize=False, false_negative_weight=2.0, false_positive_weight=0.5),
    CostCurve([(0, 0), (0.5, 1), (1, 0.25)]),
    from_counts(lambda n, q, m, r: n * q + n / (m + 1)),
    from_counts(lambda n, q, m, r: max(n, q) ** 2),
]
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def labels(p):
    return lists_of(st.booleans(), p).map(np.array)


PAIRS = st.integers(1, 8).flatmap(lambda p: st.tuples(labels(p), labels(p)))


# ---------------------------------------------------------------- scikit-learn


SCORES = [(Dice, f1_score), (Jaccard, jaccard_score)]
SCORES += [(partial(FBeta, beta), partial(fbeta_score, beta=beta)) for beta in (0.25, 0.5, 1.0, 2.0, 3.0)]


@given(PAIRS)
def test_losses_are_one_minus_the_scores_of_scikit_learn_and_its_hamming_loss(case):
    truth, predicted = case
    for loss, score in SCORES:
        assert loss()(truth, predicted) == pytest.approx(1 - score(truth, predicted, zero_division=1.0), abs=1e-15)
    assert Hamming()(truth, predicted) == pytest.approx(hamming_loss(truth, predicted), abs=1e-15)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_zero_division_is_the_score_where_it_reads_zero_over_zero_and_matters_only_there(zero_division):
    nothing = np.zeros(3, dtype=int)
    for loss, score in SCORES:
        expected = 1 - score(nothing, nothing, zero_division=zero_division)
        assert loss(zero_division=zero_division)(nothing, nothing) == expected
    for y, predicted in (([1, 0], [0, 0]), ([0, 0], [0, 1])):
        assert Dice(zero_division)(y, predicted) == 1
    assert Dice(zero_division=0.25)(nothing, nothing) == 0.75


# ---------------------------------------------------------------- sets


@given(
    PAIRS,
    st.sampled_from([(0.5, 0.5), (1.0, 1.0), (0.25, 2.0), (0.0, 0.5), (1.0, 0.0), (0.0, 0.0)]),
)
def test_tversky_compares_two_sets_of_positives(case, weights):
    truth, predicted = case
    positives, guessed = set(np.flatnonzero(truth)), set(np.flatnonzero(predicted))
    exact = reference.tversky_loss(positives, guessed, *weights)
    assert Tversky(*weights)(truth, predicted) == pytest.approx(float(exact), abs=1e-15)


@losses
@given(truth=st.integers(1, 6).flatmap(labels))
def test_the_set_function_is_the_loss_of_a_flipped_label_vector(loss, truth):
    function = loss.set_function(truth)
    mistakes = masks(len(truth))
    expected = loss(np.broadcast_to(truth, mistakes.shape), truth ^ mistakes)
    np.testing.assert_allclose(function(mistakes), expected, rtol=1e-14, atol=1e-15)


@losses
def test_on_counts_puts_the_positives_first_and_a_form_is_a_loss_again(loss):
    expected = loss.set_function([1, 1, 1, 0, 0])
    assert loss.on_counts(3, 2) == expected
    if loss.form is not None:
        assert loss_of(loss.form).on_counts(3, 2) == expected


@losses
def test_on_a_large_example_gains_are_differences(loss):
    y = np.random.default_rng(0).random(50) < 0.4
    function, order = loss.set_function(y), np.random.default_rng(1).permutation(50)
    values = function.along(order)
    np.testing.assert_allclose(function.gains(order), np.diff(values), atol=1e-13 * max(values))


# ---------------------------------------------------------------- arrays and bags


def random_labels(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(shape) < 0.5, rng.random(shape) < 0.5


@losses
def test_rows_are_examples(loss):
    truth, predicted = random_labels(12, 5)
    values = loss(truth, predicted)
    assert values.shape == (12,)
    assert values.tolist() == [loss(t, g) for t, g in zip(truth, predicted, strict=True)]
    assert isinstance(loss(truth[0], predicted[0]), float)


@losses
@given(ids=st.lists(st.sampled_from("dacb"), min_size=1, max_size=12))
def test_bags_are_examples_in_sorted_order_of_their_ids(loss, ids):
    truth, predicted = random_labels(len(ids), seed=len(ids))
    ids = np.array(ids)
    expected = [loss(truth[ids == name], predicted[ids == name]) for name in sorted(set(ids))]
    assert loss(truth, predicted, groups=ids).tolist() == pytest.approx(expected, rel=1e-15)


def test_no_bags_have_no_values():
    assert Dice()([], [], groups=[]).shape == (0,)


def test_a_fixed_set_function_is_a_loss_of_sets_of_its_size():
    loss = from_set_function(SetFunction.from_table([[0, 1, 2], [3, 4, 7]], [1, 0, 1]))
    assert loss([1, 0, 1], [0, 1, 1]) == 4
    assert loss([[1, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0]]).tolist() == [7, 0]
    bags = loss([1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1], groups=[0, 1, 0, 1, 0, 1])
    assert bags.tolist() == [1, 1]
    assert loss.set_function([1, 0, 0]) is loss.function
    kinds = loss.distinct_counts(np.array([0, 1, 3]), np.array([3, 2, 0]))
    assert len(np.unique(kinds, axis=0)) == 1  # one set function, decomposed once


# ---------------------------------------------------------------- label alphabets


ALPHABETS = {
    "bool": lambda truth: truth,
    "0/1 int": lambda truth: truth.astype(np.int64),
    "0/1 float32": lambda truth: truth.astype(np.float32),
    "-1/+1 int": lambda truth: 2 * truth.astype(np.int64) - 1,
    "-1/+1 float": lambda truth: 2.0 * truth - 1.0,
}


@pytest.mark.parametrize("left", ALPHABETS)
@pytest.mark.parametrize("right", ALPHABETS)
def test_every_alphabet_says_the_same(left, right):
    truth, predicted = random_labels(9)
    spelled = ALPHABETS[left](truth)
    assert Dice()(spelled, ALPHABETS[right](predicted)) == Dice()(truth, predicted)
    assert Dice().set_function(spelled) == Dice().set_function(truth)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], r"y_true must hold labels in \{0, 1\}, \{-1, \+1\} or bool; it contains the value 2"),
        ([0, 1, -1], "it contains both 0 and -1"),
        ([0.0, 1.0, np.nan], "it contains the value nan"),
        ([0.5, 1.0, 0.0], "it contains the value 0.5"),
        (["a", "b", "c"], "or bool; got dtype <U1"),
        (np.array([0, 1, None]), "or bool; got dtype object"),
        (np.zeros((1, 1, 3)), r"y_true must have 1 or 2 axes; got shape \(1, 1, 3\)"),
        (1, r"y_true must have 1 or 2 axes; got shape \(\)"),
    ],
)
def test_strange_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Dice()(y, [0, 1, 1])


def test_sparse_labels_are_refused_by_name():
    y = csr_array(np.eye(3, dtype=int))
    with pytest.raises(ValueError, match=r"sparse.*toarray"):
        Dice()(y, y)


# ---------------------------------------------------------------- errors


FIXED = from_set_function(SetFunction.symmetric([0, 1, 2]))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Dice()([0, 1], [0, 1, 1]), r"y_true has shape \(2,\), y_pred has shape \(3,\)"),
        (lambda: Dice()([[0, 1]], [[0, 1]], groups=[0, 0]), r"the labels are flat.* got shape \(1, 2\)"),
        (lambda: Dice()([0, 1], [0, 1], groups=[0]), "the bags hold 1 elements, the array has 2"),
        (lambda: Dice()([0, 1], [0, 1], groups=[[0, 0]]), r"one bag id per element; got shape \(1, 2\)"),
        (lambda: Dice()([0, 1], [0, 1], groups=[0, np.nan]), "element 1 is missing"),
        (lambda: Dice().set_function([[0, 1]]), r"y_true must have 1 axes; got shape \(1, 2\)"),
        (lambda: Dice(zero_division=0).set_function([0, 0]), r"zero_division=0\) costs 1 .* needs l\(empty\) = 0"),
        (lambda: Dice(zero_division=0.5).set_function([0, 0]), "costs 0.5 .* Train with zero_division=1"),
        (lambda: Dice(zero_division=2), "zero_division is a score, a number from 0 to 1; got 2"),
        (lambda: Dice("x"), "zero_division .* got 'x'"),
        (lambda: Tversky(alpha=-1), "the weight of a false positive must be a number >= 0; got -1"),
        (lambda: Tversky("a"), "the weight of a false positive .* got 'a'"),
        (lambda: Tversky(beta=np.inf), "the weight of a false negative must be a number >= 0; got inf"),
        (lambda: Tversky(1, [1, 2]), "the weight of a false negative .* got "),
        (lambda: FBeta(np.nan), "beta of F-beta must be a number from 0 to 1e6; got nan"),
        (lambda: FBeta(1e200), "beta of F-beta .* got 1e"),
        (lambda: FBeta(None), "beta of F-beta .* got None"),
        (lambda: FBeta(True), "beta of F-beta .* got True"),
        (lambda: Hamming(false_negative_weight=-2), "the class weights must be numbers >= 0; got -2"),
        (lambda: Hamming(True, "1"), "the class weights .* got '1'"),
        (lambda: Hamming("no"), "normalize is True or False; got 'no'"),
        (lambda: Dice().on_counts("a", 2), "positives and negatives are whole numbers .* 'a'"),
        (lambda: Dice().on_counts(2.5, 2), "positives and negatives are whole numbers .* 2.5"),
        (lambda: FIXED.distinct_counts(np.array([2, 2]), np.array([0, 1])), "for sets of 2 elements; got one of 3"),
        (lambda: FIXED.set_function([0, 1, 1]), "this loss is for sets of 2 elements; .* 3"),
        (lambda: FIXED([0, 1, 1], [0, 0, 0], groups=[0, 0, 0]), "for sets of 2 elements; got one of 3"),
        (lambda: loss_named("dyce"), "there is no loss 'dyce'; the names are dice, f1, jaccard"),
        (lambda: loss_named(3), "no loss 3"),
        (lambda: from_counts(3), "from_counts takes a callable"),
        (lambda: from_counts(lambda fn, fp: fn), r"from_counts takes .*positives.*\(fn, fp\)"),
        (lambda: from_counts(lambda n, q, m, r: -n).on_counts(2, 3).table, "1 false negatives of 2 .* is -1"),
        (lambda: from_counts(lambda n, q, m, r: np.full(n.shape, np.nan))([1], [0]), "finite and non-negative"),
        (lambda: from_counts(lambda n, q, m, r: n + 1).on_counts(1, 1), r"l\(empty\) must be 0"),
    ],
)
def test_a_loss_says_what_is_wrong(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use()


@pytest.mark.parametrize(
    ("knots", "message"),
    [
        ([(0, 0), (0.5, 1)], r"must climb from 0 to 1; got \[0\.0, 0\.5\]"),
        ([(0.1, 0), (1, 1)], "must climb from 0 to 1"),
        ([(0, 0), (0.5, 1), (0.5, 2), (1, 1)], "must climb from 0 to 1"),
        ([], "must climb from 0 to 1"),
        ([(0, 1), (1, 1)], r"l\(empty\) must be 0: the curve starts at cost 1"),
        ([(0, 0), (np.nan, 1), (1, 1)], "must climb from 0 to 1"),
        ([(0, 0), (1, -1)], "the cost at share 1 is -1.0; costs are finite and non-negative"),
        ([(0, 0), (1, np.nan)], "the cost at share 1 is nan"),
        ([(0, 0, 0), (1, 1, 1)], "knots are pairs"),
        (3, "knots are pairs"),
    ],
)
def test_senseless_knots_are_refused(knots, message):
    with pytest.raises(ValueError, match=message):
        CostCurve(knots)


# ---------------------------------------------------------------- cost curves


def test_a_cost_curve_interpolates_between_its_knots():
    curve = CostCurve([(0, 0), (0.2, 0), (1, 1)])
    np.testing.assert_allclose(curve.on_counts(10, 0).table, np.maximum(0, np.arange(11) - 2) / 8, atol=1e-16)
    assert curve([1, 0, 0, 0, 1], [0, 0, 1, 0, 1]) == pytest.approx(0.25)


@pytest.mark.parametrize("p", [1, 7, 10, 12, 3000])
@pytest.mark.parametrize("name", PAPER_CURVES)
def test_the_steps_of_a_cost_curve_are_the_differences_of_its_values_and_straight_pieces_have_no_curvature(name, p):
    function = PAPER_CURVES[name].on_counts(p, 0)
    order = np.arange(p)
    steps = function.gains(order)
    np.testing.assert_allclose(steps, np.diff(function.along(order)), rtol=0, atol=1e-15)
    assert np.count_nonzero(np.diff(steps)) <= 2 * (len(PAPER_CURVES[name].knots) - 2)


def test_losses_are_hashable_values():
    assert CostCurve([[0, 0], [1, 1]]) == CostCurve(((0, 0), (1, 1)))
    assert len({Dice(), Dice(), Jaccard(), Tversky(), FBeta(2), CostCurve([(0, 0), (1, 1)])}) == 5
    assert loss_named("F1") == Dice()


def test_a_knot_on_a_whole_number_of_mistakes_is_met_exactly():
    """0.6 as a float is below 18 / 30, so that exact arithmetic has a cost of 4e-16 there, where 0 is meant."""
    curve = CostCurve([(0, 0), (0.16, 0), (0.57, 0), (0.6, 0), (0.71, 2), (0.84, 1), (1, 1)]).on_counts(30, 0)
    assert not curve.counts.border(0)[1][:18].any()
    steep = CostCurve([(0, 0), (0.5, 1), (0.6, 0), (0.61, 0), (1, 0)]).on_counts(30, 0)
    assert not steep.counts.border(0)[1][18:].any()
    assert decompose(curve).certificate.holds
