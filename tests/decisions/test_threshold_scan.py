"""Thresholds by the scan against all cuts one by one."""

import numpy as np
import pytest

from helpers.held_out import complete, held_out
from setloss.decisions import threshold_scan
from setloss.decisions.threshold_scan import (
    column_thresholds,
    threshold_of_column,
    thresholds_without,
)
from setloss.losses import Dice, Hamming


@pytest.mark.parametrize("in_bags", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_cut_has_less_loss(in_bags, seed):
    data = held_out(in_bags, seed)
    cuts = np.unique(data.scores)
    costs = [data.weights @ data.losses(data.scores > cut, Dice()) for cut in (cuts[0] - 1, *cuts)]
    found = thresholds_without(data, Dice())[0]
    assert data.weights @ data.losses(data.scores > found, Dice()) == pytest.approx(min(costs))


def test_one_threshold_for_all_labels_judges_them_as_one_set():
    data = held_out(False)
    each, truth = data.weights[:, None] * data.known, data.truth

    def cost(cut):
        said = data.scores > cut
        flags = truth & ~said, ~truth & said, truth, ~truth
        return Dice().value(*(np.sum(each * flag) for flag in flags))

    found = column_thresholds(data, np.zeros((12, 4)), Dice(), "micro")
    assert cost(found) == pytest.approx(min(cost(cut) for cut in (*np.ravel(data.scores), -9.0)))
    assert len(set(found)) == 1


def test_many_scores_are_cut_between_some_of_them(monkeypatch):
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(300, 5))
    truth = generator.random(scores.shape) < 1 / (1 + np.exp(1 - scores))
    data = complete(scores, truth)
    exact = thresholds_without(data, Dice(), [-1, 2])
    assert exact[1] == pytest.approx(thresholds_without(data.part(data.folds != 2), Dice())[0], abs=0.01)
    monkeypatch.setattr(threshold_scan, "MOST_PLACES", 200)
    losses = [data.losses(scores > cut, Dice()).mean() for cut in (exact[0], thresholds_without(data, Dice())[0])]
    assert losses[1] == pytest.approx(losses[0], abs=0.01)


def test_of_equal_thresholds_the_one_nearest_to_0_is_taken():
    scores, truth = np.array([[4.0, 1.0, -1.0, -5.0]]), np.array([[True, False, True, False]])
    assert thresholds_without(complete(scores, truth), Hamming())[0] == 2.5  # one mistake, as at -3


def test_the_cut_of_a_rare_label_follows_the_chances():
    """One positive with the score 2.9: by itself it would take its six neighbours along, chances want more of it."""
    scores = np.linspace(3, -3, 200)[:, None]
    truth = (np.arange(200) == 5)[:, None]
    data = complete(scores, truth)
    assert np.sum(scores > threshold_of_column(scores[:, 0], truth[:, 0], data.weights, Dice())) == 6
    chances = np.where(scores > 2, 0.9, 0.01)
    assert np.sum(scores > column_thresholds(data, chances, Dice(), "macro")) == np.sum(scores > 2)


def test_chances_of_a_positive_are_those_given_that_there_is_one():
    """The best cut over all outcomes; with the chance that none is positive left in, nothing would be taken."""
    scores, chances = np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.2, 0.1])
    cut = threshold_of_column(scores, chances, np.ones(3), Dice(), absent=np.prod(1 - chances))
    outcomes = np.array(list(np.ndindex(2, 2, 2)))
    weights = np.where(outcomes, chances, 1 - chances).prod(axis=1)
    costs = [weights @ Dice()(outcomes, np.tile(np.arange(3) < k, (8, 1))) for k in range(4)]
    assert costs[np.sum(scores > cut)] <= min(costs) + 0.02
    assert costs[0] > min(costs) + 0.05


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_the_cut_of_a_rare_label_is_best_for_samples_of_the_chances(zero_division):
    """All cuts on 2,000 drawn columns; some have no positive, which F1 = 1 pays for if it is left alone."""
    generator, loss = np.random.default_rng(0), Dice(zero_division=zero_division)
    scores = np.sort(generator.normal(size=30))[::-1]
    truth = np.arange(30) == 12  # with one positive, ten parts of eleven are the chances
    for peak, alone in ((0.3, True), (0.95, False)):
        chances = np.where(np.arange(30) < 2, peak, 0.02)
        (cut,) = column_thresholds(complete(scores[:, None], truth[:, None]), chances[:, None], loss, "macro")
        drawn = generator.random((2000, 30)) < (10 * chances + truth) / 11
        positives = drawn.sum(axis=1)

        def cost(k, drawn=drawn, positives=positives):
            hits = drawn[:, :k].sum(axis=1)
            return np.mean(loss.value(positives - hits, k - hits, positives, 30 - positives))

        assert cost(np.sum(scores > cut)) <= min(cost(k) for k in range(31)) + 0.02
        assert np.isinf(cut) == (alone and zero_division == 1)
