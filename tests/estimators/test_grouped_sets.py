"""`SetClassifier`: groups of every kind, degenerate bags, weights, predictions by sign, losses."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.estimator_data import frame_data
from setloss import Dice, Hamming
from setloss.estimators import SetClassifier, UngroupedWarning

pd = pytest.importorskip("pandas")
TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}
X, y, groups = frame_data()


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_interleaved_groups_equal_sorted_ones(storage):
    mixed = np.random.default_rng(0).permutation(len(y))
    ordered = SetClassifier(**TIGHT).fit(storage(X), y, groups=groups)
    shuffled = SetClassifier(**TIGHT).fit(storage(X[mixed]), y[mixed], groups=groups[mixed])
    assert ordered.solution_.primal == pytest.approx(shuffled.solution_.primal, rel=1e-6)
    np.testing.assert_allclose(ordered.coef_, shuffled.coef_, atol=2e-3)
    np.testing.assert_allclose(
        ordered.losses(X, y, groups=groups), ordered.losses(X[mixed], y[mixed], groups=groups[mixed])
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
    plain = SetClassifier().fit(X, y, groups=groups)
    model = SetClassifier().fit(X, y, groups=rename(groups))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(X, y, groups=rename(groups)) == plain.score(X, y, groups=groups)


def gap_in(what, dtype):
    names = groups.astype(dtype)
    names[3] = what
    return names


@pytest.mark.parametrize(
    "names",
    [
        gap_in(np.nan, float),
        gap_in(np.nan, object),
        gap_in(None, object),
        gap_in(np.datetime64("NaT", "s"), "datetime64[s]"),
    ],
)
def test_groups_that_do_not_name_a_bag_for_every_frame_are_refused(names):
    with pytest.raises(ValueError, match="groups must name a bag for every element"):
        SetClassifier().fit(X, y, groups=names)


def test_without_groups_every_frame_is_a_bag():
    alone = SetClassifier().fit(X, y, groups=np.arange(len(y)))
    with pytest.warns(UngroupedWarning, match="every element of y is trained as a set of its own. Pass groups="):
        model = SetClassifier().fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    with pytest.warns(UngroupedWarning, match="every element of y is judged as a set of its own"):
        alone.score(X, y)
    assert model.score(X, y) == alone.score(X, y, groups=np.arange(len(y)))
    np.testing.assert_array_equal(
        model.predict(X, groups=groups), model.predict(X)
    )  # the sign needs none, and says nothing


# ---------------------------------------------------------------- weights


def test_the_weight_of_a_bag_is_the_mean_of_its_frames_in_the_fit_and_in_the_score():
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    means = np.bincount(groups, weights) / np.bincount(groups)
    first = SetClassifier(**TIGHT).fit(X, y, groups=groups, sample_weight=weights)
    second = SetClassifier(**TIGHT).fit(X, y, groups=groups, sample_weight=means[groups])
    assert first.solution_.primal == pytest.approx(second.solution_.primal, rel=1e-6)
    expected = 1 - np.average(first.losses(X, y, groups=groups), weights=means)
    assert first.score(X, y, groups=groups, sample_weight=weights) == pytest.approx(expected)


def test_a_frame_of_weight_zero_stays_in_its_bag():
    """Weights say how much a bag counts, not which frames are in it: those of 0 count in the fit as in the score."""
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=len(y))
    means = np.bincount(groups, weights) / np.bincount(groups)
    first = SetClassifier(**TIGHT).fit(X, y, groups=groups, sample_weight=weights)
    second = SetClassifier(**TIGHT).fit(X, y, groups=groups, sample_weight=means[groups])
    np.testing.assert_allclose(first.coef_, second.coef_)


# ---------------------------------------------------------------- prediction


@pytest.mark.parametrize("names", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (3, 8)])
def test_positive_scores_predict_the_second_class(names):
    labels = np.array(names)[y]
    model = SetClassifier().fit(X, labels, groups=groups)
    assert model.classes_.tolist() == list(names)
    np.testing.assert_array_equal(model.predict(X), np.array(names)[(model.decision_function(X) > 0).astype(int)])
    assert model.score(X, labels, groups=groups) == SetClassifier().fit(X, y, groups=groups).score(
        X, y, groups=groups
    )


@pytest.mark.parametrize("loss", [Dice(), Hamming()])
def test_score_is_one_minus_the_mean_loss_over_the_bags(loss):
    model = SetClassifier(loss).fit(X, y, groups=groups)
    predicted = model.predict(X)
    losses = [loss(y[groups == k], predicted[groups == k]) for k in range(groups.max() + 1)]
    assert model.score(X, y, groups=groups) == pytest.approx(1 - np.mean(losses))
    np.testing.assert_allclose(model.losses(X, y, groups=groups), losses)
