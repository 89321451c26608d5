"""`CountClassifier`: gradients, certificate, logistic regression as a limit, missing labels, conventions."""

import json
import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from helpers.estimator_data import one_or_two_labels
from setloss.decisions import decide
from setloss.estimators import CountClassifier, CountClassifierCV
from setloss.estimators.count_problem import CountProblem
from setloss.solvers import CheckpointError


def few_labels(n=150, seed=0):
    return one_or_two_labels(n, 4, 4, seed)


def with_gaps(Y, share=0.3, seed=0):
    gaps = Y.astype(float)
    gaps[np.random.default_rng(seed).random(Y.shape) < share] = np.nan
    return gaps


@pytest.mark.parametrize("linear", [False, True])
def test_the_gradient_is_that_of_the_objective(linear):
    X, Y = few_labels(12)
    gaps = with_gaps(Y)
    known = ~np.isnan(gaps)
    problem = CountProblem(X, 2.0, gaps == 1, known, np.linspace(0.5, 2, 12), linear)
    point = np.random.default_rng(1).normal(size=problem.size)
    numerical = approx_fprime(point, lambda x: problem(x)[0], 1e-6)
    np.testing.assert_allclose(problem(point)[1], numerical, atol=1e-3)


@pytest.mark.parametrize("counts", ["constant", "linear"])
def test_the_gap_bounds_the_distance_from_the_minimum(counts):
    X, Y = few_labels()
    least = CountClassifier(counts=counts, tol=1e-10, max_iter=5000).fit(X, Y).objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for iterations in (1, 5, 20):
            model = CountClassifier(counts=counts, max_iter=iterations).fit(X, Y)
            assert 0 <= model.objective_ - least <= model.dual_gap_ * model.objective_ + 1e-9


def test_prediction_is_the_exact_decision_for_any_loss():
    X, Y = few_labels()
    model = CountClassifier().fit(X, Y)
    scores = X @ model.coef_.T + model.intercept_
    for loss in ("f1", "jaccard", "hamming"):
        best = decide(scores, loss, counts=model.counts_)
        np.testing.assert_array_equal(model.set_params(loss=loss).predict(X), best.sets)
        np.testing.assert_allclose(model.expected_loss(X), best.expected)
    np.testing.assert_allclose(
        model.predict_proba(X).sum(axis=1), model.predict_count_proba(X) @ np.arange(len(model.counts_))
    )
    assert model.score(X, Y) > 0.7


def test_counts_that_depend_on_the_features():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    Y = (generator.random((600, 6)).argsort(axis=1) < np.where(X[:, :1] > 0, 4, 1)).astype(int)
    chances = {c: CountClassifier(counts=c).fit(X, Y).predict_count_proba(X) for c in ("constant", "linear")}
    sizes = Y.sum(axis=1)
    likelihood = {c: np.log(found[np.arange(600), sizes]).mean() for c, found in chances.items()}
    assert likelihood["linear"] > likelihood["constant"] + 0.1


def test_missing_labels_sparse_features_weights_and_a_warm_start():
    X, Y = few_labels()
    assert CountClassifier().fit(X, with_gaps(Y)).score(X, Y) > 0.65
    model = CountClassifier(tol=1e-8, warm_start=True).fit(X, Y)
    sparse = CountClassifier(tol=1e-8).fit(csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-3)
    weighted = CountClassifier(tol=1e-8, intercept_scaling=1.0).fit(X, Y, np.where(np.arange(150) < 50, 2.0, 1.0))
    twice = CountClassifier(tol=1e-8, intercept_scaling=1.0).fit(np.vstack([X, X[:50]]), np.vstack([Y, Y[:50]]))
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=1e-3)
    before = model.n_iter_
    assert model.fit(X, Y).n_iter_ < before


def test_cross_validation_chooses_C():
    X, Y = few_labels()
    model = CountClassifierCV(Cs=[1e-4, 1.0], cv=3).fit(X, Y)
    assert model.C_ == 1.0
    assert model.cv_results_["loss"][0] > model.cv_results_["loss"][1]
    np.testing.assert_array_equal(model.predict(X), CountClassifier(C=1.0, tol=1e-3).fit(X, Y).predict(X))
    assert len(CountClassifierCV(Cs=3, cv=2, counts="linear").fit(X, Y).cv_results_["C"]) == 3


def test_a_checkpoint_goes_on_to_the_same_digits(tmp_path):
    X, Y = few_labels()
    whole = CountClassifier(tol=1e-8).fit(X, Y)
    path = str(tmp_path / "c.npz")
    with pytest.warns(ConvergenceWarning, match="iteration limit after 4 iterations"):
        CountClassifier(tol=1e-8, max_iter=4, checkpoint=path).fit(X, Y)
    resumed = CountClassifier(tol=1e-8, checkpoint=path).fit(X, Y)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.n_iter_ == whole.n_iter_
    with pytest.raises(CheckpointError, match="belongs to another problem"):
        CountClassifier(C=2.0, checkpoint=path).fit(X, Y)


@pytest.mark.parametrize("claim", [{"dual": 1e9}, {"primal": 1e-9}, {"primal": 1.0, "dual": 1.0}])
def test_an_edited_checkpoint_forges_no_gap(tmp_path, claim):
    X, Y = few_labels()
    path = str(tmp_path / "c.npz")
    with pytest.warns(ConvergenceWarning):
        honest = CountClassifier(tol=1e-8, max_iter=4, checkpoint=path).fit(X, Y)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header"))) | claim
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    with pytest.warns(ConvergenceWarning):
        forged = CountClassifier(tol=1e-8, max_iter=4, checkpoint=path).fit(X, Y)
    assert forged.solution_.primal == pytest.approx(honest.solution_.primal, rel=1e-12)
    assert forged.solution_.dual <= honest.solution_.dual + 1e-6


def test_limits_callbacks_and_progress(capsys, caplog):
    caplog.set_level("WARNING", logger="setloss")
    X, Y = few_labels()
    records = []
    model = CountClassifier(callbacks=[records.append], verbose=1).fit(X, Y)
    assert tuple(records) == model.solution_.history
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("iteration 1: ")
    assert lines[-1] == f"converged after {model.n_iter_} iterations: gap {model.dual_gap_:.2e}"
    CountClassifierCV(Cs=[1.0], cv=2, verbose=1).fit(X, Y)
    assert capsys.readouterr().out.splitlines()[1].startswith("counts, fold 2 of 2: gaps at C = 1: ")

    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted after 1 iterations"):
        CountClassifier(callbacks=[interrupt], tol=1e-9).fit(X, Y)
    with pytest.raises(KeyboardInterrupt):
        CountClassifierCV(Cs=[1.0], cv=2, callbacks=[interrupt], tol=1e-9).fit(X, Y)


def test_errors_say_what_to_do():
    X, Y = few_labels(30)
    with pytest.raises(ValueError, match='counts is "constant" or "linear"'):
        CountClassifier(counts="quadratic").fit(X, Y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        CountClassifier(C=0).fit(X, Y)
    with pytest.raises(ValueError, match="nothing to train on"):
        CountClassifier().fit(X, np.where(np.arange(30)[:, None] < 15, np.nan, Y), np.arange(30) < 15)
    with pytest.warns(ConvergenceWarning, match="stopped at a relative duality gap"):
        CountClassifier(max_iter=1).fit(X, Y)
