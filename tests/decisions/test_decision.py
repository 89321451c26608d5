"""Decisions against the comparison of all sets under all label sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.judge import AllSets, certain, decide
from setloss.decisions import expected_losses, expected_losses_of
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


def test_a_loss_that_falls_can_prefer_the_smaller_scores():
    loss = from_set_function(SetFunction.symmetric([0.0, 1.0, 1.0, 0.0]))
    judged([50.0, 1.0, 0.0], [-np.inf, -np.inf, 0.0], loss)
    assert decide([[50.0, 1.0, 0.0]], loss, counts=[-np.inf, -np.inf, 0.0]).sets.tolist() == [[False, False, True]]


def test_set_functions_that_tell_elements_apart_compare_all_sets():
    generator = np.random.default_rng(1)
    table = generator.random(16)
    table[0] = 0
    judged(generator.normal(size=4), generator.normal(size=4), from_set_function(SetFunction.from_values(table)))


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


def test_no_examples():
    found = decide(np.zeros((0, 3)), "f1")
    assert found.sets.shape == (0, 3)
    assert found.expected_loss.shape == found.sizes.shape == (0,)


@pytest.mark.parametrize(
    ("sets", "words"), [(np.ma.masked_array([[1, 0]], [[1, 0]]), "masked"), ([[2, 0]], "value 2")]
)
def test_what_is_no_set_is_refused(sets, words):
    with pytest.raises(ValueError, match=words):
        expected_losses_of(sets, [[1.0, -2.0]], "f1")


def test_of_sets_that_differ_by_a_rounding_error_the_smallest():
    loss = Tversky(0.0, 0.0, zero_division=0.5)
    assert decide([[0.0, 20.0, 0.0, -20.0, 20.0]], loss).sizes[0] == 2
    assert decide([[-20.0, -80.0, 20.0, 40.0]], loss, counts=[-np.inf, 3.0, 3.0]).sizes[0] == 1


def rising(seed):
    """A random loss that increases in false negatives and in false positives, different for every size."""
    generator = np.random.default_rng(seed)
    steps = generator.random((6, 6, 6)) * (generator.random((6, 6, 6)) < 0.5)
    tables = np.cumsum(np.cumsum(steps, axis=1), axis=2)
    return from_counts(lambda fn, fp, m, n: tables[m, fn, fp] - tables[m, 0, 0])


@pytest.mark.parametrize("loss", [Dice(), Jaccard(), rising(0), rising(1)], ids=["dice", "jaccard", "a", "b"])
@given(model=models)
@settings(max_examples=40)
def test_the_largest_scores_are_the_best_set_of_their_size(loss, model):
    """Proofs, "The best set of k elements"."""
    scores, truth = np.sort(model[0])[::-1], AllSets(np.sort(model[0])[::-1], model[1])
    costs = truth.all_expected(loss)
    least = [costs[truth.sizes == k].min() for k in range(len(scores) + 1)]
    np.testing.assert_allclose(expected_losses([scores], loss, counts=model[1])[0], least, atol=1e-11)


@given(model=models, data=st.data())
@settings(max_examples=60)
def test_expected_losses_of_given_sets(model, data):
    scores, counts = model
    chosen = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    for loss in (Dice(), Jaccard(), RISING["cells"]):
        expected = AllSets(scores, counts).expected(loss, chosen)
        found = expected_losses_of([chosen], [scores], loss, counts=counts)[0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_ten_thousand_elements_with_counts():
    p = 10_000
    scores = np.random.default_rng(0).normal(-2, 1.5, size=(1, p))
    assert decide(scores, "f1", counts=np.ones(p + 1)).sizes == decide(scores, "f1").sizes


@pytest.mark.parametrize("loss", [Tversky(0.3, 0.9), CostCurve(((0, 0), (0.3, 0), (1, 1)))], ids=repr)
def test_what_needs_too_large_a_table_is_refused_before_it_is_made(loss):
    with pytest.raises(ValueError, match=r"need a table of .* the limit is"):
        decide(np.full((1, 100_000), -1.0), loss)
