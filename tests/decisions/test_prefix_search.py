"""The expected losses of the k largest scores, and sizes of tables."""

import numpy as np
import pytest
from hypothesis import given, settings

from decisions.judge import AllSets, certain
from setloss.decisions import decide, expected_losses
from setloss.losses import CostCurve, Jaccard, Tversky


@given(certain)
@settings(max_examples=40)
def test_expected_losses_of_the_largest_scores(model):
    scores, counts = np.sort(model[0])[::-1], model[1]
    truth = AllSets(scores, counts)
    expected = [truth.expected(Jaccard(), np.arange(len(scores)) < k) for k in range(len(scores) + 1)]
    np.testing.assert_allclose(expected_losses([scores], Jaccard(), counts=counts)[0], expected, atol=1e-11)


def test_ten_thousand_elements_with_counts():
    p = 10_000
    scores = np.random.default_rng(0).normal(-2, 1.5, size=(1, p))
    assert decide(scores, "f1", counts=np.ones(p + 1)).sizes == decide(scores, "f1").sizes


@pytest.mark.parametrize("loss", [Tversky(0.3, 0.9), CostCurve(((0, 0), (0.3, 0), (1, 1)))], ids=repr)
def test_what_needs_too_large_a_table_is_refused_before_it_is_made(loss):
    with pytest.raises(ValueError, match=r"need a table of .* the limit is"):
        decide(np.full((1, 100_000), -1.0), loss)
