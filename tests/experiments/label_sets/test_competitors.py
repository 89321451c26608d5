"""Competitors and the choice of C: what scikit-learn gives, constant labels, nothing from the test part."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from experiments.label_sets.chosen import ChosenLabelSets, UnitRows, learned_rule
from experiments.label_sets.competitors import BinaryOrConstant, Chain, OneAgainstRest
from experiments.metrics import of_examples
from helpers.label_set_data import small
from setloss import loss_named
from setloss.estimators import SetClassifier, SetClassifierCV

SCORERS = [OneAgainstRest("logistic"), OneAgainstRest("svm"), Chain()]
IDS = ["logistic", "svm", "chain"]


@pytest.mark.parametrize("scorer", SCORERS, ids=IDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_labels_are_predicted_as_they_are(scorer, sparse):
    data = small(sparse=sparse)
    Y = np.hstack([data.Y, np.ones((len(data.Y), 1), dtype=np.int8)])
    said = clone(scorer).fit(data.X, Y).predict(data.X)
    assert said.shape == Y.shape
    assert not said[:, 3].any()
    assert said[:, 4].all()


def test_one_against_rest_is_one_model_per_label():
    data = small()
    scores = OneAgainstRest("logistic", C=0.7).fit(data.X, data.Y).decision_function(data.X)
    for j in range(3):
        alone = LogisticRegression(C=0.7, max_iter=1000).fit(data.X, data.Y[:, j])
        np.testing.assert_allclose(scores[:, j], alone.decision_function(data.X))
    svm = OneAgainstRest("svm", C=0.7).fit(data.X, data.Y[:, :1]).decision_function(data.X)
    alone = LinearSVC(C=0.7, dual="auto", random_state=0).fit(data.X, data.Y[:, 0])
    np.testing.assert_allclose(svm[:, 0], alone.decision_function(data.X), atol=1e-3)


def test_the_chain_is_scikit_learns():
    data = small()
    Y = data.Y[:, :2]
    ours = Chain(C=0.7).fit(data.X, Y).predict(data.X)
    theirs = ClassifierChain(LogisticRegression(C=0.7, max_iter=1000)).fit(data.X, Y).predict(data.X)
    np.testing.assert_array_equal(ours, theirs)


def test_the_score_of_a_constant_is_the_log_odds_of_half_an_example():
    model = BinaryOrConstant(LogisticRegression()).fit(np.zeros((9, 1)), np.zeros(9))
    np.testing.assert_allclose(model.decision_function(np.zeros((2, 1))), np.log(0.5 / 9.5))


def test_an_unknown_model_is_named():
    with pytest.raises(ValueError, match="no model 'forest' of one label; the names are logistic, svm"):
        OneAgainstRest("forest").fit(np.zeros((2, 1)), np.array([[0], [1]]))


@pytest.mark.parametrize("model", [*SCORERS, ChosenLabelSets(SCORERS[:1]), UnitRows()])
def test_they_are_cloned_and_refuse_to_predict_unfitted(model):
    copy = clone(model)
    assert repr(copy) == repr(model)
    with pytest.raises(NotFittedError):
        (copy.transform if isinstance(copy, UnitRows) else copy.predict)(np.zeros((1, 5)))


def test_the_choice_is_that_of_a_plain_loop():
    data, Cs = small(), (0.01, 0.1, 1.0)
    model = ChosenLabelSets([OneAgainstRest()], Cs=Cs, folds=3, random_state=4).fit(data.X, data.Y)
    values = []
    for C in Cs:
        said = np.empty(data.Y.shape, dtype=bool)
        for train, test in KFold(3, shuffle=True, random_state=4).split(data.X):
            said[test] = OneAgainstRest(C=C).fit(data.X[train], data.Y[train]).predict(data.X[test]) == 1
        values.append(of_examples("f1", data.Y == 1, said).mean())
    assert Cs[int(np.argmax(values))] == model.C_
    assert model.cv_score_ == pytest.approx(max(values))
    whole = OneAgainstRest(C=model.C_).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.predict(data.X), whole.predict(data.X))


def test_the_choice_of_C_is_that_of_the_estimator_that_chooses_itself():
    data, Cs = small(), (0.03, 0.3, 3.0)
    plain = {"tol": 1e-4, "decision": "sign"}
    ours = ChosenLabelSets([SetClassifier(warm_start=True, **plain)], Cs=Cs, folds=3).fit(data.X, data.Y)
    own = SetClassifierCV(Cs=Cs, cv=3, random_state=0, **plain).fit(data.X, data.Y)
    assert ours.C_ == own.C_
    assert ours.cv_score_ == pytest.approx(1 - min(own.cv_results_["loss"]))


class Stub(OneAgainstRest):
    """Scores that get worse as C grows from 1."""

    seen: list[float] = []  # noqa: RUF012 (shared between clones on purpose)

    def fit(self, X, Y):
        self.seen.append(self.C)
        self.truth_ = Y
        return self

    def decision_function(self, X):
        return np.where(np.arange(4) < np.log10(self.C), 1.0, -1.0) + np.zeros((X.shape[0], 1))


@pytest.mark.parametrize(("path", "tried"), [([1, 1.2, 1.4, 1.6, 1.8, 3, 10], 6), ([1, 1e2, 1e3, 1e4, 1e5], 3)])
def test_the_path_ends_beyond_3_after_two_values_in_a_row_that_do_worse(path, tried):
    Y = np.zeros((6, 4), dtype=np.int8)
    Stub.seen.clear()
    model = ChosenLabelSets([Stub()], Cs=path, folds=2).fit(np.zeros((6, 1)), Y)
    assert model.C_ == 1
    assert sorted(set(Stub.seen)) == path[:tried]


class NeverThere(Stub):
    """A solver that reaches its tolerance at C = 1 only, although scores get better."""

    tol = 0.1

    def decision_function(self, X):
        return -super().decision_function(X) if self.C == 1 else np.full((X.shape[0], 4), -1.0)

    @property
    def dual_gap_(self):
        return 0.0 if self.C == 1 else 0.5


def test_a_C_at_which_the_solver_does_not_converge_is_no_candidate():
    Y = np.zeros((6, 4), dtype=np.int8)
    model = ChosenLabelSets([NeverThere()], Cs=[1, 10, 100], folds=2).fit(np.zeros((6, 1)), Y)
    assert model.C_ == 1


def test_the_threshold_is_learned_from_scores_out_of_fold():
    data = small()
    model = ChosenLabelSets([OneAgainstRest()], "threshold", Cs=[1.0], folds=3).fit(data.X, data.Y)
    scores = np.empty(data.Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(data.X):
        scores[test] = OneAgainstRest(C=1.0).fit(data.X[train], data.Y[train]).decision_function(data.X[test])
    assert model.rule_ == learned_rule("threshold", scores, data.Y == 1, loss_named("f1"))


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_have_mean_squared_norm_one(sparse):
    X = np.random.default_rng(0).normal(size=(7, 3)) * 9
    found = UnitRows().fit_transform(csr_array(X) if sparse else X)
    dense = found.toarray() if sparse else found
    assert np.mean(np.sum(dense**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(dense / dense[0, 0], X / X[0, 0])


def test_features_that_are_all_zero_stay():
    np.testing.assert_array_equal(UnitRows().fit_transform(np.zeros((3, 2))), np.zeros((3, 2)))
