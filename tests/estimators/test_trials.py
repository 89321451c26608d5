"""The choice of a classifier: kinds by held-out loss, preparations and C by held-out likelihood."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import Normalizer

from helpers.estimator_data import one_or_two_labels
from setloss.decisions.rules import RuleLearner
from setloss.estimators import SetDecisionCV, trials
from setloss.estimators.fit_log import innermost

LINEAR = OneVsRestClassifier(LogisticRegression())
TREES = ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0)


@pytest.mark.parametrize("peak", range(13))
@pytest.mark.parametrize("start", [0, 4, 12])
def test_a_path_is_climbed_from_its_start_and_as_far_as_it_rises(start, peak):
    asked = []
    assert trials._climb(lambda i, j: asked.append(i) or abs(i - peak) < abs(j - peak), start, 13) == peak
    assert len(set(asked)) <= abs(peak - start) + 3


def test_the_preparation_that_is_likeliest_is_taken_whichever_it_is():
    """Rows of very different lengths, whose direction says the labels: as given they say little."""
    generator = np.random.default_rng(0)
    Y = (generator.random((160, 2)) < 0.5).astype(int)
    X = np.abs(generator.normal(1, 0.3, size=(160, 6)))
    X[:, :2] *= np.where(Y == 1, 1.6, 0.4)
    lengths = generator.lognormal(0, 2, size=(160, 1))
    assert isinstance(SetDecisionCV(cv=2).fit(csr_array(X * lengths), Y).estimator_[0], Normalizer)


def test_kinds_are_compared_on_another_fold_than_their_rules_are_learned_on(monkeypatch):
    """Even where one fold holds out enough sets: judged on a single one, all kinds are as good and the first wins."""
    monkeypatch.setattr(trials, "ENOUGH_HELD_OUT", 1)
    X = np.random.default_rng(0).normal(size=(200, 6))
    products = (X[:, :3] * X[:, 3:] > 0).astype(int)
    assert isinstance(SetDecisionCV([LINEAR, TREES], cv=2).fit(X, products).estimator_, ExtraTreesClassifier)


def test_the_path_of_c_goes_on_while_its_edge_is_best():
    """Labels without noise: the less shrunk the likelier."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    model = SetDecisionCV(cv=2).fit(csr_array(X), (X[:, :3] > 0).astype(int))
    assert innermost(model.estimator_).C >= 100


@pytest.mark.parametrize("prefit", [False, True])
def test_kinds_are_compared_by_held_out_loss_and_not_by_likelihood(monkeypatch, prefit):
    """The likelier kind is not taken if it decides worse."""
    X, Y = one_or_two_labels(90)
    seen = []
    given = [LINEAR, TREES]
    if prefit:
        given = [LINEAR.fit(X, Y), TREES.fit(X, Y)]

    def likelihood(learner, *how):
        values, weights = learner.log_likelihoods()
        return np.average(values, weights=weights)

    monkeypatch.setattr(
        RuleLearner, "decided_loss", lambda learner, *_: seen.append(likelihood(learner)) or -len(seen)
    )
    model = SetDecisionCV(given, cv="prefit" if prefit else 2).fit(X, Y)
    assert isinstance(model.estimator_, ExtraTreesClassifier)
    assert len(seen) == 2
    monkeypatch.setattr(RuleLearner, "decided_loss", likelihood)
    least_likely = SetDecisionCV(given, cv="prefit" if prefit else 2).fit(X, Y)
    assert isinstance(least_likely.estimator_, (OneVsRestClassifier, ExtraTreesClassifier)[int(np.argmin(seen))])


def test_many_examples_are_compared_on_the_first_folds(monkeypatch):
    """The one that is kept then goes on with the other folds."""
    X, Y = one_or_two_labels(75)
    whole = SetDecisionCV([LINEAR, TREES], cv=4).fit(X, Y)
    monkeypatch.setattr(trials, "ENOUGH_HELD_OUT", 1)
    few = SetDecisionCV([LINEAR, TREES], cv=4).fit(X, Y)
    assert few.decision_.rule_losses_ == whole.decision_.rule_losses_


def test_a_single_candidate_is_not_compared(monkeypatch):
    monkeypatch.setattr(RuleLearner, "decided_loss", None)
    monkeypatch.setattr(trials, "_climb", None)
    X, Y = one_or_two_labels(60)
    assert SetDecisionCV(LINEAR, cv=2).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize(("gain", "likelier", "folds"), [(0.3, True, [1]), (-0.3, False, [1]), (0.1, False, [1, 3])])
def test_more_folds_are_compared_where_few_leave_a_doubt(monkeypatch, gain, likelier, folds):
    asked = []
    gains = {1: (gain, 0.1), 3: (-0.2, 0.1)}
    monkeypatch.setattr(trials.Trial, "gain", lambda one, other, folds: asked.append(folds) or gains[folds])
    trial = trials.Trial(None, trials.Examples(None, None, range(1000), None, [None] * 5, None, None))
    assert trial.is_likelier(trial) == likelier
    assert asked == folds


def test_as_many_folds_are_compared_as_hold_out_enough_sets():
    splits = [(np.arange(0), np.arange(0))] * 5
    for n, enough, folds in ((333, 200, 4), (1000, 200, 1), (1000, 201, 2), (100, 200, 5)):
        some = trials.Examples(None, None, range(n), None, splits, None, None)
        assert some.folds_with(enough) == folds
        assert some.folds_with(enough, fewest=2) == max(folds, 2)
