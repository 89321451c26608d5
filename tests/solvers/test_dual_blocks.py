"""Gram matrices of bags against their definition, by a product of matrices and by the kernel."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from setloss.losses import PAPER_CURVES
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem
from setloss.solvers import dual_blocks as module

STARTS = np.array([0, 3, 4, 9])
SIZES = np.diff(STARTS)


def problem_of(X, rows, tasks):
    labels = np.repeat([1, 0, 1], SIZES)
    surrogate = batch_surrogate(PAPER_CURVES["curve1"], labels, STARTS, "bd")
    signs = np.where(labels == 1, 1.0, -1.0)
    return Problem(Design.of(X, constant=0.5), surrogate, signs, rows, tasks, np.ones(3), n_tasks=2)


@pytest.mark.parametrize("worth_a_call", [0, 75, np.inf], ids=["products", "large ones as products", "kernel"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["side by side", "shuffled"])
def test_all_ways_give_the_definition(monkeypatch, worth_a_call, sparse, shuffled):
    monkeypatch.setattr(module, "WORTH_A_CALL", worth_a_call)
    generator = np.random.default_rng(0)
    X = generator.normal(size=(9, 3))
    rows = generator.permutation(9) if shuffled else np.arange(9)
    tasks = generator.integers(0, 2, 9) if shuffled else np.zeros(9, dtype=np.int64)
    problem = problem_of(csr_array(X) if sparse else X, rows, tasks)
    starts = np.concatenate(([0], np.cumsum(SIZES**2)))
    grams = np.full(starts[-1], np.nan)
    module.write_some_grams(problem, np.arange(3), starts, grams)
    wide = np.column_stack([X, np.full(9, 0.5)])[rows] * problem.signs[:, None]
    expected = np.where(tasks[:, None] == tasks, wide @ wide.T, 0.0)
    for i, (lo, hi) in enumerate(pairwise(STARTS)):
        found = grams[starts[i] : starts[i + 1]].reshape(hi - lo, hi - lo)
        np.testing.assert_allclose(found, expected[lo:hi, lo:hi], rtol=1e-12, atol=1e-12)
