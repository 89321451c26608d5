"""Rules from scores to label sets: what they learn is the best there is, by trying everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from experiments.label_sets.chosen import learned_rule
from experiments.metrics import of_examples
from setloss import decide, loss_named

some_scores = arrays(
    float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0])
)


def mean_score(name, scores, truth, criterion):
    loss = loss_named(criterion)
    rule = learned_rule(name, scores, truth, loss)
    return of_examples(criterion, truth, rule.sets(scores, loss)).mean()


@pytest.mark.parametrize("criterion", ["f1", "jaccard"])
@given(scores=some_scores, seed=st.integers(0, 99))
def test_no_threshold_does_better_than_the_learned_one(criterion, scores, seed):
    truth = np.random.default_rng(seed).random(scores.shape) < 0.4
    values = [of_examples(criterion, truth, scores > t).mean() for t in (-3, -1.5, -0.5, 0.25, 1.5, 4)]
    assert mean_score("threshold", scores, truth, criterion) == pytest.approx(max(values))


@given(scores=some_scores, seed=st.integers(0, 99))
def test_no_k_does_better_than_the_learned_one(scores, seed):
    truth = np.random.default_rng(seed).random(scores.shape) < 0.4
    place = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    values = [of_examples("f1", truth, place < k).mean() for k in range(scores.shape[1] + 1)]
    assert mean_score("top-k", scores, truth, "f1") == pytest.approx(max(values))


def test_a_score_of_zero_predicts_no():
    scores = np.array([[0.0, 1e-9, -1.0]])
    sets = learned_rule("sign", scores, scores > 0, loss_named("f1")).sets(scores, loss_named("f1"))
    np.testing.assert_array_equal(sets, [[False, True, False]])


@pytest.mark.parametrize("criterion", ["f1", "jaccard"])
def test_the_plug_in_rule_takes_scores_as_log_odds_and_follows_the_criterion(criterion):
    scores, loss = np.random.default_rng(0).normal(size=(20, 5)), loss_named(criterion)
    sets = learned_rule("plug-in", scores, scores > 0, loss).sets(scores, loss)
    np.testing.assert_array_equal(sets, decide(scores, loss).sets)
