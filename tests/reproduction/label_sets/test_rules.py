"""Rules from scores to label sets: what they learn is the best there is, by trying everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from setloss.reproduction.criteria import of_examples, worth
from setloss.reproduction.label_sets.rules import PlugIn, Sign, ThresholdRule, TopKRule

some_scores = arrays(
    float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0])
)


@pytest.mark.parametrize("criterion", ["f1", "jaccard"])
@given(scores=some_scores, seed=st.integers(0, 99))
def test_no_threshold_does_better_than_the_learned_one(criterion, scores, seed):
    truth = np.random.default_rng(seed).random(scores.shape) < 0.4
    rule = ThresholdRule().learned(scores, truth, criterion)
    values = [of_examples(criterion, truth, scores > t).mean() for t in (-3, -1.5, -0.5, 0.25, 1.5, 4)]
    assert of_examples(criterion, truth, rule.predict(scores)).mean() == pytest.approx(max(values))


def test_of_equal_thresholds_the_one_nearest_to_zero_is_learned():
    scores = np.array([[3.0, 0.5, -0.5, -3.0]])
    assert ThresholdRule().learned(scores, scores > 0, "f1").value == 0.0


@given(scores=some_scores, seed=st.integers(0, 99))
def test_no_k_does_better_than_the_learned_one(scores, seed):
    truth = np.random.default_rng(seed).random(scores.shape) < 0.4
    rule = TopKRule().learned(scores, truth, "f1")
    values = [of_examples("f1", truth, TopKRule(k).predict(scores)).mean() for k in range(scores.shape[1] + 1)]
    assert of_examples("f1", truth, rule.predict(scores)).mean() == pytest.approx(max(values))


def test_top_k_takes_k_labels_of_every_example_even_among_equals():
    scores = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(TopKRule(2).predict(scores).sum(axis=1), [2, 2])


def test_a_score_of_zero_predicts_no():
    np.testing.assert_array_equal(Sign().predict(np.array([[0.0, 1e-9, -1.0]])), [[False, True, False]])


def test_the_plug_in_rule_follows_the_criterion_it_is_chosen_by():
    assert PlugIn().learned(np.zeros((1, 1)), np.zeros((1, 1), bool), "jaccard") == PlugIn("jaccard")


def test_an_unknown_criterion_is_named():
    with pytest.raises(ValueError, match="no criterion 'accuracy'; the names are f1, jaccard"):
        worth("accuracy", 1, 1, 1)
