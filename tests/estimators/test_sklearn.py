"""The estimators among scikit-learn's tools: its own checks, pipelines, searches, routing, column names."""

import warnings

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.estimator_data import frame_data, label_data
from setloss import Dice, Hamming
from setloss.estimators import (
    BagClassifier,
    BagClassifierCV,
    BagDecisionCV,
    SetClassifier,
    SetClassifierCV,
    SetDecisionCV,
    UngroupedWarning,
)

ESTIMATORS = [
    SetClassifier(),
    BagClassifier(),
    SetClassifier(loss="hamming", operator="hinge"),
    BagClassifier(solver="cutting_plane", fit_intercept=False),
    SetClassifierCV(Cs=[0.1, 1.0], cv=2),
    BagClassifierCV(Cs=[1.0], cv=2),
]
DECIDED = [
    SetDecisionCV(OneVsRestClassifier(LogisticRegression()), rule="counts", cv=2),
    BagDecisionCV(cv=2),
]
FOLDS = "a rule is learned on folds, and those of weighted examples are not those of repeated ones"
SETS = "the set of least expected loss is no cut of each score at 0"


def expected_failures(estimator):
    """What no rule that is learned, and decides for the set, can do."""
    if estimator not in DECIDED:
        return {}
    of_labels = isinstance(estimator, SetClassifier | SetDecisionCV)
    kinds = ("dense",) if isinstance(estimator, BagDecisionCV) else ("dense", "sparse")
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in kinds}
    return weights | ({"check_classifier_multioutput": SETS} if of_labels else {})


@parametrize_with_checks([*ESTIMATORS, *DECIDED], expected_failed_checks=expected_failures)
def test_scikit_learn_accepts_it(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ---------------------------------------------------------------- composition


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(estimator):
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "coef_")
    assert is_classifier(copy)


def test_a_clone_keeps_loss_objects():
    assert clone(SetClassifier(loss=Hamming(False, 2.0))).loss == Hamming(False, 2.0)


def test_fit_leaves_the_parameters_alone():
    X, Y = label_data()
    model = SetClassifier(loss=Dice(), callbacks=())
    before = model.get_params()
    assert model.fit(X, Y) is model
    assert model.get_params() == before


def test_a_pipeline_scales_before_it_trains():
    X, Y = label_data()
    shifted = 1e3 + 50 * X
    pipeline = make_pipeline(StandardScaler(), SetClassifier(tol=1e-6)).fit(shifted, Y)
    direct = SetClassifier(tol=1e-6).fit(StandardScaler().fit_transform(shifted), Y)
    np.testing.assert_array_equal(pipeline.predict(shifted), direct.predict(StandardScaler().fit_transform(shifted)))
    assert pipeline.score(shifted, Y) == pytest.approx(
        direct.score(StandardScaler().fit_transform(shifted), Y), abs=1e-12
    )


def test_a_grid_search_finds_the_best_score():
    X, Y = label_data()
    search = GridSearchCV(SetClassifier(), {"C": [1e-4, 1.0], "operator": ["bd", "slack"]}, cv=3).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_cross_validation_routes_groups_to_fit_and_score():
    X, y, groups = frame_data()
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(BagClassifier(), X, y, cv=GroupKFold(3), params={"groups": groups})
    expected = []
    for train, test in GroupKFold(3).split(X, y, groups):
        fold = BagClassifier().fit(X[train], y[train], groups=groups[train])
        expected.append(fold.score(X[test], y[test], groups=groups[test]))
    np.testing.assert_allclose(scores, expected)


