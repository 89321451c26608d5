"""Proofs, "The best set of k elements": top k wins for losses that never fall, and need not for others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decisions.judge import AllSets
from setloss.losses import Dice, Jaccard, from_counts, from_set_function
from setloss.setfunctions.set_function import SetFunction

models = st.integers(2, 5).flatmap(
    lambda p: st.tuples(
        st.lists(st.floats(-4, 4), min_size=p, max_size=p), st.lists(st.floats(-4, 4), min_size=p + 1, max_size=p + 1)
    )
)


def rising(seed):
    """A random loss that increases in false negatives and in false positives, different for every size."""
    generator = np.random.default_rng(seed)
    steps = generator.random((6, 6, 6)) * (generator.random((6, 6, 6)) < 0.5)
    tables = np.cumsum(np.cumsum(steps, axis=1), axis=2)
    return from_counts(lambda fn, fp, m, n: tables[m, fn, fp] - tables[m, 0, 0])


@pytest.mark.parametrize(
    "loss", [Dice(), Jaccard(), rising(0), rising(1)], ids=["dice", "jaccard", "first", "second"]
)
@given(model=models)
def test_the_largest_scores_are_the_best_set_of_their_size(loss, model):
    scores, counts = np.sort(model[0])[::-1], model[1]
    truth = AllSets(scores, counts)
    costs = truth.all_expected(loss)
    for k in range(len(scores) + 1):
        first = truth.expected(loss, np.arange(len(scores)) < k)
        assert first <= costs[truth.sizes == k].min() + 1e-12


def test_a_loss_that_falls_can_prefer_the_smaller_score():
    truth = AllSets([50.0, 1.0, 0.0], [-np.inf, -np.inf, 0.0])
    loss = from_set_function(SetFunction.symmetric([0.0, 1.0, 1.0, 0.0]))
    assert truth.expected(loss, [1, 0, 0]) == pytest.approx(1)
    assert truth.expected(loss, [0, 0, 1]) == pytest.approx(1 / (1 + np.e))
