"""`SetClassifier`: known labels only, degenerate data, weights, predictions by sign, losses."""

import numpy as np
import pytest

from helpers.estimator_data import label_data
from setloss import Dice, Hamming, Jaccard
from setloss.estimators import SetClassifier

TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}


def data_with_gaps():
    X, Y = label_data()
    Y = Y.astype(float)
    Y[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    Y[5] = np.nan
    return X, Y


def test_an_example_without_a_known_label_is_not_there():
    X, Y = data_with_gaps()
    kept = np.arange(len(X)) != 5
    with_it, without = SetClassifier(**TIGHT).fit(X, Y), SetClassifier(**TIGHT).fit(X[kept], Y[kept])
    np.testing.assert_allclose(with_it.coef_, without.coef_, atol=1e-12)
    assert with_it.score(X, Y) == without.score(X[kept], Y[kept])
    weights = np.arange(len(X)) + 1.0
    assert with_it.score(X, Y, sample_weight=weights) == pytest.approx(
        without.score(X[kept], Y[kept], sample_weight=weights[kept])
    )


def test_the_loss_of_an_example_with_gaps_is_that_of_its_known_labels():
    X, Y = data_with_gaps()
    model = SetClassifier().fit(X, Y)
    expected = [
        Dice()(labels[~np.isnan(labels)], guess[~np.isnan(labels)])
        for labels, guess in zip(Y, model.predict(X), strict=True)
        if not np.all(np.isnan(labels))
    ]
    np.testing.assert_allclose(model.losses(X, Y), expected)


# ---------------------------------------------------------------- degenerate data


def test_one_example_is_enough():
    """n = 1: no label has both classes, but the example has."""
    X, _ = label_data()
    model = SetClassifier().fit(X[:1], np.array([[1, 0, 1]]))
    np.testing.assert_array_equal(model.predict(X[:1]), [[1, 0, 1]])


def test_constant_features_duplicates_contradictions_and_labels_that_never_occur():
    X, Y = label_data()
    X[:, 0], X[:, 1], Y[:, 1] = 3.0, 0.0, 0
    model = SetClassifier("hamming").fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0))
    assert model.dual_gap_ <= 1e-3
    np.testing.assert_array_equal(model.coef_[:, 1], 0.0)
    assert not model.predict(X)[:, 1].any()
    assert SetClassifier().fit(np.vstack([X, X]), np.vstack([Y, 1 - Y])).dual_gap_ <= 1e-3


def test_weights_are_repetitions():
    X, Y = label_data()
    times = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = SetClassifier(**TIGHT).fit(X, Y, sample_weight=times)
    repeated = SetClassifier(**TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert weighted.solution_.primal == pytest.approx(repeated.solution_.primal, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    expected = weighted.score(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert weighted.score(X, Y, sample_weight=times) == pytest.approx(expected)


# ---------------------------------------------------------------- prediction


def test_positive_scores_predict_the_label_and_a_score_of_zero_does_not():
    X, Y = label_data(40)
    model = SetClassifier().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert not model.predict(X).any()
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("loss", [Dice(), Jaccard(), Hamming()])
def test_score_is_one_minus_the_mean_loss(loss):
    X, Y = label_data()
    model = SetClassifier(loss).fit(X, Y)
    assert model.score(X, Y) == pytest.approx(1 - np.mean(loss(Y, model.predict(X))))
    np.testing.assert_allclose(model.losses(X, Y), loss(Y, model.predict(X)))