def test_a_grid_search_routes_groups():
    X, y, groups = frame_data()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(BagClassifier(), {"C": [0.1, 1.0]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
        assert search.score(X, y, groups=groups) == search.best_estimator_.score(X, y, groups=groups)
    assert search.best_estimator_.solution_.gap <= 1e-3


def test_a_pipeline_routes_groups_and_weights_to_fit_and_score():
    X, y, groups = frame_data()
    weights = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = BagClassifier().set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
        found = pipeline.score(X, y, groups=groups, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    direct = BagClassifier().fit(scaled, y, groups=groups)
    assert found == pytest.approx(direct.score(scaled, y, groups=groups, sample_weight=weights))


def test_nested_cross_validation_routes_groups():
    X, y, groups = frame_data()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(make_pipeline(StandardScaler(), BagClassifier()), {}, cv=GroupKFold(2))
        scores = cross_val_score(search, X, y, cv=GroupKFold(3), params={"groups": groups})
        plain = make_pipeline(StandardScaler(), BagClassifier())
        expected = cross_val_score(plain, X, y, cv=GroupKFold(3), params={"groups": groups})
    np.testing.assert_allclose(scores, expected)


def test_without_routing_every_frame_is_a_set_and_that_is_said():
    X, y, groups = frame_data()
    with pytest.warns(UngroupedWarning, match=r"set_config\(enable_metadata_routing=True\)"):
        scores = cross_val_score(BagClassifier(), X, y, groups=groups, cv=GroupKFold(3))
    assert scores.shape == (3,)


# ---------------------------------------------------------------- tables with names


NAMES = ["height", "width", "depth", "weight", "age"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_column_names_are_kept_and_checked(library):
    X, Y = label_data()
    table = pytest.importorskip(library).DataFrame(dict(zip(NAMES, X.T, strict=True)))
    model = SetClassifier(tol=1e-6).fit(table, Y)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(table), SetClassifier(tol=1e-6).fit(X, Y).predict(X))
    if library == "pandas":
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[NAMES[::-1]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_may_be_a_table(library):
    X, Y = label_data()
    labels = pytest.importorskip(library).DataFrame({f"label {j}": Y[:, j] for j in range(3)})
    model = SetClassifier().fit(X, labels)
    np.testing.assert_array_equal(model.coef_, SetClassifier().fit(X, Y).coef_)
    assert model.score(X, labels) == model.score(X, Y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame_labels_and_groups_may_be_series(library):
    series = pytest.importorskip(library).Series
    X, y, groups = frame_data()
    plain = BagClassifier().fit(X, y, groups=groups)
    model = BagClassifier().fit(X, series(y), groups=series(groups))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(X, series(y), groups=series(groups)) == plain.score(X, y, groups=groups)


def test_a_pandas_index_that_is_not_a_range_changes_nothing():
    pd = pytest.importorskip("pandas")
    X, y, groups = frame_data()
    index = np.random.default_rng(0).permutation(len(y)) + 1000
    table, labels, bags = pd.DataFrame(X, index=index), pd.Series(y, index=index), pd.Series(groups, index=index)
    model = BagClassifierCV(Cs=[0.1, 1.0], cv=3).fit(table, labels, groups=bags)
    assert model.C_ == BagClassifierCV(Cs=[0.1, 1.0], cv=3).fit(X, y, groups=groups).C_


# ---------------------------------------------------------------- the fit in words


def test_a_convergence_warning_names_both_gaps_and_the_reason():
    X, Y = label_data()
    with pytest.warns(ConvergenceWarning) as caught:
        model = SetClassifier(tol=1e-9, max_iter=3).fit(X, Y)
    message = str(caught[0].message)
    assert "SetClassifier stopped at a relative duality gap of" in message
    assert f"{model.dual_gap_:.2e} instead of 1.00e-09" in message
    assert "(iteration limit after 3 iterations)" in message


@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
def test_few_iterations_still_give_a_model(solver):
    X, Y = label_data()
    with pytest.warns(ConvergenceWarning):
        model = SetClassifier(tol=1e-12, max_iter=3, solver=solver).fit(X, Y)
    assert np.any(model.coef_)
    assert np.isfinite(model.dual_gap_)


def test_attributes_describe_the_solution():
    X, Y = label_data()
    model = SetClassifier().fit(X, Y)
    assert model.coef_.shape == (3, 5)
    assert model.intercept_.shape == (3,)
    assert model.n_features_in_ == 5
    assert model.n_iter_ == model.solution_.iterations
    assert model.dual_gap_ == model.solution_.gap <= 1e-3
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_callbacks_are_called_every_iteration():
    X, Y = label_data()
    records = []
    model = SetClassifier(callbacks=[records.append]).fit(X, Y)
    assert tuple(records) == model.solution_.history


def test_verbose_logs_every_iteration(caplog):
    X, Y = label_data()
    with caplog.at_level("INFO", logger="setloss"):
        model = SetClassifier(verbose=1).fit(X, Y)
    assert len(caplog.records) == model.n_iter_ + 1
    assert "gap" in caplog.records[-1].getMessage()


def test_the_library_prints_nothing_unasked(capsys):
    X, Y = label_data()
    SetClassifier().fit(X, Y)
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------- warm starts and seeds


@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
def test_a_warm_start_after_a_change_of_C_reaches_the_same_objective(solver):
    X, Y = label_data(d=30)
    warm = SetClassifier(warm_start=True, solver=solver, C=0.1, tol=1e-5, max_iter=5000).fit(X, Y)
    warm.set_params(C=0.2).fit(X, Y)
    cold = SetClassifier(solver=solver, C=0.2, tol=1e-5, max_iter=5000).fit(X, Y)
    assert warm.solution_.primal == pytest.approx(cold.solution_.primal, rel=2e-5)


@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
@pytest.mark.parametrize(
    "change", [{"operator": "slack"}, {"loss": "jaccard"}, {"scale": 2.0}, {"fit_intercept": False}]
)
def test_a_warm_start_after_a_change_of_the_surrogate_is_certified_all_the_same(solver, change):
    X, Y = label_data(d=30)
    warm = SetClassifier("hamming", "hinge", warm_start=True, solver=solver, max_iter=5000).fit(X, Y)
    changed = {"loss": "dice", "operator": "bd"} | change
    warm.set_params(**changed).fit(X, Y)
    cold = SetClassifier(**changed, solver=solver, max_iter=5000).fit(X, Y)
    assert warm.solution_.dual <= warm.solution_.primal
    assert warm.solution_.primal == pytest.approx(cold.solution_.primal, rel=2e-3)


@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
def test_a_warm_start_on_other_data_is_certified_all_the_same(solver):
    X, Y = label_data(d=30)
    for X2, Y2 in ((X, 1 - Y), (X[:20], Y[:20]), (X[:, :10], Y), (np.vstack([X, -X]), np.vstack([Y, Y]))):
        warm = SetClassifier(warm_start=True, solver=solver, max_iter=5000).fit(X, Y).fit(X2, Y2)
        cold = SetClassifier(solver=solver, max_iter=5000).fit(X2, Y2)
        assert warm.solution_.dual <= warm.solution_.primal
        assert warm.solution_.primal == pytest.approx(cold.solution_.primal, rel=2e-3)


def test_equal_seeds_give_equal_models_and_generators_are_accepted():
    X, Y = label_data(d=80)
    options = {"solver": "frank_wolfe"}
    first, second = (SetClassifier(random_state=3, **options).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    SetClassifier(random_state=np.random.RandomState(0), **options).fit(X, Y)


@pytest.mark.parametrize("model", [SetClassifier(tol=1e-6), BagClassifier(tol=1e-6)], ids=["sets", "bags"])
def test_sparse_features_give_the_same_predictions(model):
    X, Y = label_data()
    sets = isinstance(model, SetClassifier)
    y, bags = (Y, {}) if sets else (Y[:, 0], {"groups": np.arange(len(Y))})
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = clone(model).fit(X, y, **bags), clone(model).fit(csr_array(X), y, **bags)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-9)
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(csr_array(X)), atol=1e-9)
