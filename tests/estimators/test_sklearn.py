"""The linear estimators among scikit-learn's tools: its own checks, pipelines, searches, routing, column names."""

import warnings

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.estimator_data import frame_data, label_data
from setloss.estimators import SetClassifier, SetClassifierCV

ESTIMATORS = [SetClassifier(), SetClassifierCV(Cs=[0.1, 1.0], cv=2)]
X, Y = label_data()
F, y, groups = frame_data()


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_it(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_every_parameter_has_a_constraint_and_ancestors_are_few(estimator):
    assert {*estimator._parameter_constraints, "loss"} >= set(estimator.get_params())
    ours = [cls for cls in type(estimator).__mro__[1:] if cls.__module__.startswith("setloss")]
    assert len(ours) <= 2
    assert is_classifier(clone(estimator))


def test_cross_validation_searches_and_pipelines_route_groups_and_weights():
    weights = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(SetClassifier(), F, y, cv=GroupKFold(3), params={"groups": groups})
        search = GridSearchCV(SetClassifier(), {"C": [0.1, 1.0]}, cv=GroupKFold(3)).fit(F, y, groups=groups)
        assert search.score(F, y, groups=groups) == search.best_estimator_.score(F, y, groups=groups)
        model = SetClassifier().set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(F, y, groups=groups)
        found = pipeline.score(F, y, groups=groups, sample_weight=weights)
        nested = GridSearchCV(make_pipeline(StandardScaler(), SetClassifier()), {}, cv=GroupKFold(2))
        assert cross_val_score(nested, F, y, cv=GroupKFold(3), params={"groups": groups}).shape == (3,)
    expected = []
    for train, test in GroupKFold(3).split(F, y, groups):
        fold = SetClassifier().fit(F[train], y[train], groups=groups[train])
        expected.append(fold.score(F[test], y[test], groups=groups[test]))
    np.testing.assert_allclose(scores, expected)
    scaled = StandardScaler().fit_transform(F)
    direct = SetClassifier().fit(scaled, y, groups=groups)
    assert found == pytest.approx(direct.score(scaled, y, groups=groups, sample_weight=weights))


# ---------------------------------------------------------------- tables with names


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_features_and_labels_and_series_of_frames(library):
    frames = pytest.importorskip(library)
    names = ["height", "width", "depth", "weight", "age"]
    table = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    labels = frames.DataFrame({f"label {j}": Y[:, j] for j in range(3)})
    plain = SetClassifier().fit(X, Y)
    model = SetClassifier().fit(table, labels)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(table, labels) == plain.score(X, Y)
    if library == "pandas":
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[names[::-1]])
    search = SetClassifierCV(Cs=[1.0], cv=2).fit(table, labels)
    assert search.feature_names_in_.tolist() == names
    assert search.label_names_.tolist() == [f"label {j}" for j in range(3)]
    bags = SetClassifier().fit(F, frames.Series(y), groups=frames.Series(groups))
    np.testing.assert_array_equal(bags.coef_, SetClassifier().fit(F, y, groups=groups).coef_)
    assert bags.score(F, frames.Series(y), groups=frames.Series(groups)) == bags.score(F, y, groups=groups)


def test_a_pandas_index_that_is_not_a_range_changes_nothing():
    pd = pytest.importorskip("pandas")
    index = np.random.default_rng(0).permutation(len(y)) + 1000
    table, labels, bags = pd.DataFrame(F, index=index), pd.Series(y, index=index), pd.Series(groups, index=index)
    model = SetClassifierCV(Cs=[0.1, 1.0], cv=3).fit(table, labels, groups=bags)
    assert model.C_ == SetClassifierCV(Cs=[0.1, 1.0], cv=3).fit(F, y, groups=groups).C_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_single_precision_and_read_only_features_give_the_same_predictions(dtype):
    thin = np.where(np.abs(X) > 0.5, X, 0.0).astype(dtype)
    read_only = np.asfortranarray(thin)
    read_only.flags.writeable = False
    dense, sparse, other = (SetClassifier(tol=1e-6).fit(form, Y) for form in (thin, csr_array(thin), read_only))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-5)
    np.testing.assert_allclose(dense.coef_, other.coef_, atol=1e-9)
    np.testing.assert_allclose(dense.decision_function(thin), sparse.decision_function(csr_array(thin)), atol=1e-5)
