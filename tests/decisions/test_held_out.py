"""Thinned bags; parts; folds."""

import numpy as np
import pytest

from helpers.held_out import held_out
from setloss.bags import Bags
from setloss.decisions.held_out import HeldOut, mean_loss, numbered_folds, thinned
from setloss.losses import Dice, Hamming


def test_thinned_bags_keep_short_ones_and_the_spread_of_long_ones():
    sizes = [3, 1000, 1]
    bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(sizes))))
    scores = np.random.default_rng(0).normal(size=1004)
    elements, short = thinned(scores, bags, 10)
    assert short.sizes.tolist() == [3, 10, 1]
    assert sorted(elements[:3]) == [0, 1, 2]
    assert elements[-1] == 1003
    ranks = np.argsort(np.argsort(-scores[3:1003]))[elements[3:13] - 3]
    assert ranks.tolist() == [50, 150, 250, 350, 450, 550, 650, 750, 850, 950]


def test_samples_and_parts():
    data = held_out(True)
    assert len(data.sample(5)) == 5
    assert data.sample(12) is data
    here = data.folds == data.folds[0]
    np.testing.assert_array_equal(data.part(here).weights, data.weights[here])
    np.testing.assert_array_equal(data.without(data.folds[0]).weights, np.where(here, 0, data.weights))


def test_losses_are_those_on_known_labels():
    generator = np.random.default_rng(0)
    truth, known, chosen = generator.random((3, 20, 5)) < 0.5
    data = HeldOut(np.zeros((20, 5)), truth, known, np.ones(20), np.zeros(20, dtype=np.intp))
    for loss in (Dice(), Hamming(normalize=False)):
        expected = [float(loss(truth[i, known[i]], chosen[i, known[i]])) for i in range(20) if known[i].any()]
        assert data.losses(chosen, loss)[known.any(axis=1)] == pytest.approx(expected)


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_mean_losses_by_hand(average):
    data = held_out(False)
    chosen = data.scores > 0
    loss, each = Dice(), data.weights[:, None] * data.known
    if average == "samples":
        rows = [loss(data.truth[i, known], chosen[i, known]) for i, known in enumerate(data.known)]
        expected = np.average(rows, weights=data.weights)
    else:
        flags = data.truth & ~chosen, ~data.truth & chosen, data.truth, ~data.truth
        tallies = [(each * flag).sum(axis=0 if average == "macro" else None) for flag in flags]
        expected = np.mean(loss.value(*tallies))
    assert mean_loss(data, chosen, loss, average) == pytest.approx(expected)


def test_numbers_of_folds():
    rows = np.arange(7)
    splits = [(rows[3:], rows[:3]), (rows[:3], rows[3:6])]
    assert numbered_folds(splits, 7).tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert len(set(numbered_folds(splits[:1], 7)[:3])) > 1
    assert set(numbered_folds(None, 20)) == set(range(5))
