"""Elements of a problem from labels and frames; features: text and dates by name, scales, memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.estimator_data import frame_data, label_data
from setloss.bags import Bags
from setloss.estimators import SetClassifier
from setloss.estimators.elements import elements_of_groups, elements_of_labels
from setloss.estimators.features import FeatureScaleWarning, column_scales

X, Y = label_data(40, d=3)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_elements_of_labels_are_the_known_ones_of_examples_with_weight(share):
    generator = np.random.default_rng(0)
    positive, known = generator.random((2, 12, 5)) < [[[0.5]], [[1 - share]]]
    weights = np.arange(12) % 4 / 2
    known[5] = share == 0
    found = elements_of_labels(positive, known, weights)
    used = [i for i in range(12) if weights[i] > 0 and known[i].any()]
    expected = [(positive[i, j], i, j) for i in used for j in range(5) if known[i, j]]
    rows = np.repeat(found.rows, found.bags.sizes)
    tasks = found.tasks if share else np.tile(np.arange(5), len(used))
    assert list(zip(found.truth.tolist(), rows.tolist(), tasks.tolist(), strict=True)) == expected
    np.testing.assert_array_equal(found.bags.sizes, known[used].sum(axis=1))
    np.testing.assert_array_equal(found.weights, weights[used])
    np.testing.assert_array_equal(found.row_weights(12), np.where(known.any(axis=1), weights, 0))


def test_elements_of_groups_lie_bag_by_bag():
    _, y, groups = frame_data()
    order = np.random.default_rng(0).permutation(len(y))
    weights = np.where(np.arange(len(y)) % 5, 1.0, 0.0)
    weights[groups[order] == groups[0]] = 0.0
    found = elements_of_groups(y[order] == 1, Bags.from_groups(groups[order]), weights)
    weighted = np.isin(groups[order], groups[order][weights > 0])
    np.testing.assert_array_equal(np.sort(found.rows), np.flatnonzero(weighted))
    assert (weights[weighted] == 0).any()
    np.testing.assert_array_equal(found.truth, y[order][found.rows] == 1)
    for k in range(len(found.bags)):
        here = found.rows[found.bags.offsets[k] : found.bags.offsets[k + 1]]
        assert len(set(groups[order][here])) == 1
    assert found.row_weights(len(y)).sum() == pytest.approx(weights.sum())


# ---------------------------------------------------------------- features


def test_a_column_of_text_or_of_dates_is_named_with_what_to_do():
    table = pytest.importorskip("pandas").DataFrame(X, columns=["tempo", "energy", "length"])
    dated = table.assign(day=np.datetime64("2020-01-01") + np.arange(40))
    texts = table.assign(genre=np.where(np.arange(40) % 2, "rock", "jazz"))
    for frame, words in ((texts, "'genre' .*text"), (dated, "'day' .*dates"), (dated[["day"]], "'day' .*dates")):
        with pytest.raises(ValueError, match=f"column {words}.*Leave it out"):
            SetClassifier().fit(frame, Y)


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
def test_scales_are_those_of_the_definition(form):
    X = np.random.default_rng(0).normal(size=(5000, 3)) + 1e3
    expected = np.sqrt((X**2).mean(axis=0)) if form is csr_array else X.std(axis=0)
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
