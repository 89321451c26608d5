"""What both linear models share: certificates of the data, LinearSVC, weights, intercept, warm starts, words."""

import itertools
import signal

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import setloss
from helpers.children import python
from helpers.estimator_data import frame_data, label_data
from setloss import loss_named
from setloss.estimators import SetClassifier

X, Y = label_data()
F, y, groups = frame_data()
TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}
SOLVERS = ["auto", "frank_wolfe", "admm", "cutting_plane", "n_slack"]


def slack(loss, truth, margins):
    """S of the loss by enumeration of all sets of mistakes."""
    masks = (np.array(mask) for mask in itertools.product([False, True], repeat=len(truth)))
    return max(loss(truth, truth ^ mask) * (1 - margins[mask].sum()) for mask in masks)


def objective(model, sets, constant):
    """P(W) from its definition; `sets` are the truth and the scores of every set."""
    weights = np.sum(model.coef_**2) + np.sum((model.intercept_ / constant) ** 2)
    risks = (slack(loss_named(model.loss), truth, np.where(truth, score, -score)) for truth, score in sets)
    return 0.5 * weights + model.C * sum(risks)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["dice", "curve4"])
def test_certificates_are_those_of_the_data_and_of_known_labels_only(solver, loss):
    """The objective by enumeration; the dual is a lower bound of it at the optimum of another solver."""
    options = {"C": 0.5, "intercept_scaling": 2.0}
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    known[5] = False
    gaps = np.where(known, Y, np.nan)
    labels, some = (SetClassifier(loss, solver=solver, **options).fit(X, targets) for targets in (Y, gaps))
    frames = SetClassifier(loss, solver=solver, **options).fit(F, y, groups=groups)
    sets = list(zip(Y == 1, labels.decision_function(X), strict=True))
    rows = zip(Y == 1, some.decision_function(X), known, strict=True)
    parts = [(truth[here], scores[here]) for truth, scores, here in rows if here.any()]
    bags = [(y[groups == k] == 1, frames.decision_function(F)[groups == k]) for k in np.unique(groups)]
    for model, found, data in ((labels, sets, (X, Y)), (some, parts, (X, gaps)), (frames, bags, (F, y, groups))):
        primal = objective(model, found, 2.0)
        assert model.solution_.primal == pytest.approx(primal, rel=1e-9)
        assert model.dual_gap_ == pytest.approx((primal - model.solution_.dual) / primal, abs=1e-9)
        assert model.dual_gap_ <= 1e-3
        best = (
            type(model)(loss, **options, **TIGHT)
            .fit(*data[:2], groups=data[2] if len(data) > 2 else None)
            .solution_.primal
        )
        assert model.solution_.dual <= best * (1 + 1e-9) <= primal * (1 + 2e-7)


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_the_hinge_of_single_labels_is_linear_svc(C):
    frames = SetClassifier("hamming", "hinge", C=C, intercept_scaling=1.0, tol=1e-6)
    frames.fit(F, y, groups=np.arange(len(y)))
    labels = SetClassifier("hamming", "hinge", C=C, intercept_scaling=1.0, tol=1e-6).fit(F, np.stack([y, 1 - y], 1))
    svc = LinearSVC(C=C, loss="hinge", tol=1e-8, max_iter=10**6, random_state=0).fit(F, y)
    for coef, intercept in ((frames.coef_, frames.intercept_), (labels.coef_[:1], labels.intercept_[:1])):
        np.testing.assert_allclose(coef, svc.coef_, atol=5e-3)
        np.testing.assert_allclose(intercept, svc.intercept_, atol=5e-3)


# ---------------------------------------------------------------- C, weights, intercept


def test_the_intercept_is_a_feature_of_constant_value():
    scaled = SetClassifier(intercept_scaling=4.0, **TIGHT).fit(X, Y)
    written_out = SetClassifier(fit_intercept=False, **TIGHT).fit(np.hstack([X, np.full((len(X), 1), 4.0)]), Y)
    assert scaled.solution_.primal == pytest.approx(written_out.solution_.primal, rel=1e-6)
    np.testing.assert_allclose(scaled.decision_function(X), X @ scaled.coef_.T + scaled.intercept_)
    np.testing.assert_array_equal(written_out.intercept_, 0.0)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_intercept_weighs_as_much_as_the_mean_row_by_default(form):
    expected = SetClassifier(intercept_scaling=np.sqrt((X**2).sum() / len(X)), **TIGHT).fit(X, Y)
    found = SetClassifier(**TIGHT).fit(form(X), Y)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6)
    tenfold = SetClassifier(C=0.01, **TIGHT).fit(form(10 * X), Y)  # the units of the features do not matter
    np.testing.assert_allclose(tenfold.predict(10 * X), expected.predict(X))
    assert SetClassifier().fit(form(np.zeros((len(Y), 2))), Y).intercept_.shape == (Y.shape[1],)


