"""The count model against the list of all label sets and, for more elements, against mpmath."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.judge import AllSets, certain, models
from setloss.bags import Bags
from setloss.decisions import CountModel


@given(models() | certain)
@settings(max_examples=300)
def test_sums_agree_with_the_list_of_all_sets(model):
    scores, counts = model
    model, truth = CountModel([scores], counts), AllSets(scores, counts)
    digits = 1e-15 * (np.abs(scores).sum() + np.abs(np.where(np.isinf(counts), 0, counts)).max())
    assert model.log_partition[0] == pytest.approx(truth.log_partition, rel=1e-13, abs=1e-12 + digits)
    np.testing.assert_allclose(model.marginals[0], truth.marginals, atol=1e-11)
    np.testing.assert_allclose(model.count_probabilities[0], truth.size_chances(len(counts)), atol=1e-11)


@given(certain, st.data())
@settings(max_examples=200)
def test_the_likelihood_sums_unknown_labels_out(model, data):
    scores, counts = model
    p = len(scores)
    y = data.draw(st.lists(st.integers(0, 1), min_size=p, max_size=p))
    known = data.draw(st.lists(st.booleans(), min_size=p, max_size=p))
    labels = np.where(y, 1.0, data.draw(st.sampled_from([0.0, -1.0])))
    seen = np.where(known, labels, data.draw(st.sampled_from([np.nan, -1.0, 0.0, 9.0])))
    found = CountModel([scores], counts).log_likelihood([seen], [known])[0]
    expected = AllSets(scores, counts).log_chance(y, known)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(models(largest=5), st.data())
def test_gradients_are_those_of_finite_differences(model, data):
    scores, counts = np.array(model[0]), np.where(np.isinf(model[1]), -3.0, model[1])
    p = len(scores)
    known = np.array(data.draw(st.lists(st.booleans(), min_size=p, max_size=p)))
    y = np.arange(p) < data.draw(st.integers(0, min(p, len(counts) - 1)))
    found = CountModel([scores], counts).likelihood([y], [known])

    def value(s, u):
        return CountModel([s], u).log_likelihood([y], [known])[0]

    step = 1e-4
    for i, unit in enumerate(np.eye(p) * step):
        slope = (value(scores + unit, counts) - value(scores - unit, counts)) / (2 * step)
        assert found.scores[0, i] == pytest.approx(slope, abs=1e-8)
    for k, unit in enumerate(np.eye(len(counts)) * step):
        slope = (value(scores, counts + unit) - value(scores, counts - unit)) / (2 * step)
        assert found.counts[0, k] == pytest.approx(slope, abs=1e-8)


def test_a_batch_is_its_examples_and_potentials_may_differ():
    generator = np.random.default_rng(0)
    scores, counts = generator.normal(size=(7, 4)), generator.normal(size=(7, 3))
    y = np.arange(4) < generator.integers(0, 3, size=(7, 1))
    known = generator.random((7, 4)) < 0.6
    together = CountModel(scores, counts).likelihood(y, known)
    for i in range(7):
        alone = CountModel(scores[[i]], counts[i]).likelihood(y[[i]], known[[i]])
        for name in ("values", "scores", "counts"):
            np.testing.assert_allclose(getattr(together, name)[i], getattr(alone, name)[0], atol=1e-14)


def test_bags_of_different_sizes_in_any_order():
    generator = np.random.default_rng(1)
    groups = generator.permutation(np.repeat([0, 1, 2, 3], [3, 1, 3, 5]))
    bags = Bags.from_groups(groups)
    scores, y = generator.normal(size=12), generator.random(12) < 0.5
    each = [generator.normal(size=p + 1) for p in bags.sizes]
    model = CountModel(scores, np.concatenate(each), bags)
    found = model.likelihood(y)
    ends = np.concatenate(([0], np.cumsum(bags.sizes + 1)))
    for i, u in enumerate(each):
        alone = CountModel([scores[groups == i]], u)
        expected = alone.likelihood([y[groups == i]])
        assert found.values[i] == pytest.approx(expected.values[0])
        np.testing.assert_allclose(found.scores[groups == i], expected.scores[0], atol=1e-14)
        np.testing.assert_allclose(found.counts[ends[i] : ends[i + 1]], expected.counts[0], atol=1e-14)


def test_elementary_symmetric_polynomials_to_fifty_digits():
    generator = np.random.default_rng(2)
    scores, counts = generator.normal(0, 40, size=60), generator.normal(0, 200, size=13)
    with mpmath.workdps(60):
        e = [mpmath.mpf(1)] + [mpmath.mpf(0)] * 12
        for s in scores:
            x = mpmath.exp(mpmath.mpf(float(s)))
            e = [e[0]] + [e[k] + x * e[k - 1] for k in range(1, 13)]
        weights = [mpmath.exp(mpmath.mpf(float(u))) * value for u, value in zip(counts, e, strict=True)]
        total = sum(weights)
        log_partition, chances = float(mpmath.log(total)), [float(w / total) for w in weights]
    model = CountModel([scores], counts)
    assert model.log_partition[0] == pytest.approx(log_partition, rel=1e-14)
    np.testing.assert_allclose(model.count_probabilities[0], chances, rtol=1e-10, atol=1e-29)


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_ten_thousand_elements_and_large_scores(size):
    scores = size * np.random.default_rng(3).normal(size=10_000)
    model = CountModel([scores], np.zeros(51))
    assert np.isfinite(model.log_partition).all()
    assert model.count_probabilities.sum() == pytest.approx(1)
    assert model.marginals.sum() == pytest.approx(model.count_probabilities[0] @ np.arange(51))


def test_many_unlikely_sets_together_are_not_negligible():
    """Each of the sets of 1,000 is e^-1300 times as likely as the empty one, but there are e^1382 of them."""
    counts = np.full(1001, -np.inf)
    counts[[0, 1000]] = 0.0, -1300.0
    assert CountModel(np.zeros((1, 2000)), counts).count_probabilities[0, 1000] == pytest.approx(1)


def test_refusals():
    for scores, counts, words in [
        ([[np.nan, 0.0]], None, r"the one at \(0, 0\) is NaN"),
        ([0.0, 1.0], None, r"must be \(examples, elements\)"),
        ([[0.0, 1.0]], [0.0] * 4, "K at most 2"),
        ([[0.0, 1.0]], [0.0, np.inf], "the largest of row 0 of counts is inf; .* none certain"),
        ([[0.0, 1.0]], [0.0, 1j], "counts must be real numbers"),
        ([[0.0, 1.0]], "ab", "counts must be real numbers"),
        ([[0.0, 1.0]], np.ma.masked_array([0.0, 1.0], [0, 1]), "counts is a masked array"),
        ([[0.0, 1.0]], [-np.inf] * 2, "the largest of row 0 of counts is -inf; one number must be possible"),
    ]:
        with pytest.raises(ValueError, match=words):
            CountModel(scores, counts)
    for counts in (np.zeros(3), [np.zeros(3), np.zeros(4)]):
        with pytest.raises(ValueError, match=r"counts of bags are flat, .* 7 in all|counts must be real numbers"):
            CountModel(np.zeros(5), counts, [0, 2, 5])
    with pytest.raises(ValueError, match="the bags hold 5 elements"):
        CountModel(np.zeros(4), None, [0, 2, 5])
    with pytest.raises(ValueError, match=r"that scores rule out .* up to 2e\+04 apart"):
        CountModel([[0.0, 1.0], [1e4, -1e4]], [0.0, -np.inf, 0.0]).marginals  # noqa: B018
    model = CountModel([[0.0, 1.0]], [0.0, 0.0])
    assert model.log_likelihood([[1, 1]])[0] == -np.inf
    two = CountModel([[0.0, 1.0]], [-np.inf, -np.inf, 0.0])
    assert two.log_likelihood([[0, 0]], [[True, False]])[0] == -np.inf
    with pytest.raises(ValueError, match="y has shape"):
        model.log_likelihood([[1, 1, 0]], [[True, True, True]])


def test_no_examples_have_as_many_columns_as_any():
    model = CountModel(np.empty((0, 3)), np.zeros(4))
    assert model.count_probabilities.shape == (0, 4)
    assert model.likelihood(np.empty((0, 3), dtype=int)).counts.shape == (0, 4)
