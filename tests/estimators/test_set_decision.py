"""`SetDecisionCV`: every kind of classifier, rules and losses, weights, routing, and errors in words."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from helpers.estimator_data import one_or_two_labels
from setloss import CostCurve, Jaccard, SetFunction
from setloss.decisions import decide, rules
from setloss.decisions.calibration import chosen_widths
from setloss.decisions.rules import LABEL_RULES
from setloss.estimators import SetClassifier, SetDecisionCV
from setloss.estimators.set_decision import default_estimators
from setloss.losses import from_set_function

BY_ELEMENT = from_set_function(SetFunction.from_values([0, 1, 1, 2.5]))
LINEAR = OneVsRestClassifier(LogisticRegression())
TREES = 30


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """What is taken without an estimator, in a tenth of the time."""
    monkeypatch.setattr("setloss.estimators.set_decision.TREES", TREES)


# ---------------------------------------------------------------- any classifier


@pytest.mark.parametrize(
    "estimator",
    [
        LINEAR,
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
        RandomForestClassifier(10, random_state=0),
        OneVsRestClassifier(LinearSVC()),
        MLPClassifier((8,), random_state=0),
        SetClassifier(C=0.1, max_iter=20),
        make_pipeline(StandardScaler(), LINEAR),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_multi_label_classifier_will_do(estimator):
    X, Y = one_or_two_labels(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SetDecisionCV(estimator, cv=2).fit(X, Y)
    chances = model.predict_proba(X)
    assert model.predict(X).shape == chances.shape == Y.shape
    np.testing.assert_allclose(model.predict_count_proba(X).sum(axis=1), 1)
    sizes = np.arange(model.predict_count_proba(X).shape[1])
    np.testing.assert_allclose(chances.sum(axis=1), model.predict_count_proba(X) @ sizes)
    assert model.score(X, Y) > 0.4


def test_weights_do_not_trouble_the_default_for_sparse_features():
    X, Y = one_or_two_labels(80)
    weights = np.linspace(1, 2, len(X))
    assert SetDecisionCV(cv=3).fit(csr_array(X), Y, sample_weight=weights).score(csr_array(X), Y) > 0.5


def test_data_frames_and_sparse_matrices_reach_the_classifier():
    pandas = pytest.importorskip("pandas")
    X, Y = one_or_two_labels(60)
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = SetDecisionCV(make_pipeline(StandardScaler(), LINEAR), cv=2).fit(frame, pandas.DataFrame(Y))
    assert list(model.feature_names_in_) == list(frame.columns)
    sparse = SetDecisionCV(LINEAR, cv=2).fit(csr_array(X), csr_array(Y))
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), SetDecisionCV(LINEAR, cv=2).fit(X, Y).predict(X))


def test_without_an_estimator_the_likelier_classifier_is_taken(caplog):
    """Logistic regression where features add up, trees where their products matter."""
    X, Y = one_or_two_labels(150)
    trees = SetDecisionCV(ExtraTreesClassifier(TREES, random_state=0), cv=2).fit(X, Y)
    chosen = SetDecisionCV(cv=2, verbose=1).fit(X, Y)
    assert isinstance(chosen.estimator_[-1].estimator, LogisticRegression)
    assert chosen.learner_.log_likelihood > trees.learner_.log_likelihood
    assert f"held-out log-likelihood {trees.learner_.log_likelihood / 150:.3f}" in caplog.text
    products = (X[:, :3] * X[:, 3:] > 0).astype(int)
    assert isinstance(SetDecisionCV(cv=2).fit(X, products).estimator_, ExtraTreesClassifier)


def test_without_an_estimator_weights_go_to_trees_and_sparse_features_to_logistic_regression():
    X, Y = one_or_two_labels(60)
    assert isinstance(SetDecisionCV(cv=2).fit(X, Y, sample_weight=np.ones(60)).estimator_, ExtraTreesClassifier)
    assert SetDecisionCV(cv=2).fit(csr_array(X), Y).score(csr_array(X), Y) > 0.5


def test_many_examples_are_compared_on_the_first_folds(monkeypatch):
    """The one that is taken then goes on with the other folds: its scores are those of all folds."""
    searches = []
    monkeypatch.setattr(rules, "chosen_widths", lambda *data: searches.append(data) or chosen_widths(*data))
    X, Y = one_or_two_labels(75)
    whole = SetDecisionCV(cv=3).fit(X, Y)
    assert len(searches) == len(default_estimators(X)), "what was learned from all folds is used again"
    monkeypatch.setattr("setloss.estimators.folds.ENOUGH_HELD_OUT", 25)
    few = SetDecisionCV(cv=3).fit(X, Y)
    assert len(searches) == 2 * len(default_estimators(X)) + 1
    np.testing.assert_array_equal(few.learner_.data.scores, whole.learner_.data.scores)


def test_what_is_compared_without_an_estimator():
    trees, *linear = default_estimators(np.ones((2, 2)))
    assert trees.n_estimators == TREES
    assert [one[-1].estimator.C for one in linear] == [1.0, 0.01]


def test_without_an_estimator_features_may_be_missing():
    X, Y = one_or_two_labels(80)
    X[::7, 1] = np.nan
    assert SetDecisionCV(cv=2).fit(X, Y).score(X, Y) > 0.5


def test_labels_that_are_constant_in_a_fold_do_no_harm():
    X, Y = one_or_two_labels(60)
    Y = np.column_stack([Y, np.zeros(60, dtype=int), np.eye(60, dtype=int)[7], np.ones(60, dtype=int)])
    model = SetDecisionCV(MultiOutputClassifier(LogisticRegression()), cv=3).fit(X, Y)
    predicted = model.predict(X)
    assert not predicted[:, 5].any()
    assert predicted[:, 7].all()


def test_missing_labels_are_summed_out():
    X, Y = one_or_two_labels(80)
    gaps = Y.astype(float)
    gaps[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    gaps[3] = np.nan
    model = SetDecisionCV(SetClassifier(C=0.1), cv=2).fit(X, gaps)
    assert model.score(X, Y) > 0.6


# ---------------------------------------------------------------- rules and losses


def test_knowing_how_many_beats_every_other_rule_where_the_number_is_nearly_constant():
    X, Y = one_or_two_labels(1200)
    models = {rule: SetDecisionCV(LINEAR, rule=rule, cv=2).fit(X[:400], Y[:400]) for rule in (*LABEL_RULES, "auto")}
    scores = {rule: model.score(X[400:], Y[400:]) for rule, model in models.items()}
    assert scores["counts"] > max(scores[rule] for rule in ("plug-in", "threshold")) + 0.01
    assert models["auto"].rule_name_ in ("counts", "top-k")
    assert set(models["auto"].rule_losses_) == set(LABEL_RULES)


def test_the_loss_enters_at_prediction_only():
    X, Y = one_or_two_labels(100)
    for rule in LABEL_RULES:
        model = SetDecisionCV(LINEAR, rule=rule, cv=2).fit(X, Y)
        anew = SetDecisionCV(LINEAR, Jaccard(), rule=rule, cv=2).fit(X, Y)
        np.testing.assert_array_equal(model.set_params(loss="jaccard").predict(X), anew.predict(X))


def test_counts_are_the_exact_decision_and_expected_losses_are_its_own():
    X, Y = one_or_two_labels(400)
    model = SetDecisionCV(LINEAR, rule="counts", cv=2).fit(X, Y)
    calibration = model.learner_.counts
    scores = calibration.scores(model.estimator_.decision_function(X))
    best = decide(scores, "f1", counts=calibration.counts())
    np.testing.assert_array_equal(model.predict(X), best.sets)
    np.testing.assert_allclose(model.expected_loss(X), best.expected, rtol=1e-5)
    worse = SetDecisionCV(LINEAR, rule="threshold", cv=2).fit(X, Y).expected_loss(X)
    assert np.all(worse >= best.expected - 1e-5)
    assert abs(model.expected_loss(X).mean() - (1 - model.score(X, Y))) < 0.05


def test_a_loss_that_falls_is_decided_among_the_largest_scores():
    X, Y = one_or_two_labels(60, p=20)
    falling = CostCurve(((0, 0), (0.1, 0.5), (1, 0.2)))
    model = SetDecisionCV(LINEAR, falling, rule="counts", cv=2).fit(X, Y)
    assert model.predict(X).shape == Y.shape


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_macro_and_micro_f1_get_thresholds_of_their_own(average):
    X, Y = one_or_two_labels(400)
    plain = LINEAR.fit(X[:200], Y[:200]).predict(X[200:])
    model = SetDecisionCV(LINEAR, average=average, cv=2).fit(X[:200], Y[:200])
    score = f1_score(Y[200:], model.predict(X[200:]), average=average)
    assert score > f1_score(Y[200:], plain, average=average)
    assert score == pytest.approx(model.score(X[200:], Y[200:]))
    with pytest.raises(ValueError, match="single examples"):
        model.expected_loss(X)


# ---------------------------------------------------------------- conventions


def test_a_fitted_classifier_is_used_as_it_is():
    X, Y = one_or_two_labels()
    fitted = clone(LINEAR).fit(X[:100], Y[:100])
    model = SetDecisionCV(fitted, cv="prefit").fit(X[100:160], Y[100:160])
    assert model.estimator_ is fitted
    assert model.score(X, Y) > 0.7


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what `fit` was given."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None, note=None):
        self.seen.append((None if sample_weight is None else len(sample_weight), note))
        self.model_ = clone(LINEAR).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_weights_and_parameters_of_fit_are_passed_on_by_fold():
    X, Y = one_or_two_labels(60)
    Recorder.seen.clear()
    SetDecisionCV(Recorder(), cv=3).fit(X, Y, sample_weight=np.ones(60), note="x")
    assert Recorder.seen == [(40, "x")] * 3 + [(60, "x")]


def test_metadata_routing():
    X, Y = one_or_two_labels(60)
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=True, note=False)
        SetDecisionCV(inner, cv=KFold(3)).fit(X, Y, sample_weight=np.ones(60))
    assert Recorder.seen == [(40, None)] * 3 + [(60, None)]


def test_weights_count():
    X, Y = one_or_two_labels(100)
    doubled = np.concatenate([np.arange(100), np.arange(50)])
    weights = np.where(np.arange(100) < 50, 2.0, 1.0)
    fitted = clone(LINEAR).fit(X, Y)
    one = SetDecisionCV(fitted, rule="threshold", cv="prefit").fit(X, Y, sample_weight=weights)
    other = SetDecisionCV(fitted, rule="threshold", cv="prefit").fit(X[doubled], Y[doubled])
    assert one.rule_ == other.rule_


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"rule": "votes"},
            ValueError,
            "there is no rule 'votes'; the names are counts, plug-in, threshold, top-k, auto",
        ),
        ({"average": "weighted"}, ValueError, "average is one of samples, macro, micro"),
        ({"loss": "f2"}, ValueError, "there is no loss 'f2'"),
        ({"loss": 3}, TypeError, "loss is a name, a Loss such as"),
        ({"loss": BY_ELEMENT}, TypeError, "depends on which elements are wrong"),
        ({"estimator": StandardScaler()}, TypeError, "neither predict_proba nor decision_function"),
    ],
)
def test_errors_say_what_to_do(options, error, words):
    X, Y = one_or_two_labels(40)
    with pytest.raises(error, match=words):
        SetDecisionCV(**({"estimator": LINEAR, "cv": 2} | options)).fit(X, Y)


def test_labels_are_zero_and_one():
    X, Y = one_or_two_labels(40)
    with pytest.raises(ValueError, match="y must hold 0 and 1"):
        SetDecisionCV(LINEAR).fit(X, Y + 1)
