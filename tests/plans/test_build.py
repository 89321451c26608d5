"""Operators on losses: one reading for all sets where there is a formula, the same numbers and cuts as set by set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, from_counts
from setloss.operators import B_D, OPERATOR_NAMES, LovaszHinge, MarginRescaling, SlackRescaling
from setloss.operators.lovasz import hinge_like
from setloss.plans.batch import batch_surrogate
from setloss.plans.build import LossSurrogate
from setloss.plans.records import NONE, Plans, lower
from setloss.testing import check_operator

LOSSES = [Dice(), Jaccard(), Tversky(0.3, 0.7), Tversky(0.2, 1.5), FBeta(2.0), Hamming(), Hamming(False, 2.0, 0.5)]


def half_and_half(function):
    """A user's operator: the library's, of whatever it is given."""
    return 0.5 * SlackRescaling(function, 1.0) + 0.25 * hinge_like(function)


def outer(function):
    return B_D(function, positive_part="outer")


def by_size(function):
    """A user's operator that takes one set function at a time: its scale depends on the number of elements."""
    return MarginRescaling(function, 2 / function.p)


def same_records(left: Plans, right: Plans) -> None:
    """Equal fields of the parts that are there, whatever those that are not say."""
    for part in ("lovasz", "rescaled"):
        kinds = left.records[part]["kind"]
        np.testing.assert_array_equal(kinds, right.records[part]["kind"])
        for field in ("axis", "weight", "false_negative", "false_positive", "undefined", "cap"):
            there = kinds != NONE
            np.testing.assert_array_equal(left.records[part][field][there], right.records[part][field][there])
    for part, fields in (("lovasz", ["elementwise"]), ("rescaled", ["margin", "scale"])):
        there = left.records[part]["kind"] != NONE
        for field in fields:
            np.testing.assert_array_equal(left.records[field][there], right.records[field][there])


@given(
    loss=st.sampled_from(LOSSES),
    operator=st.sampled_from([*OPERATOR_NAMES, half_and_half, outer]),
    scale=st.sampled_from([2.0, 0.7, "mean"]),
    counts=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1, max_size=5),
)
def test_one_reading_of_all_sets_gives_the_numbers_of_each(loss, operator, scale, counts):
    surrogate = LossSurrogate(loss, operator, scale)
    if not surrogate.closed:
        assert operator == "lovasz"
        return
    positives, negatives = np.array(counts).T
    together = surrogate.plans(positives, negatives)
    alone = [surrogate.on_counts(m, q) for m, q in counts]
    same_records(together, lower(alone, [loss.on_counts(m, q).partition for m, q in counts]))


@pytest.mark.parametrize("operator", [by_size, half_and_half, outer, lambda function: 3 * LovaszHinge(function)])
def test_operators_of_users_have_the_cuts_of_the_set_functions(operator):
    loss, truth = Jaccard(), np.array([1, 0, 1, 1, 0, 0, 0, 1], dtype=bool)
    margins = np.random.default_rng(0).normal(size=8)
    found = batch_surrogate(loss, truth, [0, 5, 8], operator).cuts(margins)
    for i, here in enumerate((slice(0, 5), slice(5, 8))):
        expected = operator(loss.set_function(truth[here])).cut(margins[here])
        np.testing.assert_allclose(found.slopes[here], expected.slope, atol=1e-15)
        assert found.values[i] == pytest.approx(expected(margins[here]))


def hinge_and_slack(function):
    return 0.5 * SlackRescaling(function) + LovaszHinge(SetFunction.symmetric(np.sqrt(np.arange(function.p + 1))))


def slack_of_sizes(function):
    return SlackRescaling(SetFunction.symmetric(np.arange(function.p + 1.0) ** 2))


@pytest.mark.filterwarnings("ignore::setloss.plans.build.SlowSurrogateWarning")
@pytest.mark.parametrize("operator", [hinge_and_slack, slack_of_sizes])
def test_functions_over_other_groups_than_the_loss_has(operator):
    truth, margins = np.array([1, 0, 1, 1, 0], dtype=bool), np.array([0.5, -0.5, -1.0, 0.2, 0.1])
    found = batch_surrogate(Dice(), truth, [0, 5], operator).cuts(margins)
    expected = operator(Dice().set_function(truth)).cut(margins)
    np.testing.assert_allclose(found.slopes, expected.slope)
    assert found.values[0] == pytest.approx(expected(margins))


@pytest.mark.parametrize(
    ("loss", "operator"),
    [
        (CostCurve([(0, 0), (0.3, 0), (1, 1)]), "bd"),
        (from_counts(lambda n, q, m, r: n + 0.5 * q), "slack"),
        (FBeta(0.5), "bd"),
        (Dice(), "lovasz"),
        (Dice(), by_size),
    ],
    ids=["cost curve", "counts", "F-beta below 1", "Dice without D", "operator of sizes"],
)
def test_what_has_no_formula_is_read_set_by_set(loss, operator):
    assert not LossSurrogate(loss, operator).closed


EVERY = [
    *LOSSES,
    FBeta(0.5),
    CostCurve([(0, 0), (0.3, 0.2), (1, 0.9)]),
    from_counts(lambda n, q, m, r: n + 0.1 * q**2),
]


@pytest.mark.parametrize("operator", [B_D, SlackRescaling, MarginRescaling, half_and_half, outer, hinge_like])
@pytest.mark.parametrize("loss", EVERY, ids=lambda loss: type(loss).__name__)
def test_operators_commute_with_the_choice_of_a_set(loss, operator):
    check_operator(operator, loss)
