"""The study of decisions of few sets."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.few_sets", reason="the benchmarks are not beside the tests")

from benchmarks.few_sets import frames, from_rows, losses


def test_few_bags_of_one_label_are_decided_better_than_by_sign():
    sign, auto = losses(frames(lambda generator, n: (generator.random(n) < 0.4).astype(float)), 20, 0)
    assert auto < 0.5 * sign


def test_the_sign_decides_where_a_fold_has_no_positive_label():
    Y = np.zeros((30, 3), dtype=int)
    Y[np.arange(30) % 15 == 0] = 1
    X = np.random.default_rng(0).normal(size=(30, 4))
    seed = next(k for k in range(100) if from_rows(X, Y)(np.random.default_rng(k), 10)[1].any(axis=1).sum() == 1)
    sign, auto = losses(from_rows(X, Y), 10, seed)
    assert sign == auto
