"""Decisions from samples, judged by all sets of up to six elements."""

import numpy as np
import pytest

from helpers.reference import masks
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, from_counts, from_set_function
from setloss.decisions import decide_samples


def mean_losses(sets, draws, loss):
    """Written out: the mean loss of every set."""
    return np.array([np.mean([float(loss(y, one)) for y in draws]) for one in sets])


EXACT = [Dice(), FBeta(2.0), FBeta(0.5, zero_division=0.0), Hamming(), Hamming(True, 3.0, 1.0)]


@pytest.mark.parametrize("loss", EXACT)
@pytest.mark.parametrize("p", [1, 3, 6])
def test_no_set_has_a_lower_mean_loss(loss, p):
    generator = np.random.default_rng(p)
    for _ in range(15):
        draws = generator.random((1, 7, p)) < generator.random((1, 1, p))
        found = decide_samples(draws.astype(int), loss)
        every = mean_losses(masks(p), draws[0], loss)
        own = mean_losses(found.sets, draws[0], loss)[0]
        assert found.exact
        assert own == pytest.approx(every.min(), abs=1e-12)
        assert found.expected_loss[0] == pytest.approx(own, abs=1e-12)
        best = masks(p)[every <= every.min() + 1e-12]
        if not isinstance(loss, Hamming):
            assert found.sizes[0] == best.sum(axis=1).min()


LOSSES = [Jaccard(), CostCurve([(0, 0), (0.1, 1), (1, 1)]), from_counts(lambda n, q, m, r: (n + 2 * q) / (m + r))]


@pytest.mark.parametrize("loss", LOSSES)
def test_other_losses_take_the_best_of_samples_and_prefixes(loss):
    generator = np.random.default_rng(5)
    for _ in range(15):
        draws = generator.random((1, 9, 5)) < 0.4
        found = decide_samples(draws, loss)
        order = np.argsort(-draws[0].mean(axis=0), kind="stable")
        prefixes = [np.isin(np.arange(5), order[:k]) for k in range(6)]
        every = mean_losses([*draws[0], *prefixes], draws[0], loss)
        assert not found.exact
        assert found.expected_loss[0] == pytest.approx(every.min(), abs=1e-12)
        assert mean_losses(found.sets, draws[0], loss)[0] == pytest.approx(every.min(), abs=1e-12)


def test_a_loss_of_which_elements_are_wrong():
    loss = from_set_function(SetFunction.from_values([0, 1, 3, 3.5, 1, 2, 3, 4]))
    draws = masks(3)[None, [1, 3, 3, 6]]
    found = decide_samples(draws, loss)
    assert found.expected_loss[0] == pytest.approx(mean_losses(found.sets, draws[0], loss)[0])


def test_sets_of_names():
    answers = [[{"cat"}, {"cat", "dog"}, ["cat", "dog"], {"bird"}], [set(), set(), {"dog"}]]
    found = decide_samples(answers, "f1")
    assert found.names == ("bird", "cat", "dog")
    assert found.named_sets == [{"cat", "dog"}, set()]
    table = [[[name in draw for name in found.names] for draw in example] for example in answers]
    assert found.expected_loss[1] == pytest.approx(1 / 3)
    np.testing.assert_array_equal(found.sets[:1], decide_samples(np.array(table[:1]), "f1").sets)
    twice = decide_samples([[*answers[0], *5 * [{"bird"}]]], "f1")
    assert twice.named_sets == [{"bird"}]


def test_of_equal_sets_the_smallest_and_of_no_elements_none():
    assert decide_samples([[[1, 0, 0], [0, 1, 1]]], "jaccard").sizes.tolist() == [1]
    nothing = decide_samples([[set(), set()]], "f1")
    assert (nothing.sets.shape, nothing.expected_loss.tolist(), nothing.exact) == ((1, 0), [0.0], True)
    assert decide_samples(np.zeros((0, 3, 2)), "f1").sets.shape == (0, 2)


@pytest.mark.parametrize(
    ("samples", "word"),
    [
        ([[{"a"}], []], "example 1"),
        (np.zeros((2, 3)), "axes"),
        (np.full((1, 2, 2), 2), "samples"),
        ([[["cat", "dog"], "cat"]], "string 'cat'"),
    ],
)
def test_refusals(samples, word):
    with pytest.raises(ValueError, match=word):
        decide_samples(samples, "f1")
