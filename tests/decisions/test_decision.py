"""Decisions against the comparison of all sets under all label sets."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.judge import AllSets, certain
from setloss.decisions import decide as decide_any
from setloss.decisions import expected_losses, expected_losses_of
from setloss.decisions.pixels import decide_pixels
from setloss.losses import (
    CostCurve,
    Dice,
    FBeta,
    Hamming,
    Jaccard,
    Tversky,
    from_counts,
    from_set_function,
    loss_named,
)
from setloss.setfunctions.set_function import SetFunction

decide = partial(decide_any, scores="log-odds")

RISING = {
    "dice": Dice(),
    "dice that scores 0/0 as 0": Dice(zero_division=0.0),
    "jaccard": Jaccard(zero_division=0.5),
    "tversky": Tversky(0.3, 0.9),
    "f2": FBeta(2.0),
    "precision": FBeta(0.0, zero_division=0.0),
    "recall": Tversky(0.0, 1.0),
    "hamming": Hamming(False, 0.3, 1.7),
    "curve": CostCurve(((0, 0), (0.3, 0), (1, 1))),
    "0/1": from_counts(lambda fn, fp, m, n: (fn + fp > 0) * 1.0),
    "cells": from_counts(lambda fn, fp, m, n: fn**2 + 0.5 * fp),
}
FALLING = {
    "curve 4": loss_named("curve4"),
    "falling cells": from_counts(lambda fn, fp, m, n: np.abs(fn - fp) * 1.0 + (fn == 0) * fp),
}
models = certain | certain.map(lambda model: (model[0], None))


def judged(scores, counts, loss):
    truth = AllSets(scores, counts)
    costs, found = truth.all_expected(loss), decide([scores], loss, counts=counts)
    assert found.expected_loss[0] == pytest.approx(costs.min(), rel=1e-9, abs=1e-12)
    assert truth.expected(loss, found.sets[0]) == pytest.approx(costs.min(), rel=1e-9, abs=1e-12)
    assert found.sizes[0] == found.sets[0].sum()


@pytest.mark.parametrize("name", [*RISING, *FALLING])
@given(model=models)
@settings(max_examples=40)
def test_no_set_is_expected_to_cost_less(name, model):
    judged(*model, (RISING | FALLING)[name])


@pytest.mark.parametrize("curve", [[0, 1, 1, 2.5, 3], [0, 2, 1, 2, 0.5]])
def test_set_functions_of_the_number_of_mistakes(curve):
    loss = from_set_function(SetFunction.symmetric(curve))
    judged([0.3, -0.2, 1.0, 0.1], [0.1, 0.5, -0.3, 0.0, 1.0], loss)


def test_set_functions_that_tell_elements_apart_compare_all_sets():
    generator = np.random.default_rng(1)
    table = generator.random(16)
    table[0] = 0
    judged(generator.normal(size=4), generator.normal(size=4), from_set_function(SetFunction.from_values(table)))


@given(models)
@settings(max_examples=40)
def test_expected_losses_of_the_largest_scores(model):
    scores, counts = np.sort(model[0])[::-1], model[1]
    truth = AllSets(scores, counts)
    expected = [truth.expected(Jaccard(), np.arange(len(scores)) < k) for k in range(len(scores) + 1)]
    np.testing.assert_allclose(expected_losses([scores], Jaccard(), counts=counts)[0], expected, atol=1e-11)


def test_of_equal_sets_the_smallest_and_of_equal_scores_the_first():
    assert decide([[0.0, 0.0, 0.0]], Hamming()).sizes[0] == 0
    assert decide([[0.0, 0.0]], loss_named("curve4")).sizes[0] == 0
    found = decide([[0.0, 0.0, 0.0]], Dice(), counts=[-np.inf, 0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(found.sets, [[True, True, True]])
    one = decide([[0.0, 0.0, 0.0]], RISING["0/1"], counts=[-np.inf, 0.0])
    np.testing.assert_array_equal(one.sets, [[True, False, False]])


def test_bags_are_decided_each_on_its_own():
    generator = np.random.default_rng(2)
    sizes = np.array([3, 1, 4, 3])
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    scores, each = generator.normal(size=11), [generator.normal(size=p + 1) for p in sizes]
    for counts in (None, np.concatenate(each)):
        found = decide(scores, "jaccard", counts=counts, bags=offsets)
        for i, (start, end) in enumerate(itertools.pairwise(offsets)):
            alone = decide([scores[start:end]], "jaccard", counts=None if counts is None else each[i])
            np.testing.assert_array_equal(found.sets[start:end], alone.sets[0])
            assert (found.expected_loss[i], found.sizes[i]) == (alone.expected_loss[0], alone.sizes[0])


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


def test_no_examples():
    found = decide(np.zeros((0, 3)), "f1")
    assert found.sets.shape == (0, 3)
    assert found.expected_loss.shape == found.sizes.shape == (0,)


def test_refusals():
    with pytest.raises(ValueError, match=r"12 mistakes cost 0\.72.*comparing all sets, for up to 16"):
        decide(np.zeros((1, 17)), loss_named("curve4"))
    with pytest.raises(ValueError, match="with 0 positives among 17 elements, 0 false negatives and 1 false"):
        decide(np.zeros((1, 17)), from_counts(lambda fn, fp, m, n: (fp == 1) * 1.0))
    groups = from_set_function(SetFunction.from_table(np.add.outer(range(9), range(10))))
    with pytest.raises(ValueError, match="depends on which elements are wrong"):
        decide(np.zeros((1, 17)), groups)
    with pytest.raises(ValueError, match="the limit is"):
        decide(np.zeros((1, 260)), RISING["cells"])
    with pytest.raises(ValueError, match="there is no loss"):
        decide(np.zeros((1, 2)), "f7")


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


# ---------------------------------------------------------------- what scores are


def test_probabilities_are_told_from_log_odds():
    p = np.array([[0.9, 0.2, 0.4], [0.1, 0.6, 0.0]])
    for values in (p, p.tolist(), np.zeros((2, 3))):
        with pytest.raises(ValueError, match='scores="probabilities"'):
            decide_any(values, "f1")
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log1p(-p)
    np.testing.assert_array_equal(decide_any(p, "f1", scores="probabilities").sets, decide_any(log_odds, "f1").sets)
    assert decide_any(p, "f1", scores="log-odds").sizes.tolist() == [3, 3]
    with pytest.raises(ValueError, match="not probabilities"):
        decide_any(2 * p, "f1", scores="probabilities")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1j, 2.0]], "real numbers"),
        ([["a", "b"]], "real numbers"),
        ([[None, 1.0]], "NaN|real numbers"),
        (np.ma.masked_array([[1.0, -2.0]], mask=[[True, False]]), "masked"),
        ([[np.nan, 1.0]], "NaN"),
        ([[1.0, 2.0], [3.0]], "real numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "real numbers"),
    ],
)
def test_what_is_no_score_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        decide_any(values, "f1")
    with pytest.raises(ValueError, match="scores is one of"):
        decide_any([[1.0, -2.0]], "f1", scores="logits")


@pytest.mark.parametrize(
    ("sets", "words"), [(np.ma.masked_array([[1, 0]], [[1, 0]]), "masked"), ([[2, 0]], "value 2")]
)
def test_what_is_no_set_is_refused(sets, words):
    with pytest.raises(ValueError, match=words):
        expected_losses_of(sets, [[1.0, -2.0]], "f1")
    with pytest.raises(ValueError, match="mask is a masked array"):
        decide_pixels([1.0, -2.0], mask=np.ma.masked_array([1, 1], [0, 1]))


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("loss", ["f1", "hamming", "jaccard"])
def test_a_hundred_thousand_independent_elements(loss):
    scores = np.random.default_rng(0).normal(-2, 1.5, size=(1, 100_000))
    found = decide(scores, loss)
    few = decide(scores[:, :1000], loss)
    assert found.expected_loss[0] == pytest.approx(few.expected_loss[0], abs=0.03)
    assert found.sizes[0] == pytest.approx(100 * few.sizes[0], rel=0.15)


def test_ten_thousand_elements_with_counts():
    p = 10_000
    scores = np.random.default_rng(0).normal(-2, 1.5, size=(1, p))
    assert decide(scores, "f1", counts=np.ones(p + 1)).sizes == decide(scores, "f1").sizes


@pytest.mark.parametrize("loss", [Tversky(0.3, 0.9), RISING["curve"]], ids=repr)
def test_what_needs_too_large_a_table_is_refused_before_it_is_made(loss):
    with pytest.raises(ValueError, match=r"need a table of .* the limit is"):
        decide(np.full((1, 100_000), -1.0), loss)


def test_of_sets_that_differ_by_a_rounding_error_the_smallest():
    loss = Tversky(0.0, 0.0, zero_division=0.5)
    assert decide([[0.0, 20.0, 0.0, -20.0, 20.0]], loss).sizes[0] == 2
    assert decide([[-20.0, -80.0, 20.0, 40.0]], loss, counts=[-np.inf, 3.0, 3.0]).sizes[0] == 1


@given(model=models, data=st.data())
@settings(max_examples=60)
def test_expected_losses_of_given_sets(model, data):
    scores, counts = model
    chosen = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    for loss in (Dice(), Jaccard(), RISING["cells"]):
        expected = AllSets(scores, counts).expected(loss, chosen)
        found = expected_losses_of([chosen], [scores], loss, counts=counts)[0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
