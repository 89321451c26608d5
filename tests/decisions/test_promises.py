"""Promises: the p-value by enumeration, the walk by simulation, and what is said when nothing can be promised."""

import itertools

import numpy as np
import pytest

from setloss.decisions.promises import largest_loss, make_promise, p_value
from setloss.losses import Dice, Hamming, from_counts, loss_named


def draws(n, seed, curve=lambda e: e):
    """Expected losses, and losses of 0, 1/2 and 1 whose mean is a function of these."""
    generator = np.random.default_rng(seed)
    expected = generator.random(n)
    losses = (generator.random((2, n)) < curve(expected)).mean(axis=0)
    return expected, losses


@pytest.mark.parametrize("a", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("weights", [np.ones(10), np.linspace(0.1, 1, 10)])
def test_small_p_values_are_as_rare_as_they_say(a, weights):
    every = np.array(list(itertools.product([0.0, 1.0], repeat=10)))
    chances = np.prod(np.where(every == 1, a, 1 - a), axis=1)
    for delta in (0.05, 0.2):
        found = np.array([p_value(one, a, delta, weights) for one in every])
        for level in (0.02, 0.1, 0.3, 0.6):
            assert chances[found <= level].sum() <= level + 1e-12
    assert found.min() < 0.6


@pytest.mark.parametrize(
    "curve", [lambda e: e, lambda e: 0.305 + 0 * e, lambda e: np.where(e < 0.1, 0.6, 0.15 + e / 2)]
)
def test_promises_fail_as_seldom_as_they_say(curve):
    grid = (np.arange(20_000) + 0.5) / 20_000
    risk = np.cumsum(curve(grid)) / np.arange(1, len(grid) + 1)
    failed = 0
    for seed in range(300):
        limit = make_promise(*draws(250, seed, curve), at_most=0.3).limit
        failed += limit > 0 and risk[min(np.searchsorted(grid, limit), len(grid) - 1)] > 0.3
    assert failed <= 0.1 * 300 + 2 * np.sqrt(300 * 0.1 * 0.9)


def test_more_is_answered_where_less_is_promised():
    expected, losses = draws(2000, 0)
    shares = [make_promise(expected, losses, at_most=a).share for a in (0.1, 0.2, 0.3, 0.45, 0.6)]
    assert shares == sorted(shares)
    assert 0.1 < shares[0] < 0.2
    assert shares[-1] == 1
    strict = make_promise(expected, losses, at_most=0.2, confidence=0.999)
    assert 0 < strict.share < shares[1]


def test_a_bad_start_does_not_end_the_walk():
    expected, losses = draws(2000, 1)
    losses[expected <= 0.1] = 0.0
    assert make_promise(np.where(expected < 0.02, expected, expected + 0.11), losses, at_most=0.2)
    assert make_promise(1.5 * expected, losses, at_most=0.2)


def test_sets_of_equal_expected_loss_are_answered_together():
    expected, losses = draws(1000, 2)
    coarse = np.ceil(10 * expected) / 10
    found = make_promise(coarse, losses, at_most=0.25)
    answered = found.answers(coarse)
    for level in np.unique(coarse):
        assert len(np.unique(answered[coarse == level])) == 1
    assert found.share == pytest.approx(answered.mean())
    assert found.answers([found.limit]).all()
    assert found.surest == (answered.sum(), pytest.approx(losses[answered].mean()))


def test_scale_weights_and_order():
    expected, losses = draws(800, 3)
    found = make_promise(expected, losses, at_most=0.25)
    scaled = make_promise(8 * expected, 8 * losses, at_most=2.0, largest=8.0)
    assert (scaled.limit, scaled.share) == (pytest.approx(8 * found.limit), found.share)
    alike = make_promise(expected, losses, at_most=0.25, weights=np.full(800, 3.0))
    assert alike == found
    weights = np.where(losses > 0, 0.2, 1.0)
    light = make_promise(expected, losses, at_most=0.25, weights=weights)
    answered = light.answers(expected)
    assert light.limit > found.limit
    assert light.share == pytest.approx(weights[answered].sum() / weights.sum())
    without = np.concatenate([expected, expected]), np.concatenate([losses, 1 - losses])
    ignored = make_promise(*without, at_most=0.25, weights=np.repeat([1.0, 0.0], 800))
    assert (ignored.limit, ignored.sets) == (found.limit, 800)


FALLING = from_counts(lambda fn, fp, m, n: (fn + fp) * (m + n + 1.0 - fn - fp))


@pytest.mark.parametrize("loss", [Dice(), Hamming(False, 3.0, 1.0), loss_named("curve4"), FALLING])
def test_the_largest_loss_is_that_of_all_counts(loss):
    for p in (1, 3, 6):
        every = [
            float(loss.value(fn, fp, m, p - m))
            for m in range(p + 1)
            for fn in range(m + 1)
            for fp in range(p - m + 1)
        ]
        assert largest_loss(loss, [1, p]) >= largest_loss(loss, [p]) == pytest.approx(max(every))


def test_the_order_of_the_examples_does_not_matter():
    """The first half is always right, the other always wrong: betting in that order would win at first."""
    losses = np.repeat([0.0, 1.0], 500)
    for given in (losses, losses[::-1]):
        assert not make_promise(np.full(1000, 0.1), given, at_most=0.4)


def test_nothing_can_be_promised():
    few = make_promise(*draws(60, 4), at_most=0.2)
    assert (few.limit, few.share, bool(few)) == (-np.inf, 0.0, False)
    assert not few.answers([0.0, 0.5]).any()
    assert "; more sets may help" in str(few)
    hopeless = make_promise(np.linspace(0, 1, 500), np.ones(500), at_most=0.1)
    assert hopeless.surest == (50, 1.0)
    assert "the mean of the 50 that are expected to reach it is 1; a weaker promise" in str(hopeless)
    unsure = make_promise(np.linspace(0.35, 1, 60), np.full(60, 0.294), at_most=0.3, loss="f1")
    assert unsure.surest == (0, 0.35)
    assert "F1 of at least 0.7 cannot be promised" in str(unsure)
    assert "from 60 sets: none is expected to reach it, and the surest only 0.65; a weaker promise" in str(unsure)


def test_expected_losses_on_a_threshold_are_up_to_it():
    """Thresholds are multiples of a / 100; sets on one of them are tested there, and counted in what is answered."""
    losses = np.repeat([0.0, 1.0], 300)
    bad = make_promise(np.repeat([0.125, 0.25], 300), losses, at_most=0.25)
    assert (bad.share, bad.surest) == (0.5, (300, 0.0))
    good = make_promise(np.repeat([0.25, 0.2501], 300), losses, at_most=0.25)
    assert (good.limit, good.share, good.surest) == (0.25, 0.5, (300, 0.0))
    assert make_promise(np.full(300, 0.25), np.ones(300), at_most=0.25).surest == (300, 1.0)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"at_most": 0.0}, "at_most"),
        ({"at_most": 1.5}, "largest"),
        ({"confidence": 1.0}, "confidence"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [-1.0, 1.0]}, "weights"),
        ({"losses": [0.0, 1.2]}, "1.2"),
        ({"losses": [0.0, np.nan]}, "finite"),
    ],
)
def test_refusals(changed, word):
    given = {"expected": [0.1, 0.2], "losses": [0.0, 1.0], "at_most": 0.2} | changed
    with pytest.raises(ValueError, match=word):
        make_promise(**given)
