"""`SetClassifier`: rows and groups as sets, known labels only, weights, predictions by sign, losses."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.estimator_data import frame_data, label_data
from setloss import Dice, Hamming, Jaccard
from setloss.estimators import SetClassifier, UngroupedWarning

pd = pytest.importorskip("pandas")
TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}
X, Y = label_data()
F, y, groups = frame_data()


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_interleaved_groups_equal_sorted_ones(storage):
    mixed = np.random.default_rng(0).permutation(len(y))
    ordered = SetClassifier(**TIGHT).fit(storage(F), y, groups=groups)
    shuffled = SetClassifier(**TIGHT).fit(storage(F[mixed]), y[mixed], groups=groups[mixed])
    assert ordered.solution_.primal == pytest.approx(shuffled.solution_.primal, rel=1e-6)
    np.testing.assert_allclose(ordered.coef_, shuffled.coef_, atol=2e-3)
    np.testing.assert_allclose(
        ordered.losses(F, y, groups=groups), ordered.losses(F[mixed], y[mixed], groups=groups[mixed])
    )


@pytest.mark.parametrize(
    "rename",
    [
        lambda g: np.array([f"track {k:02d}" for k in g]),
        lambda g: [f"track {k:02d}" for k in g],
        lambda g: np.array([f"track {k:02d}" for k in g], dtype=object),
        lambda g: pd.Series([f"track {k:02d}" for k in g]),
        lambda g: pd.Categorical([f"track {k:02d}" for k in g]),
        lambda g: np.datetime64("2020-01-01") + g,
        lambda g: g.astype(np.uint8),
        lambda g: 2**62 + g,
        lambda g: g / 8,
        np.ndarray.tolist,
    ],
)
def test_groups_may_have_any_names(rename):
    plain = SetClassifier().fit(F, y, groups=groups)
    model = SetClassifier().fit(F, y, groups=rename(groups))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(F, y, groups=rename(groups)) == plain.score(F, y, groups=groups)


@pytest.mark.parametrize(
    ("what", "dtype"), [(np.nan, float), (np.nan, object), (None, object), ("NaT", "datetime64[s]")]
)
def test_groups_that_do_not_name_a_bag_for_every_frame_are_refused(what, dtype):
    names = groups.astype(dtype)
    names[3] = what
    with pytest.raises(ValueError, match="groups must name a bag for every element"):
        SetClassifier().fit(F, y, groups=names)


def test_without_groups_every_frame_is_a_bag():
    alone = SetClassifier().fit(F, y, groups=np.arange(len(y)))
    with pytest.warns(UngroupedWarning, match="every element of y is trained as a set of its own. Pass groups="):
        model = SetClassifier().fit(F, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    with pytest.warns(UngroupedWarning, match="every element of y is judged as a set of its own"):
        alone.score(F, y)
    assert model.score(F, y) == alone.score(F, y, groups=np.arange(len(y)))
    np.testing.assert_array_equal(model.predict(F, groups=groups), model.predict(F))  # the sign says nothing


# ---------------------------------------------------------------- known labels only, degenerate data


def test_only_known_labels_count_and_an_example_without_one_is_not_there():
    gaps = Y.astype(float)
    gaps[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    gaps[5] = np.nan
    kept = np.arange(len(X)) != 5
    with_it, without = SetClassifier(**TIGHT).fit(X, gaps), SetClassifier(**TIGHT).fit(X[kept], gaps[kept])
    np.testing.assert_allclose(with_it.coef_, without.coef_, atol=1e-12)
    weights = np.arange(len(X)) + 1.0
    for given in (None, weights):
        expected = without.score(X[kept], gaps[kept], sample_weight=None if given is None else given[kept])
        assert with_it.score(X, gaps, sample_weight=given) == pytest.approx(expected)
    rows = [(row, guess, ~np.isnan(row)) for row, guess in zip(gaps, with_it.predict(X), strict=True)]
    expected = [Dice()(row[known], guess[known]) for row, guess, known in rows if known.any()]
    np.testing.assert_allclose(with_it.losses(X, gaps), expected)


def test_one_example_is_enough():
    """n = 1: no label has both classes, but the example has."""
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


# ---------------------------------------------------------------- weights


def test_weights_are_repetitions():
    times = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = SetClassifier(**TIGHT).fit(X, Y, sample_weight=times)
    repeated = SetClassifier(**TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert weighted.solution_.primal == pytest.approx(repeated.solution_.primal, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    expected = weighted.score(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert weighted.score(X, Y, sample_weight=times) == pytest.approx(expected)


@pytest.mark.parametrize("draw", [(0.5, 1.0, 2.0), (0.0, 1.0, 2.0)])
def test_the_weight_of_a_bag_is_the_mean_of_its_frames_in_the_fit_and_in_the_score(draw):
    """Weights say how much a bag counts, not which frames are in it: those of 0 count in the fit as in the score."""
    weights = np.random.default_rng(0).choice(draw, size=len(y))
    means = np.bincount(groups, weights) / np.bincount(groups)
    first = SetClassifier(**TIGHT).fit(F, y, groups=groups, sample_weight=weights)
    second = SetClassifier(**TIGHT).fit(F, y, groups=groups, sample_weight=means[groups])
    np.testing.assert_allclose(first.coef_, second.coef_, atol=2e-3)
    assert first.solution_.primal == pytest.approx(second.solution_.primal, rel=1e-6)
    expected = 1 - np.average(first.losses(F, y, groups=groups), weights=means)
    assert first.score(F, y, groups=groups, sample_weight=weights) == pytest.approx(expected)


# ---------------------------------------------------------------- prediction


@pytest.mark.parametrize("names", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (3, 8)])
def test_positive_scores_predict_the_second_class_and_a_score_of_zero_does_not(names):
    labels = np.array(names)[y]
    model = SetClassifier().fit(F, labels, groups=groups)
    assert model.classes_.tolist() == list(names)
    np.testing.assert_array_equal(model.predict(F), np.array(names)[(model.decision_function(F) > 0).astype(int)])
    expected = SetClassifier().fit(F, y, groups=groups).score(F, y, groups=groups)
    assert model.score(F, labels, groups=groups) == expected
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert set(model.predict(F).tolist()) == {names[0]}
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("loss", [Dice(), Jaccard(), Hamming()])
def test_score_is_one_minus_the_mean_loss_of_the_sets(loss):
    frames, labels = SetClassifier(loss).fit(F, y, groups=groups), SetClassifier(loss).fit(X, Y)
    predicted = frames.predict(F)
    losses = [loss(y[groups == k], predicted[groups == k]) for k in range(groups.max() + 1)]
    assert frames.score(F, y, groups=groups) == pytest.approx(1 - np.mean(losses))
    np.testing.assert_allclose(frames.losses(F, y, groups=groups), losses)
    np.testing.assert_allclose(labels.losses(X, Y), loss(Y, labels.predict(X)))
    assert labels.score(X, Y) == pytest.approx(1 - np.mean(labels.losses(X, Y)))
