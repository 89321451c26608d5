"""Features: text and dates by name, scales, memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.estimator_data import label_data
from setloss.estimators import SetClassifier
from setloss.estimators.features import FeatureScaleWarning, column_scales

X, Y = label_data(40, d=3)


def test_a_column_of_text_or_of_dates_is_named_with_what_to_do():
    table = pytest.importorskip("pandas").DataFrame(X, columns=["tempo", "energy", "length"])
    dated = table.assign(day=np.datetime64("2020-01-01") + np.arange(40))
    texts = table.assign(genre=np.where(np.arange(40) % 2, "rock", "jazz"))
    for frame, words in ((texts, "'genre' .*text"), (dated, "'day' .*dates"), (dated[["day"]], "'day' .*dates")):
        with pytest.raises(ValueError, match=f"column {words}.*Leave it out"):
            SetClassifier().fit(frame, Y)


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
def test_scales_are_those_of_the_definition(form):
    """In sparse data what is not stored does not count."""
    X = np.random.default_rng(0).normal(size=(5000, 3)) + 1e3
    if form is csr_array:
        X[::2, 1] = 0
    expected = np.sqrt((X**2).sum(axis=0) / (X != 0).sum(axis=0)) if form is csr_array else X.std(axis=0)
    np.testing.assert_allclose(column_scales(form(X)), expected, rtol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: pytest.importorskip("pandas").DataFrame(X)])
def test_features_that_differ_by_orders_of_magnitude_are_named_at_once(form):
    with pytest.warns(FeatureScaleWarning, match=r"column 1 varies by .*StandardScaler\(\), SetClassifier"):
        SetClassifier(C=1e-6).fit(form(X * (1.0, 1e4, 1.0)), Y)


def test_checks_and_elements_of_a_fit_copy_no_features():
    """At 10^6 frames x 50 copies of X were .4 GB each."""
    X = np.random.default_rng(0).normal(size=(20_000, 100))
    y, groups = X[:, 0] > 0, np.arange(20_000) // 10
    model = SetClassifier(tol=0.5, solver="cutting_plane").fit(X[:200], y[:200], groups=groups[:200])
    tracemalloc.start()
    try:
        model.fit(X, y, groups=groups)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
