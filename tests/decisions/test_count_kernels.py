"""Sums over label sets against mpmath, and at sizes where that is not possible."""

import mpmath
import numpy as np
import pytest

from setloss.decisions import CountModel


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