# ---------------------------------------------------------------- warm starts, seeds, words


@pytest.mark.parametrize("solver", SOLVERS[1:])
@pytest.mark.parametrize(
    "change", [{"C": 0.2}, {"operator": "bd"}, {"loss": "jaccard"}, {"fit_intercept": False}, "fewer rows", "other y"]
)
def test_a_warm_start_after_any_change_reaches_the_same_objective(solver, change):
    data = {"fewer rows": (X[:12], Y[:12]), "other y": (X, 1 - Y)}.get(change if isinstance(change, str) else "")
    changed = {} if data else change
    warm = SetClassifier(C=0.1, warm_start=True, solver=solver, max_iter=5000).fit(X, Y)
    warm.set_params(**changed).fit(*(data or (X, Y)))
    cold = SetClassifier(**({"C": 0.1} | changed), solver=solver, max_iter=5000).fit(*(data or (X, Y)))
    assert warm.solution_.dual <= warm.solution_.primal
    assert warm.solution_.primal == pytest.approx(cold.solution_.primal, rel=2e-3)
    assert warm.solution_.state is not None
    assert cold.solution_.state is None  # the dual variables are large


@pytest.mark.parametrize("make", [lambda: 3, np.int64, np.random.RandomState])
def test_equal_seeds_give_equal_models(make):
    first, second = (SetClassifier(random_state=seed, solver="frank_wolfe") for seed in (make(), make()))
    if not isinstance(first.random_state, np.random.RandomState):
        np.testing.assert_array_equal(first.fit(X, Y).coef_, second.fit(X, Y).coef_)
    assert first.fit(X, Y).dual_gap_ <= 1e-3


KILLED = """
import os, sys, warnings
import setloss
from helpers.estimator_data import label_data
warnings.simplefilter("ignore")
model = setloss.estimators.SetClassifier(warm_start=True, max_iter=20, solver=sys.argv[1])
while True:
    setloss.save(model.fit(*label_data()), sys.argv[2])
    model.callbacks = [lambda record: record.iteration < 5 or os.kill(os.getpid(), 9)]
"""


@pytest.mark.parametrize("solver", SOLVERS[1:4])
def test_a_killed_process_goes_on_from_its_last_model_in_fewer_iterations(solver, tmp_path):
    file = tmp_path / "model.skops"
    assert python(KILLED, solver, file).returncode == -signal.SIGKILL
    resumed, cold = setloss.load(file), SetClassifier(solver=solver).fit(X, Y)
    assert (resumed.warm_start, resumed.n_iter_) == (True, 20)
    resumed.set_params(max_iter=1000).fit(X, Y)
    assert resumed.dual_gap_ <= 1e-3
    assert resumed.n_iter_ < cold.n_iter_
    assert resumed.solution_.primal == pytest.approx(cold.solution_.primal, rel=2e-3)


@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
def test_a_limit_ends_with_a_model_and_a_warning_that_names_both_gaps(solver):
    with pytest.warns(ConvergenceWarning, match=r"SetClassifier .*gap of .* instead of 1.00e-12 .*after 3 iter"):
        model = SetClassifier(tol=1e-12, max_iter=3, solver=solver).fit(X, Y)
    assert np.any(model.coef_)
    assert model.n_iter_ == 3


def test_callbacks_and_verbose_tell_of_every_iteration_and_nothing_is_printed_unasked(caplog, capsys):
    records = []
    model = SetClassifier(callbacks=[records.append]).fit(X, Y)
    assert tuple(records) == model.solution_.history
    assert capsys.readouterr() == ("", "")
    caplog.set_level("WARNING", logger="setloss")
    SetClassifier(verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1
    assert all("gap" in line for line in lines)
    with caplog.at_level("INFO", logger="setloss"):
        SetClassifier(verbose=1).fit(X, Y)
    assert len(caplog.records) == model.n_iter_ + 1
    assert capsys.readouterr() == ("", "")
