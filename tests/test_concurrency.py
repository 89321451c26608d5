"""Threads and processes: the same numbers however many there are."""

import multiprocessing
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from helpers.estimator_data import label_data
from helpers.fits_in_processes import MODELS, coefficients
from setloss.estimators import SetClassifier


@pytest.fixture(scope="module")
def serial():
    return [coefficients(*model) for model in MODELS]


@pytest.mark.parametrize("solver", ["frank_wolfe", "cutting_plane", "n_slack"])
def test_fits_do_not_depend_on_the_threads_of_blas(solver):
    """To the last bit, but for n_slack: its program is of a size that BLAS shares out, and sums in another order."""
    X, Y = label_data(80, 60, 4)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(SetClassifier(solver=solver, max_iter=3, tol=1e-9, C=0.05).fit(X, Y).coef_)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9 if solver == "n_slack" else 0)


def test_fits_in_threads_are_those_in_a_row(serial):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda model: coefficients(*model), MODELS * 2))
    np.testing.assert_array_equal(found, serial * 2)


@pytest.mark.parametrize(("method", "processes"), [("fork", 2), ("spawn", 1)])
def test_fits_in_processes_are_those_in_a_row(serial, method, processes):
    """With fork the children come after the parent has used its kernels and threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork, where threads exist
        with multiprocessing.get_context(method).Pool(processes) as pool:
            found = pool.starmap(coefficients, MODELS[:4])
    np.testing.assert_array_equal(found, serial[:4])
