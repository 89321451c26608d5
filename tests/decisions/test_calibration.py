"""Calibrations: chunks, long bags, losses that fall; sets that models are fitted to."""

import numpy as np
import pytest

from setloss.bags import Bags
from setloss.decisions import calibration as module
from setloss.decisions import decide, expected_losses_of
from setloss.decisions.calibration import BagPotentials, Calibration, LabelPotentials
from setloss.decisions.held_out import HeldOut
from setloss.losses import Dice, loss_named

LABELS = Calibration(1.5, np.linspace(-1, 0, 5), np.array([-1.0, 1.0, 0.5, 0.0]), LabelPotentials(3))
FRAMES = Calibration(0.7, np.array([0.2]), np.array([1.0, 2.0, -1.0, -2.0, 0.01]), BagPotentials())


def test_chunks_change_nothing(monkeypatch):
    scores = np.random.default_rng(0).normal(size=(23, 5))
    sets = scores > 0.3

    def answers():
        found = LABELS.decide(scores, Dice())
        return found.sets, found.expected_loss, LABELS.marginals(scores), LABELS.expected_losses(sets, scores, Dice())

    whole = answers()
    np.testing.assert_array_equal(whole[0], decide(LABELS.log_odds(scores), Dice(), counts=LABELS.counts()).sets)
    monkeypatch.setattr(module, "CHUNK", 20)
    for one, other in zip(answers(), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_bags_that_are_not_long_are_decided_exactly():
    generator = np.random.default_rng(1)
    bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(generator.integers(1, 9, size=15)))))
    scores = generator.normal(size=bags.elements)
    counts = FRAMES.counts(bags)
    best = decide(FRAMES.log_odds(scores), Dice(), counts=counts, bags=bags)
    found = FRAMES.decide(scores, Dice(), bags)
    np.testing.assert_array_equal(found.sets, best.sets)
    np.testing.assert_allclose(found.expected_loss, best.expected_loss)
    given = expected_losses_of(scores > 0, FRAMES.log_odds(scores), Dice(), counts=counts, bags=bags)
    np.testing.assert_allclose(FRAMES.expected_losses(scores > 0, scores, Dice(), bags), given, rtol=1e-9)


def test_long_bags_are_decided_nearly_as_all_their_frames_would_be(monkeypatch):
    plain = Calibration(1.0, np.array([0.0]), np.zeros(5), BagPotentials())
    scores = np.random.default_rng(2).normal(-1, 1.5, size=2000)
    bags = Bags.from_offsets([0, 1200, 2000])
    short = plain.decide(scores, Dice(), bags), plain.marginals(scores, bags)
    monkeypatch.setattr(module, "LONGEST", 10_000)
    whole = plain.decide(scores, Dice(), bags), plain.marginals(scores, bags)
    np.testing.assert_allclose(short[0].sizes, whole[0].sizes, rtol=0.03)
    np.testing.assert_allclose(short[0].expected_loss, whole[0].expected_loss, atol=0.01)
    np.testing.assert_allclose(short[1], whole[1], atol=0.02)


def test_independent_labels_need_no_count_model():
    plain = Calibration(1.5, np.linspace(-1, 0, 5))
    scores = np.random.default_rng(4).normal(size=(6, 5))
    truth, known = scores > 0.2, scores < 1
    data = HeldOut(scores, truth, known, np.linspace(1, 2, 6), np.zeros(6, dtype=np.intp))
    np.testing.assert_allclose(plain.marginals(scores), plain.model(scores).marginals)
    expected = plain.model(scores).log_likelihood(truth, known)
    np.testing.assert_allclose(plain.log_likelihoods(data), expected)


def test_losses_that_fall_are_decided_among_the_largest_scores():
    scores = np.random.default_rng(3).normal(size=40)
    found = FRAMES.decide(scores, loss_named("curve4"), Bags.from_offsets([0, 3, 40]))
    order = np.argsort(-scores[3:])
    assert np.all(np.diff(found.sets[3:][order].astype(int)) <= 0)


@pytest.mark.parametrize(("seen", "labels", "most"), [([0, 1, 2], 9, 4), ([0, 2], 3, 3), ([20, 40], 99, 50)])
def test_somewhat_larger_sets_than_seen_are_possible(seen, labels, most):
    assert LabelPotentials.seen(np.array(seen), labels).most == most


@pytest.mark.parametrize("p", [1, 2, 5])
def test_statistics_of_bags(p):
    table = BagPotentials().statistics(p)
    assert table.shape == (p + 1, 5)
    assert table[0].tolist() == [1, 0, 0, 0, 0]
    assert table[p, 1] == 1
