"""`SetClassifier`: missing labels, sparse labels, degenerate data, weights, scores, and errors in words."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from helpers.estimator_data import label_data
from setloss import Dice, Hamming, Jaccard
from setloss.estimators import SetClassifier
from setloss.estimators.elements import FeatureScaleWarning, warn_of_scales
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Limits, Problem, solve

TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}


def objective(model):
    return model.solution_.primal


# ---------------------------------------------------------------- missing labels


def data_with_gaps():
    X, Y = label_data()
    Y = Y.astype(float)
    Y[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    Y[5] = np.nan
    return X, Y


def ragged_problem(X, Y, C=1.0):
    """The problem of the known labels only, one example at a time."""
    rows, tasks, truth, offsets = [], [], [], [0]
    for i, labels in enumerate(Y):
        known = [j for j, label in enumerate(labels) if not np.isnan(label)]
        if not known:
            continue
        rows += [i] * len(known)
        tasks += known
        truth += [labels[j] == 1 for j in known]
        offsets.append(len(rows))
    truth = np.array(truth)
    return Problem(
        Design.of(X, 1.0),
        batch_surrogate(Dice(), truth, np.array(offsets), "slack", 1.0),
        np.where(truth, 1.0, -1.0),
        np.array(rows),
        np.array(tasks),
        np.full(len(offsets) - 1, C),
        Y.shape[1],
    )


def test_missing_labels_are_left_out_of_the_set():
    X, Y = data_with_gaps()
    model = SetClassifier(intercept_scaling=1.0, **TIGHT).fit(X, Y)
    expected = solve(ragged_problem(X, Y), "cutting_plane", Limits(1e-7))
    np.testing.assert_array_equal(model.coef_, expected.parameters[:, :-1])
    assert objective(model) == expected.primal


def test_an_example_without_a_known_label_is_not_there():
    X, Y = data_with_gaps()
    kept = np.arange(len(X)) != 5
    with_it, without = SetClassifier(**TIGHT).fit(X, Y), SetClassifier(**TIGHT).fit(X[kept], Y[kept])
    np.testing.assert_allclose(with_it.coef_, without.coef_, atol=1e-12)
    assert with_it.score(X, Y) == without.score(X[kept], Y[kept])
    assert len(with_it.losses(X, Y)) == len(X) - 1


def test_the_loss_of_an_example_with_gaps_is_that_of_its_known_labels():
    X, Y = data_with_gaps()
    model = SetClassifier().fit(X, Y)
    predicted = model.predict(X)
    expected = [
        Dice()(labels[~np.isnan(labels)], guess[~np.isnan(labels)])
        for labels, guess in zip(Y, predicted, strict=True)
        if not np.all(np.isnan(labels))
    ]
    np.testing.assert_allclose(model.losses(X, Y), expected)


def test_a_missing_label_of_a_single_column_is_left_out_too():
    X, Y = label_data(p=1)
    gaps = Y.astype(float)
    gaps[[3, 7]] = np.nan
    known = ~np.isnan(gaps[:, 0])
    model = SetClassifier(**TIGHT).fit(X, gaps)
    assert objective(model) == pytest.approx(objective(SetClassifier(**TIGHT).fit(X[known], Y[known])))


# ---------------------------------------------------------------- forms of y


@pytest.mark.parametrize("form", [csr_array, csr_matrix, np.ndarray.tolist, lambda Y: Y.astype(bool), np.float32])
def test_labels_may_be_sparse_lists_booleans_or_floats(form):
    X, Y = label_data()
    plain, other = SetClassifier().fit(X, Y), SetClassifier().fit(X, form(Y))
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    assert other.score(X, form(Y)) == plain.score(X, Y)


def test_one_label_as_a_vector_or_as_a_column_is_the_same_problem():
    X, Y = label_data(p=1)
    flat, column = SetClassifier().fit(X, Y[:, 0]), SetClassifier().fit(X, Y)
    np.testing.assert_array_equal(flat.coef_, column.coef_)
    assert flat.predict(X).shape == (len(X),)
    assert column.predict(X).shape == (len(X), 1)
    assert flat.decision_function(X).shape == (len(X),)
    assert flat.score(X, Y[:, 0]) == column.score(X, Y)


def test_a_single_label_may_have_any_two_names():
    X, Y = label_data(p=1)
    names = np.where(Y[:, 0], "spam", "ham")
    model = SetClassifier().fit(X, names)
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(model.predict(X) == "spam", SetClassifier().fit(X, Y[:, 0]).predict(X) == 1)


# ---------------------------------------------------------------- degenerate data


def test_one_example_is_enough():
    """n = 1: no label has both classes, but the example has."""
    X, _ = label_data()
    model = SetClassifier().fit(X[:1], np.array([[1, 0, 1]]))
    np.testing.assert_array_equal(model.predict(X[:1]), [[1, 0, 1]])


def test_examples_without_positives_work_with_every_loss():
    X, Y = label_data()
    Y[:10] = 0
    for loss in ("dice", "jaccard", "hamming", "curve1", "curve4"):
        assert SetClassifier(loss).fit(X, Y).dual_gap_ <= 1e-3


def test_a_label_that_never_occurs_is_never_predicted():
    X, Y = label_data()
    Y[:, 1] = 0
    assert not SetClassifier(loss="hamming").fit(X, Y).predict(X)[:, 1].any()


def test_constant_features_and_duplicate_rows_work():
    X, Y = label_data()
    X[:, 0], X[:, 1] = 3.0, 0.0
    X, Y = np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0)
    model = SetClassifier().fit(X, Y)
    assert model.dual_gap_ <= 1e-3
    np.testing.assert_array_equal(model.coef_[:, 1], 0.0)


def test_contradicting_duplicates_work():
    X, Y = label_data(n=10)
    assert SetClassifier().fit(np.vstack([X, X]), np.vstack([Y, 1 - Y])).dual_gap_ <= 1e-3


@pytest.mark.parametrize("operator", ["bd", "bd-monotone", "slack", "margin", "hinge"])
@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "cutting_plane", "n_slack"])
def test_every_operator_trains_with_every_solver_to_the_gap_asked_for(operator, solver):
    X, Y = label_data(d=20)
    assert SetClassifier(operator=operator, solver=solver, tol=1e-2).fit(X, Y).dual_gap_ <= 1e-2


# ---------------------------------------------------------------- weights and intercept


def test_weights_are_repetitions():
    X, Y = label_data()
    times = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = SetClassifier(**TIGHT).fit(X, Y, sample_weight=times)
    repeated = SetClassifier(**TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert objective(weighted) == pytest.approx(objective(repeated), rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    assert weighted.score(X, Y, sample_weight=times) == pytest.approx(
        weighted.score(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    )


def test_weights_and_C_multiply():
    X, Y = label_data()
    first = SetClassifier(C=3.0, **TIGHT).fit(X, Y)
    second = SetClassifier(**TIGHT).fit(X, Y, sample_weight=np.full(len(X), 3.0))
    assert objective(first) == pytest.approx(objective(second), rel=1e-9)


def test_without_intercept_there_is_none():
    X, Y = label_data()
    np.testing.assert_array_equal(SetClassifier(fit_intercept=False).fit(X, Y).intercept_, 0.0)


def test_the_intercept_is_a_feature_of_constant_value():
    X, Y = label_data()
    scaled = SetClassifier(intercept_scaling=4.0, **TIGHT).fit(X, Y)
    written_out = SetClassifier(fit_intercept=False, **TIGHT).fit(np.hstack([X, np.full((len(X), 1), 4.0)]), Y)
    assert objective(scaled) == pytest.approx(objective(written_out), rel=1e-6)
    np.testing.assert_allclose(scaled.decision_function(X), X @ scaled.coef_.T + scaled.intercept_)


# ---------------------------------------------------------------- prediction


def test_positive_scores_predict_the_label_and_a_score_of_zero_does_not():
    X, Y = label_data()
    model = SetClassifier().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert not model.predict(X).any()


@pytest.mark.parametrize("loss", [Dice(), Jaccard(), Hamming()])
def test_score_is_one_minus_the_mean_loss(loss):
    X, Y = label_data()
    model = SetClassifier(loss).fit(X, Y)
    assert model.score(X, Y) == pytest.approx(1 - np.mean(loss(Y, model.predict(X))))
    np.testing.assert_allclose(model.losses(X, Y), loss(Y, model.predict(X)))


def test_the_intercept_weighs_as_much_as_the_mean_row_by_default():
    X, Y = label_data()
    norm = np.sqrt((X**2).sum() / len(X))
    expected = SetClassifier(intercept_scaling=norm, **TIGHT).fit(X, Y)
    for features in (X, csr_array(X)):
        found = SetClassifier(**TIGHT).fit(features, Y)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6)
    tenfold = SetClassifier(C=0.01, **TIGHT).fit(10 * X, Y)  # the units of the features do not matter
    np.testing.assert_allclose(tenfold.predict(10 * X), expected.predict(X))


def test_features_that_are_all_zero_still_have_an_intercept():
    _, Y = label_data()
    assert SetClassifier().fit(np.zeros((len(Y), 2)), Y).intercept_.shape == (Y.shape[1],)


def test_the_costs_of_a_problem_are_C_times_the_weights():
    X, Y = data_with_gaps()
    problem = ragged_problem(X, Y)
    expected = solve(replace(problem, costs=0.3 * problem.costs), "cutting_plane", Limits(1e-7))
    assert objective(SetClassifier(C=0.3, intercept_scaling=1.0, **TIGHT).fit(X, Y)) == expected.primal


# ---------------------------------------------------------------- features of different scales, memory of a fit


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_features_that_differ_by_orders_of_magnitude_are_named_at_once(sparse):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(30, 3)) * (1.0, 1e4, 1.0)
    Y = generator.random((30, 2)) < 0.5
    with pytest.warns(FeatureScaleWarning, match=r"column 1 varies by .*StandardScaler"):
        SetClassifier(C=1e-6).fit(csr_array(X) if sparse else X, Y)


@pytest.mark.parametrize("column", [0.0, 1e9])
def test_constant_columns_are_no_reason_to_warn(column):
    generator = np.random.default_rng(0)
    X = np.hstack([generator.normal(size=(30, 2)), np.full((30, 1), column)])
    warn_of_scales(X, "model")


@pytest.mark.parametrize("warm_start", [False, True])
def test_dual_variables_are_kept_for_a_warm_start_only(warm_start):
    generator = np.random.default_rng(0)
    model = SetClassifier(warm_start=warm_start, C=0.01).fit(
        generator.normal(size=(30, 3)), generator.random((30, 2)) < 0.5
    )
    assert (model.solution_.state is not None) == warm_start
