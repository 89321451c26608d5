"""`SetClassifier`: certificates, groups, known labels only, weights, intercept, warm starts, predictions by sign."""

import signal

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import setloss
from helpers.children import python
from helpers.estimator_data import frame_data, label_data, named, objective
from setloss import Dice, Hamming, Jaccard
from setloss.estimators import SetClassifier, UngroupedWarning

pd = pytest.importorskip("pandas")
TIGHT = {"tol": 1e-7, "solver": "cutting_plane"}
SOLVERS = ["auto", "frank_wolfe", "admm", "cutting_plane", "n_slack"]
X, Y = label_data()
F, y, groups = frame_data()
TRACKS = [f"track {k:02d}" for k in groups]
GAPS = np.where(np.random.default_rng(1).random(Y.shape) < 0.3, np.nan, Y)
GAPS[5] = np.nan
MIXED = np.random.default_rng(0).permutation(len(y))
SHUFFLED = F[MIXED], y[MIXED], groups[MIXED]
WEIGHTS = np.random.default_rng(2).choice([0.0, 1.0, 2.0], size=len(y))
"""Of a bag they count as their mean: those of 0 say nothing of which frames are in it."""


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["dice", "curve4"])
@pytest.mark.parametrize(
    "data",
    [(X, Y), (X, GAPS, None, WEIGHTS[: len(X)]), SHUFFLED, (*SHUFFLED, WEIGHTS)],
    ids=["labels", "gaps", "groups", "weights"],
)
def test_certificates_are_those_of_the_data_and_of_known_labels_only(solver, loss, data):
    """The objective by enumeration; the dual is a lower bound of it at the optimum of another solver."""
    options = {"loss": loss, "C": 0.5, "intercept_scaling": 2.0}
    model, best = (SetClassifier(**options, **how).fit(**named(*data)) for how in ({"solver": solver}, TIGHT))
    primal = objective(model, *data)
    assert model.solution_.primal == pytest.approx(primal, rel=1e-9)
    assert model.dual_gap_ == pytest.approx((primal - model.solution_.dual) / primal, abs=1e-9)
    assert model.dual_gap_ <= 1e-3
    assert model.solution_.dual <= best.solution_.primal * (1 + 1e-9) <= primal * (1 + 2e-7)


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
    means = (np.bincount(groups, WEIGHTS) / np.bincount(groups))[groups]
    for rows, *sets, weights, of_rows in ((F, y, groups, WEIGHTS, means), (X, Y, None, means[:18], means[:18])):
        mean = np.sqrt(np.average((rows**2).sum(axis=1), weights=of_rows))
        expected = SetClassifier(intercept_scaling=mean, **TIGHT).fit(**named(rows, *sets, weights))
        found = SetClassifier(**TIGHT).fit(**named(form(rows), *sets, weights))
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6)
    expected = SetClassifier(**TIGHT).fit(X, Y)
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
from setloss.estimators import SetClassifier
warnings.simplefilter("ignore")
for solver in sys.argv[2:]:
    model = SetClassifier(warm_start=True, max_iter=20, solver=solver).fit(*label_data())
    setloss.save(model, f"{sys.argv[1]}/{solver}.skops")
model.set_params(callbacks=[lambda record: record.iteration < 5 or os.kill(os.getpid(), 9)]).fit(*label_data())
"""


def test_a_killed_process_goes_on_from_its_last_model_in_fewer_iterations(tmp_path):
    assert python(KILLED, tmp_path, *SOLVERS[1:4]).returncode == -signal.SIGKILL
    for solver in SOLVERS[1:4]:
        resumed, cold = setloss.load(tmp_path / f"{solver}.skops"), SetClassifier(solver=solver).fit(X, Y)
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


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(
    "names",
    [
        *(form(TRACKS) for form in (list, np.array, lambda names: np.array(names, dtype=object), pd.Series)),
        *(pd.Categorical(TRACKS), np.datetime64("2020-01-01") + groups, groups.tolist()),
        *(groups.astype(np.uint8), 2**62 + groups, groups / 8),
    ],
)
def test_groups_may_have_any_names(names):
    plain = SetClassifier().fit(F, y, groups=groups)
    model = SetClassifier().fit(F, y, groups=names)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.score(F, y, groups=names) == plain.score(F, y, groups=groups)


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
def test_score_is_one_minus_the_mean_loss_of_the_sets_on_their_known_labels(loss):
    F, y, groups = SHUFFLED
    frames, labels = SetClassifier(loss).fit(F, y, groups=groups), SetClassifier(loss).fit(X, GAPS)
    predicted, here = frames.predict(F), [groups == k for k in np.unique(groups)]
    bags = [loss(y[bag], predicted[bag]) for bag in here]
    np.testing.assert_allclose(frames.losses(F, y, groups=groups), bags)
    rows = [(row, guess, ~np.isnan(row)) for row, guess in zip(GAPS, labels.predict(X), strict=True)]
    sets = [loss(row[known], guess[known]) for row, guess, known in rows if known.any()]
    np.testing.assert_allclose(labels.losses(X, GAPS), sets)
    np.testing.assert_allclose(labels.losses(X[6:], GAPS[6:]), sets[5:])  # all of these have a known label
    some = np.arange(len(X)) != 5  # has no known label
    for weights in (np.ones(len(y)), WEIGHTS):
        means = [weights[bag].mean() for bag in here]
        expected = 1 - np.average(bags, weights=means), 1 - np.average(sets, weights=weights[: len(X)][some])
        assert frames.score(F, y, groups=groups, sample_weight=weights) == pytest.approx(expected[0])
        assert labels.score(X, GAPS, sample_weight=weights[: len(X)]) == pytest.approx(expected[1])
