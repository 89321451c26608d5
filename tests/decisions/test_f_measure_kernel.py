"""Fast searches for F-measures and Jaccard against the general one, which never subtracts."""

import numpy as np
import pytest

from decisions.judge import decide
from setloss.decisions import expected_losses
from setloss.losses import Dice, FBeta, Jaccard, Tversky


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("mean", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("strength", [None, 0.0, 0.3, 3.0])
def test_f_measures_by_hits_are_those_of_the_search_that_never_subtracts(beta, mean, strength):
    generator = np.random.default_rng(4)
    scores = generator.normal(mean, 1.5, size=(6, 43))
    counts = None if strength is None else -strength * np.abs(np.arange(21.0) - 9)
    costs = expected_losses(scores, FBeta(beta), counts=counts)
    found = decide(scores, FBeta(beta), counts=counts)
    np.testing.assert_allclose(found.expected_loss, costs.min(axis=1), atol=1e-13)
    np.testing.assert_array_equal(found.sizes, costs.argmin(axis=1))


def test_potentials_far_from_the_scores_are_not_lost_to_subtraction():
    # Scores near 0 expect 20 positives, the potentials insist on 2 or 38: division by a factor loses all digits.
    scores = np.random.default_rng(5).normal(0, 0.1, size=(3, 40))
    counts = np.full(41, -np.inf)
    counts[[2, 38]] = [60.0, 60.0]
    costs = expected_losses(scores, "f1", counts=counts)
    found = decide(scores, "f1", counts=counts)
    np.testing.assert_allclose(found.expected_loss, costs.min(axis=1), atol=1e-13)
    np.testing.assert_allclose(
        found.expected_loss, decide(scores + 1, "f1", counts=counts - np.arange(41)).expected_loss
    )


@pytest.mark.parametrize("loss", [Dice(), Dice(zero_division=0.0), Jaccard(), Tversky(1.0, 0.3)], ids=repr)
@pytest.mark.parametrize("mean", [-3.0, -0.3, 0.0, 2.0])
def test_independent_elements_have_short_cuts_that_change_nothing(loss, mean):
    """Equal potentials say the same as none, and are decided by the general search."""
    generator = np.random.default_rng(3)
    scores = generator.normal(mean, 1.5, (12, 45))
    scores[0], scores[1, :20], scores[2, :9] = 0.0, 1e-7, [-np.inf] * 5 + [np.inf] * 4
    scores[3], scores[4] = -800.0, np.inf
    fast, slow = decide(scores, loss), decide(scores, loss, counts=np.ones(46))
    np.testing.assert_allclose(fast.expected_loss, slow.expected_loss, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fast.sets, slow.sets)


@pytest.mark.parametrize("loss", ["f1", "hamming", "jaccard"])
def test_a_hundred_thousand_independent_elements(loss):
    scores = np.random.default_rng(0).normal(-2, 1.5, size=(1, 100_000))
    found = decide(scores, loss)
    few = decide(scores[:, :1000], loss)
    assert found.expected_loss[0] == pytest.approx(few.expected_loss[0], abs=0.03)
    assert found.sizes[0] == pytest.approx(100 * few.sizes[0], rel=0.15)
