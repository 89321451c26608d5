"""`decision=` of `SetClassifier` and `BagClassifier`: the rules of `SetDecisionCV`, learned from held-out scores."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from helpers.estimator_data import frame_data, label_data
from setloss import SetFunction
from setloss.estimators import BagClassifier, BagDecisionCV, SetClassifier, SetDecisionCV, UngroupedWarning
from setloss.estimators.decision_rules import BAG_RULES, LABEL_RULES
from setloss.losses import from_set_function

LEARNED = ("predict_proba", "predict_count_proba", "expected_loss")


@pytest.fixture(scope="module")
def decided():
    """A model that has learned what every rule needs."""
    return SetClassifier("f1", decision="counts").fit(*label_data())


def interrupt(record):
    raise KeyboardInterrupt


# ---------------------------------------------------------------- label sets


@pytest.mark.parametrize("rule", [*LABEL_RULES, "auto"])
def test_a_decision_is_that_of_the_wrapper_around_the_same_model(decided, rule):
    X, Y = label_data()
    wrapper = SetDecisionCV(SetClassifier("f1"), "f1", rule=rule).fit(X, Y)
    model = SetClassifier("f1", decision="auto").fit(X, Y) if rule == "auto" else decided.set_params(decision=rule)
    np.testing.assert_array_equal(model.predict(X), wrapper.predict(X))
    for name in LEARNED:
        np.testing.assert_allclose(getattr(model, name)(X), getattr(wrapper, name)(X))
    assert model.score(X, Y) == pytest.approx(wrapper.score(X, Y))
    decided.set_params(decision="counts")


def test_the_weights_are_those_of_the_sign(decided):
    X, Y = label_data()
    plain = SetClassifier("f1").fit(X, Y)
    np.testing.assert_array_equal(decided.coef_, plain.coef_)
    assert not any(hasattr(plain, name) for name in LEARNED)
    np.testing.assert_array_equal(plain.predict(X), plain.decision_function(X) > 0)


def test_another_loss_needs_no_new_fit(decided):
    X, Y = label_data()
    other = SetDecisionCV(SetClassifier("f1"), "hamming", rule="counts").fit(X, Y)
    np.testing.assert_array_equal(decided.set_params(loss="hamming").predict(X), other.predict(X))
    decided.set_params(loss="f1")


def test_scores_are_log_odds_of_the_chances(decided):
    X, _ = label_data()
    np.testing.assert_allclose(1 / (1 + np.exp(-decided.decision_function(X))), decided.predict_proba(X))


def test_what_was_learned_belongs_to_the_last_fit():
    X, Y = label_data()
    model = SetClassifier(decision="counts").fit(X, Y).set_params(decision="sign").fit(X, Y)
    with pytest.raises(NotFittedError, match="learn the rule 'counts' first: call fit again"):
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
    assert model.rule_name_ == "sign"


# ---------------------------------------------------------------- bags


@pytest.mark.parametrize("rule", [*BAG_RULES, "auto"])
def test_bags_are_decided_as_by_the_wrapper_around_the_same_model(rule):
    X, y, groups = frame_data(40)
    mixed = np.random.default_rng(0).permutation(len(y))
    X, y, groups = X[mixed], y[mixed], groups[mixed]
    model = BagClassifier("f1", decision=rule).fit(X, y, groups=groups)
    wrapper = BagDecisionCV(BagClassifier("f1"), "f1", rule=rule).fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.predict(X, groups), wrapper.predict(X, groups))
    np.testing.assert_allclose(model.predict_proba(X, groups), wrapper.predict_proba(X, groups))
    np.testing.assert_allclose(model.expected_loss(X, groups), wrapper.expected_loss(X, groups))
    assert model.score(X, y, groups) == pytest.approx(wrapper.score(X, y, groups))


def test_a_vote_without_groups_is_said_to_be_of_single_frames():
    X, y, groups = frame_data()
    model = BagClassifier(decision="vote").fit(X, y, groups=groups)
    with pytest.warns(UngroupedWarning, match="every frame is decided as a set of its own"):
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BagClassifier().fit(X, y, groups=groups).predict(X)
    with pytest.raises(ValueError, match="BagClassifier has no decision 'top-k'; the names are sign, counts, vote"):
        BagClassifier(decision="top-k").fit(X, y, groups=groups)
