"""`decision=` of `SetClassifier` and `BagClassifier`: the rules of `SetDecisionCV`, learned from held-out scores."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.estimator_data import frame_data, label_data
from setloss import FBeta, SetFunction
from setloss.decisions import rules
from setloss.decisions.rules import BAG_RULES, LABEL_RULES
from setloss.estimators import (
    BagClassifier,
    BagDecisionCV,
    SetClassifier,
    SetClassifierCV,
    SetDecisionCV,
    UngroupedWarning,
    base,
    folds,
)
from setloss.estimators.folds import enough_of, learner_of_labels
from setloss.estimators.labels import LabelMatrix
from setloss.losses import from_set_function
from setloss.solvers import Status

LEARNED = ("predict_proba", "predict_count_proba", "expected_loss")


SHARP = {"tol": 1e-9, "max_iter": 10_000}
"""So near to the optimum that folds at three times the gap have the same scores."""


@pytest.fixture(scope="module")
def decided():
    """A model that has learned what every rule needs."""
    return SetClassifier("f1", decision="counts", **SHARP).fit(*label_data(60))


@pytest.fixture(scope="module")
def wrapper():
    """The same around the model."""
    return SetDecisionCV(SetClassifier("f1", **SHARP), "f1", rule="auto", cv=3).fit(*label_data(60))


@pytest.fixture(scope="module")
def frames():
    """Frames of bags that do not lie one after the other."""
    X, y, groups = frame_data(80)
    mixed = np.random.default_rng(0).permutation(len(y))
    return X[mixed], y[mixed], groups[mixed]


@pytest.fixture(scope="module")
def decided_bags(frames):
    """A model of bags that has learned what every rule needs, and the wrapper around the same model."""
    X, y, groups = frames
    model = BagClassifier("f1", decision="auto", **SHARP).fit(X, y, groups=groups)
    return model, BagDecisionCV(BagClassifier("f1", **SHARP), "f1", rule="auto", cv=3).fit(X, y, groups=groups)


def interrupt(record):
    raise KeyboardInterrupt


# ---------------------------------------------------------------- label sets


@pytest.mark.parametrize("rule", [*LABEL_RULES, "auto"])
def test_a_decision_is_that_of_the_wrapper_around_the_same_model(decided, wrapper, rule):
    X, Y = label_data(60)
    wrapper.set_params(rule=rule)
    model = SetClassifier("f1", **SHARP).fit(X, Y) if rule == "auto" else decided.set_params(decision=rule)
    np.testing.assert_array_equal(model.predict(X), wrapper.predict(X))
    for name in LEARNED:
        np.testing.assert_allclose(getattr(model, name)(X), getattr(wrapper, name)(X), atol=1e-3)
    assert model.score(X, Y) == pytest.approx(wrapper.score(X, Y))
    decided.set_params(decision="counts")


def test_the_weights_are_those_of_the_sign(decided):
    X, Y = label_data(60)
    plain = SetClassifier("f1", decision="sign", **SHARP).fit(X, Y)
    np.testing.assert_array_equal(decided.coef_, plain.coef_)
    assert not any(hasattr(plain, name) for name in LEARNED)
    np.testing.assert_array_equal(plain.predict(X), plain.decision_function(X) > 0)


def test_another_loss_needs_no_new_fit(decided):
    X, Y = label_data(60)
    other = SetDecisionCV(SetClassifier("f1", **SHARP), "hamming", rule="counts", cv=3).fit(X, Y)
    np.testing.assert_array_equal(decided.set_params(loss="hamming").predict(X), other.predict(X))
    decided.set_params(loss="f1")


def test_scores_are_linear_whatever_decides(decided):
    X, _ = label_data(60)
    np.testing.assert_allclose(decided.decision_function(X), X @ decided.coef_.T + decided.intercept_)


def test_what_was_learned_belongs_to_the_last_fit():
    X, Y = label_data()
    model = SetClassifier(decision="counts").fit(X, Y).set_params(decision="sign").fit(X, Y)
    with pytest.raises(NotFittedError, match="there is no count model of held-out scores; call fit again"):
        model.set_params(decision="counts").predict(X)


def test_missing_labels_and_weights_of_zero_are_left_out():
    X, Y = label_data()
    gaps = Y.astype(float)
    gaps[3] = np.nan
    gaps[5, 1] = np.nan
    weights = np.ones(len(Y))
    weights[7] = 0
    model = SetClassifier(decision="counts").fit(X, gaps, sample_weight=weights)
    assert len(model.learner_.data.weights) == len(Y) - 2
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"decision": "vote"},
            ValueError,
            "has no decision 'vote'; the names are sign, counts, plug-in",
        ),
        (
            {"decision": "counts", "loss": from_set_function(SetFunction.symmetric([0, 1, 1, 2]))},
            TypeError,
            "depends on which elements are wrong",
        ),
    ],
)
def test_errors_say_what_to_do(options, error, words):
    with pytest.raises(error, match=words):
        SetClassifier(**options).fit(*label_data())


# ---------------------------------------------------------------- the default


def test_the_default_learns_the_best_rule():
    X, Y = label_data(60)
    model = SetClassifier("f1").fit(X, Y)
    assert model.decision == "auto"
    assert model.rule_name_ in LABEL_RULES
    assert set(model.rule_losses_) == set(LABEL_RULES)
    assert model.predict_proba(X).shape == Y.shape
    X, y, groups = frame_data(80)
    bags = BagClassifier().fit(X, y, groups=groups)
    assert bags.rule_name_ in BAG_RULES
    assert len(bags.learner_.data.folds) == 80


def of_one_bag(n=60):
    """Bags of four frames, one of which has all positives."""
    X, _ = label_data(4 * n)
    groups = np.repeat(np.arange(n), 4)
    return BagClassifier(), X, (groups == 3).astype(int), {"groups": groups}


def by_sign():
    X, Y = label_data(60)
    pairs = from_set_function(SetFunction.symmetric([0, 1, 1, 2]))
    gaps = Y.astype(float)
    gaps[12:, 1:] = np.nan
    few = np.zeros(60)
    few[:19] = 1
    alone = np.arange(60) == np.argmax(Y.any(axis=1))
    return {
        "19 examples": (SetClassifier(), X[:19], Y[:19], {}),
        "19 of positive weight": (SetClassifier(), X, Y, {"sample_weight": few}),
        "positives of one example": (SetClassifier(), X, Y * alone[:, None], {}),
        "one label": (SetClassifier(), X, Y[:, 0], {}),
        "one known label each": (SetClassifier(), X, gaps, {}),
        "no loss of counts": (SetClassifier(pairs), X, Y, {}),
        "bags of one frame": (BagClassifier(), X, Y[:, 0], {"groups": np.arange(60)}),
        "positives in one bag": of_one_bag(),
        "19 examples, search": (SetClassifierCV(Cs=[1.0], cv=2), X[:19], Y[:19], {}),
    }


@pytest.mark.parametrize("case", by_sign())
def test_where_there_is_nothing_to_learn_the_default_is_the_sign(case):
    model, X, y, more = by_sign()[case]
    model.fit(X, y, **more)
    assert model.rule_name_ == "sign"
    groups = {name: column for name, column in more.items() if name == "groups"}
    np.testing.assert_array_equal(model.predict(X, **groups) == model.classes_[1], model.decision_function(X) > 0)
    assert not any(hasattr(model, name) for name in (*LEARNED, "learner_"))
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X)
    assert "decision='auto' learns them from 20 sets" in str(caught.value.__cause__)


def test_the_sign_decides_if_time_is_up_before_a_rule_is_learned(monkeypatch):
    X, Y = label_data(60)
    clock = iter([0.0, *[100.0] * 10])
    for module in (base, folds):
        monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    with pytest.warns(ConvergenceWarning, match="reached max_time before decision='auto' was learned"):
        model = SetClassifier(max_time=60.0).fit(X, Y)
    assert (model.rule_name_, model.rule_status_) == ("sign", Status.TIME_LIMIT)
    assert model.dual_gap_ <= 1e-3


@pytest.mark.parametrize(("sets", "folds"), [(60, 3), (2999, 3), (3000, 2), (6000, 1), (10**7, 1)])
def test_folds_are_held_out_until_there_are_enough_sets(sets, folds):
    assert len(enough_of([(None, None)] * 3, sets)) == folds


def test_of_many_examples_some_are_held_out(monkeypatch):
    monkeypatch.setattr(folds, "ENOUGH_HELD_OUT", 20)
    X, Y = label_data(60)
    model = SetClassifier().fit(X, Y)
    assert len(model.learner_.data.weights) == 20
    assert len(model.rule_losses_) == len(LABEL_RULES)
    X, y, groups = frame_data(90)
    bags = BagClassifier().fit(X, y, groups=groups)
    assert 20 <= len(bags.learner_.data.weights) <= 40


def test_count_models_are_left_out_where_they_would_take_for_ever(monkeypatch):
    X, y, groups = frame_data(90)
    monkeypatch.setattr(rules, "MOST_WORK", 1000)
    some = BagClassifier().fit(X, y, groups=groups)
    assert 50 <= len(some.learner_.studied.weights) < 90
    assert "counts" in some.rule_losses_
    monkeypatch.setattr(rules, "MOST_WORK", 100)
    none = BagClassifier().fit(X, y, groups=groups)
    assert set(none.rule_losses_) == {"vote", "threshold"}
    assert len(none.learner_.studied.weights) == 50


@pytest.fixture(scope="module")
def labels_of_scores():
    """Labels with the chances that scores say, and what is learned from them."""
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(400, 6)) * 2 - 1
    truth = generator.random(scores.shape) < 1 / (1 + np.exp(-scores))
    labels = LabelMatrix(truth, np.ones_like(truth), np.array([0, 1]))
    return labels, learner_of_labels(scores, labels, np.ones(len(scores)), None)


@pytest.mark.parametrize(("unit", "shift"), [(0.01, 0.0), (100.0, 0.0), (1.0, 1.5), (0.01, -0.01)])
def test_the_unit_of_scores_and_a_shift_of_all_change_no_decision(labels_of_scores, unit, shift):
    labels, plain = labels_of_scores
    moved = learner_of_labels(unit * plain.data.scores + shift, labels, plain.data.weights, None)
    for rule in ("counts", "plug-in"):
        sets = [found.rule(rule, FBeta(1.0)).sets(found.data.scores, FBeta(1.0)) for found in (plain, moved)]
        assert np.mean(sets[0] != sets[1]) < 0.01
    assert moved.counts.scale * unit == pytest.approx(plain.counts.scale, rel=0.01)
    assert plain.counts.scale == pytest.approx(1, abs=0.1)


def test_a_wrapped_model_of_ours_learns_no_decision_of_its_own():
    X, Y = label_data(60)
    inner = make_pipeline(StandardScaler(), SetClassifier())
    wrapper = SetDecisionCV(inner, cv=2).fit(X, Y)
    assert not hasattr(wrapper.estimator_[-1], "learner_")
    assert inner[-1].decision == "auto"
    fitted = SetClassifier().fit(X, Y)
    prefit = SetDecisionCV(fitted, cv="prefit").fit(X, Y)
    np.testing.assert_array_equal(prefit.learner_.data.scores, fitted.decision_function(X))
    assert fitted.rule_name_ != "sign"


# ---------------------------------------------------------------- interruption


def test_after_an_interruption_the_sign_decides():
    X, Y = label_data()
    with (
        pytest.warns(ConvergenceWarning, match="stopped at a relative duality gap"),
        pytest.warns(ConvergenceWarning, match="before decision='counts' was learned; it predicts by the sign"),
    ):
        model = SetClassifier(decision="counts", callbacks=(interrupt,)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model._scores(X) > 0)
    with pytest.raises(NotFittedError, match="no count model"):
        model.predict_proba(X)


def test_a_fold_that_is_cut_short_is_not_learned_from(monkeypatch):
    X, y, groups = frame_data()
    fit, calls = BagClassifier.fit, []

    def cut(self, *arguments, **columns):
        calls.append(self.decision)
        self.callbacks = (interrupt,) if len(calls) == 3 else ()
        return fit(self, *arguments, **columns)

    monkeypatch.setattr(BagClassifier, "fit", cut)
    with pytest.warns(ConvergenceWarning, match="BagClassifier was interrupted"):
        model = BagClassifier(decision="vote").fit(X, y, groups=groups)
    assert calls == ["vote", "sign", "sign"]
    assert (model.rule_name_, model.rule_status_) == ("sign", Status.INTERRUPTED)
    monkeypatch.setattr(BagClassifier, "fit", fit)
    assert model.fit(X, y, groups=groups).rule_status_ is Status.CONVERGED


# ---------------------------------------------------------------- bags


@pytest.mark.parametrize("rule", [*BAG_RULES, "auto"])
def test_bags_are_decided_as_by_the_wrapper_around_the_same_model(frames, decided_bags, rule):
    X, y, groups = frames
    model, wrapper = decided_bags
    model.set_params(decision=rule)
    wrapper.set_params(rule=rule)
    np.testing.assert_array_equal(model.predict(X, groups), wrapper.predict(X, groups))
    np.testing.assert_allclose(model.predict_proba(X, groups), wrapper.predict_proba(X, groups), atol=1e-3)
    np.testing.assert_allclose(model.expected_loss(X, groups), wrapper.expected_loss(X, groups), atol=1e-3)
    assert model.score(X, y, groups) == pytest.approx(wrapper.score(X, y, groups))


def test_a_vote_without_groups_is_said_to_be_of_single_frames():
    X, y, groups = frame_data()
    model = BagClassifier(decision="vote").fit(X, y, groups=groups)
    with pytest.warns(UngroupedWarning, match="every frame is decided as a set of its own"):
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BagClassifier(decision="sign").fit(X, y, groups=groups).predict(X)
    with pytest.raises(ValueError, match="BagClassifier has no decision 'top-k'; the names are sign, counts, vote"):
        BagClassifier(decision="top-k").fit(X, y, groups=groups)
