"""The plug-in rule against enumeration of all predictions and all label sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from setloss.reproduction.label_sets.plug_in import best_expected_sets, expected_scores, sums_of_prefixes

probability_rows = st.integers(1, 6).flatmap(
    lambda p: st.lists(
        st.sampled_from([0.0, 0.01, 0.2, 0.35, 0.5, 0.5, 0.8, 1.0]) | st.floats(0, 1), min_size=p, max_size=p
    )
)


def score(criterion, truth, said):
    """F1 or Jaccard by the sets themselves; empty against empty is 1."""
    truth, said = set(np.flatnonzero(truth)), set(np.flatnonzero(said))
    if not truth | said:
        return 1.0
    both = len(truth & said)
    return 2 * both / (len(truth) + len(said)) if criterion == "f1" else both / len(truth | said)


def expected(criterion, chances, said):
    """The sum over all 2^p label sets."""
    total = 0.0
    for truth in itertools.product([0, 1], repeat=len(chances)):
        weight = np.prod([c if y else 1 - c for c, y in zip(chances, truth, strict=True)])
        total += weight * score(criterion, truth, said)
    return total


@pytest.mark.parametrize("criterion", ["f1", "jaccard"])
@given(chances=probability_rows)
def test_no_prediction_is_expected_to_do_better(criterion, chances):
    said = best_expected_sets(np.array([chances]), criterion)[0]
    best = max(expected(criterion, chances, other) for other in itertools.product([0, 1], repeat=len(chances)))
    assert expected(criterion, chances, said) == pytest.approx(best, abs=1e-12)


def test_eight_labels_by_enumeration():
    chances = np.random.default_rng(0).uniform(size=8) ** 2
    said = best_expected_sets(chances[None])[0]
    best = max(expected("f1", chances, other) for other in itertools.product([0, 1], repeat=8))
    assert expected("f1", chances, said) == pytest.approx(best, abs=1e-12)


@given(chances=probability_rows)
def test_the_expected_score_of_every_prefix_is_the_sum_over_all_label_sets(chances):
    found = expected_scores(np.array([chances]))[0]
    for k, value in enumerate(found):
        assert value == pytest.approx(expected("f1", chances, np.arange(len(chances)) < k), abs=1e-12)


def test_sums_of_equal_chances_are_binomial():
    found = sums_of_prefixes(np.full((1, 30), 0.3))
    np.testing.assert_allclose(found[30][0], binom.pmf(np.arange(31), 30, 0.3), atol=1e-14)


def test_a_label_below_one_half_can_be_worth_predicting():
    # Nothing predicted scores 0.4 * 0.55, the first label alone 0.6 (0.55 + 0.45 * 2/3), and both together
    # 0.6 * 0.55 * 2/3 + 0.4 * 0.45 * 2/3 + 0.6 * 0.45 in the mean.
    np.testing.assert_allclose(expected_scores(np.array([[0.6, 0.45]])), [[0.22, 0.51, 0.61]])
    np.testing.assert_array_equal(best_expected_sets(np.array([[0.6, 0.45]])), [[True, True]])


def test_nothing_is_predicted_where_nothing_is_likely():
    assert not best_expected_sets(np.array([[0.1, 0.05, 0.2]])).any()


def test_every_example_is_on_its_own():
    chances = np.random.default_rng(1).uniform(size=(20, 5))
    together = best_expected_sets(chances)
    for row, said in zip(chances, together, strict=True):
        np.testing.assert_array_equal(best_expected_sets(row[None])[0], said)
