"""Metrics against scikit-learn's, and ranks by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score, hamming_loss, jaccard_score

from experiments.metrics import average_ranks, judge

shapes = st.tuples(st.integers(1, 8), st.integers(2, 5))


@given(pair=shapes.flatmap(lambda s: st.tuples(*[arrays(np.int8, s, elements=st.integers(0, 1))] * 2)))
def test_all_metrics_are_scikit_learns(pair):
    truth, said = pair
    found = judge(truth, said).means
    assert found["example_f1"] == pytest.approx(f1_score(truth, said, average="samples", zero_division=1))
    jaccard = [jaccard_score(y, z, zero_division=1) for y, z in zip(truth, said, strict=True)]
    assert found["example_jaccard"] == pytest.approx(np.mean(jaccard))
    assert found["hamming"] == pytest.approx(hamming_loss(truth, said))
    assert found["micro_f1"] == pytest.approx(f1_score(truth, said, average="micro", zero_division=1))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, said, average="macro", zero_division=1))


def test_an_empty_set_predicted_empty_counts_one():
    found = judge(np.zeros((1, 3), np.int8), np.zeros((1, 3), np.int8)).means
    assert [found[name] for name in ("example_f1", "example_jaccard", "micro_f1", "macro_f1")] == [1, 1, 1, 1]


def test_equal_results_share_the_mean_of_their_ranks():
    results = {"one": {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, "two": {"a": 0.2, "b": 0.8, "c": 0.1, "d": 0.2}}
    # one: a 1, b and c (2 + 3) / 2, d 4; two: b 1, a and d (2 + 3) / 2, c 4
    assert average_ranks(results) == {"a": 1.75, "b": 1.75, "c": 3.25, "d": 3.25}


def test_ranks_of_a_loss_are_from_below():
    assert average_ranks({"one": {"a": 0.1, "b": 0.2}}, lower_is_better=True) == {"a": 1.0, "b": 2.0}


def test_ranks_need_every_method_on_every_data_set():
    with pytest.raises(ValueError, match="same methods on every data set"):
        average_ranks({"one": {"a": 1.0}, "two": {"b": 1.0}})
