"""`SetDecisionCV`: any classifier, held-out scores, many labels, frozen classifiers, routing."""

import pickle
import warnings
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.estimator_data import one_or_two_labels, scored_bags
from setloss.bags import Bags
from setloss.decisions import decide
from setloss.estimators import SetClassifier, SetDecision, SetDecisionCV, UngroupedWarning
from setloss.estimators.label_scores import label_outputs

LINEAR = OneVsRestClassifier(LogisticRegression())
X, Y = one_or_two_labels()


def one_label_per_bag(bags=60, **options):
    """`scored_bags` with the scores as the only feature."""
    scores, y, groups = scored_bags(bags, **options)
    return scores[:, None], y, groups


FOLDS = "a rule is learned on folds, and those of weighted examples are not those of repeated ones"
SETS = "the set of least expected loss is no threshold 0 of each score"
ONE = "LogisticRegression learns one label"


def expected_failures(estimator):
    """What no rule that is learned, and decides for the set, can do."""
    if isinstance(estimator.estimator, LogisticRegression):
        return {"check_classifier_multioutput": ONE}
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in ("dense", "sparse")}
    return weights | {"check_classifier_multioutput": SETS}


@parametrize_with_checks(
    [SetDecisionCV(LINEAR, rule="counts", cv=2), SetDecisionCV(LogisticRegression(), rule="counts", cv=2)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_accepts_it(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ---------------------------------------------------------------- any classifier


@pytest.mark.parametrize(
    "estimator",
    [
        LINEAR,
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
        RandomForestClassifier(20, random_state=0),
        OneVsRestClassifier(RidgeClassifier()),
        make_pipeline(StandardScaler(), LINEAR),
        SetClassifier(C=0.1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_multi_label_classifier(estimator):
    model = SetDecisionCV(estimator, cv=3).fit(X[:150], Y[:150])
    assert isinstance(model.decision_, SetDecision)
    assert model.predict(X).shape == Y.shape
    assert model.score(X[150:], Y[150:]) > 0.5
    assert model.predict_proba(X).shape == Y.shape
    assert model.expected_loss(X).shape == (len(X),)
    assert model.expected_score(X[150:]).value == pytest.approx(model.score(X[150:], Y[150:]), abs=0.15)


def test_scores_are_those_of_folds_that_were_not_trained_on():
    splits = list(KFold(3).split(X))
    scores = np.empty(Y.shape)
    for train, test in splits:
        scores[test] = clone(LINEAR).fit(X[train], Y[train]).decision_function(X[test])
    model = SetDecisionCV(LINEAR, rule="threshold", cv=splits).fit(X, Y)
    np.testing.assert_allclose(model.thresholds(), SetDecision(rule="threshold").fit(scores, Y).thresholds())
    np.testing.assert_array_equal(
        model.predict(X), model.decision_.predict(clone(LINEAR).fit(X, Y).decision_function(X))
    )


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestClassifier(LogisticRegression(C=100.0, max_iter=8, tol=0.1, solver="liblinear")),
        ExtraTreesClassifier(3, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_labels_than_an_int8_counts(estimator):
    """scikit-learn numbers columns in the type of y: int8 made all scores of 129 labels wrong."""
    generator, which = np.random.default_rng(0), np.tile(np.arange(129), 4)
    X = generator.normal(size=(129, 40))[which] + 0.1 * generator.normal(size=(len(which), 40))
    Y = (which[:, None] == np.arange(129)).astype(np.int8)
    model = SetDecisionCV(estimator, rule="half", cv=2).fit(X, Y)
    assert model.decision_.rule_losses_["threshold"][0] < 0.5
    assert np.mean(np.argmax(model.predict_proba(X), axis=1) == which) > 0.9


@pytest.mark.parametrize("named", [True, False])
def test_texts_may_be_a_list_an_array_or_a_series(named):
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    Y = generator.random((90, 3)) < 0.4
    words = np.array(["oil", "gas", "gold"])
    texts = [" ".join([*words[row], *generator.choice(["the", "a", "of", "in", "on"], 6)]) for row in Y]
    estimator = make_pipeline(TfidfVectorizer(), LINEAR) if named else None
    forms = [texts, np.array(texts, dtype=object), np.array(texts), pandas.Series(texts, name="body")]
    models = [SetDecisionCV(estimator, cv=2).fit(form, Y) for form in (forms if named else forms[::3])]
    assert models[0].score(texts, Y) > 0.8
    for model in models:
        for form in forms:
            np.testing.assert_array_equal(model.predict(form), models[0].predict(texts))
    with pytest.raises(ValueError, match="holds text"):
        SetDecisionCV(RandomForestClassifier(3), cv=2).fit(texts, Y)


def test_labels_that_are_constant_in_a_fold_do_no_harm():
    constant = np.column_stack([Y, np.zeros(200, dtype=int), np.eye(200, dtype=int)[7], np.ones(200, dtype=int)])
    predicted = SetDecisionCV(MultiOutputClassifier(LogisticRegression()), cv=3).fit(X, constant).predict(X)
    assert not predicted[:, 5].any()
    assert predicted[:, 7].all()


def test_missing_labels():
    X, Y = one_or_two_labels(80)
    gaps = Y.astype(float)
    gaps[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    gaps[3] = np.nan
    assert SetDecisionCV(SetClassifier(C=0.1), cv=2).fit(X, gaps).score(X, Y) > 0.6
    splits = [(np.arange(40), np.arange(40, 80)), (np.arange(40, 80), np.arange(40))]
    known = np.delete(np.arange(80), 3)
    inside = [tuple(np.flatnonzero(np.isin(known, part)) for part in split) for split in splits]
    with_it = SetDecisionCV(cv=splits).fit(X, gaps, sample_weight=np.where(np.arange(80) == 9, 0.0, 1.0))
    without = SetDecisionCV(cv=inside).fit(X[known], gaps[known], sample_weight=np.where(known == 9, 0.0, 1.0))
    assert with_it.rule_losses_ == without.rule_losses_, "a row without a known label is no set"
    with pytest.raises(ValueError, match=r"missing labels.*SetClassifier"):
        SetDecisionCV(MultiOutputClassifier(LogisticRegression()), cv=2).fit(X, gaps)


def test_data_frames_and_sparse_matrices_reach_the_classifier():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    table = pandas.DataFrame(Y, columns=list("abcde"))
    model = SetDecisionCV(make_pipeline(StandardScaler(), LINEAR), cv=2).fit(frame, table)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.label_names_) == list("abcde")
    assert not hasattr(clone(model).fit(frame, table).fit(X, Y), "feature_names_in_")
    with pytest.raises(ValueError, match="columns of y"):
        model.score(frame, table[list("bacde")])
    sparse = SetDecisionCV(LINEAR, cv=2).fit(csr_array(X), csr_array(Y))
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), SetDecisionCV(LINEAR, cv=2).fit(X, Y).predict(X))


def test_what_a_classifier_says_is_checked_and_may_be_infinite():
    def says(method, values):
        return label_outputs(SimpleNamespace(**{method: lambda X: np.array([values])}), None, 2)[0]

    np.testing.assert_array_equal(says("decision_function", [np.inf, -3.0]), [[np.inf, -3.0]])
    for method, values, words in (
        ("predict_proba", [np.nan, 0.5], "scores of SimpleNamespace .*NaN"),
        ("decision_function", [0.0, np.nan], "scores of SimpleNamespace .*NaN"),
        ("predict_proba", [1.5, 0.5], "predict_proba of SimpleNamespace .*1.5"),
    ):
        with pytest.raises(ValueError, match=words):
            says(method, values)


# ---------------------------------------------------------------- which classifier


def test_of_a_list_the_likeliest_is_kept(caplog):
    noise = make_pipeline(FunctionTransformer(np.zeros_like), LINEAR)
    model = SetDecisionCV([noise, LINEAR], cv=3, verbose=1).fit(X, Y)
    assert isinstance(model.estimator_, OneVsRestClassifier)
    assert "log-likelihood" in caplog.text
    alone = SetDecisionCV(LINEAR, cv=3).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


# ---------------------------------------------------------------- fitted classifiers, routing, weights


@pytest.mark.parametrize("how", ["prefit", "frozen"])
def test_a_fitted_classifier_is_used_as_it_is(how):
    fitted = clone(LINEAR).fit(X[:100], Y[:100])
    calibrated_on = Y[100:160] * (np.arange(5) < 4)
    calibrated_on[0, 4] = 1  # a label that most folds lack
    given = {"estimator": fitted, "cv": "prefit"} if how == "prefit" else {"estimator": FrozenEstimator(fitted)}
    model = SetDecisionCV(**given).fit(X[100:160], calibrated_on)
    assert model.estimator_ is given["estimator"]
    assert model.score(X, Y) > 0.5
    fours, frozen = np.arange(200) // 4, FrozenEstimator(LogisticRegression().fit(X, Y[:, 0]))
    assert SetDecisionCV(frozen).fit(X, Y[:, 0], groups=fours).predict(X, groups=fours).shape == (200,)


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


def test_weights_and_parameters_of_fit_are_passed_on_by_fold_and_as_they_are_routed():
    few = X[:60], Y[:60]
    Recorder.seen.clear()
    SetDecisionCV(Recorder(), cv=3).fit(*few, sample_weight=np.ones(60), note="x")
    assert Recorder.seen == [(40, "x")] * 3 + [(60, "x")]
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=True, note=False)
        SetDecisionCV(inner, cv=KFold(3)).fit(*few, sample_weight=np.ones(60))
    assert Recorder.seen == [(40, None)] * 3 + [(60, None)]


def test_a_fitted_model_keeps_no_training_data():
    sizes = []
    for n in (200, 2000):
        X, Y = one_or_two_labels(n)
        sizes.append(len(pickle.dumps(SetDecisionCV(LINEAR, cv=2).fit(X, Y, sample_weight=np.ones(n)))))
    assert abs(sizes[1] - sizes[0]) < 300


# ---------------------------------------------------------------- bags


def test_bags_are_decided_exactly_whatever_the_order_of_the_frames():
    X, y, groups = one_label_per_bag(40)
    model = SetDecisionCV(LogisticRegression(), "jaccard", rule="counts").fit(X, y, groups=groups)
    order = np.argsort(groups, kind="stable")
    calibration, sizes = model.decision_.calibration_, np.unique(groups, return_counts=True)[1]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    log_odds = calibration.log_odds(model.estimator_.decision_function(X[order]))
    best = decide(log_odds, "jaccard", counts=calibration.counts(Bags.from_offsets(offsets)), bags=offsets)
    np.testing.assert_array_equal(model.predict(X, groups=groups)[order], best.sets)
    np.testing.assert_allclose(model.expected_loss(X, groups=groups), best.expected_loss, rtol=1e-5)
    assert model.predict_proba(X, groups=groups).sum(axis=1) == pytest.approx(np.ones(len(y)))


def test_sizes_never_seen_and_any_loss():
    X, y, groups = one_label_per_bag(100, largest=6, seed=12)
    model = SetDecisionCV(rule="counts", cv=2).fit(X, y, groups=groups)
    Xt, yt, gt = one_label_per_bag(300, largest=25, seed=2)
    assert model.score(Xt, yt, groups=gt) > 0.8
    for loss in ("curve1", "curve4", "dice", "hamming"):
        assert model.set_params(loss=loss).losses(Xt, yt, groups=gt).shape == (300,)


def test_bags_without_groups_names_of_classes_and_weights():
    X, y, groups = one_label_per_bag(40)
    X[:, 0] += 3.0 * y
    with pytest.warns(UngroupedWarning, match="trained as a set of its own"):
        model = SetDecisionCV(LogisticRegression(), loss="hamming").fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.9  # the fit said it
    names, weights = np.where(y == 1, "yes", "no"), np.where(groups < 35, 1.0, 0.0)
    model = SetDecisionCV(cv=3).fit(X, names, groups=groups, sample_weight=weights)
    assert set(model.predict(X, groups=groups)) <= {"yes", "no"}
    assert model.score(X, names, groups=groups) > 0.8


def test_a_frame_of_weight_zero_stays_in_its_bag():
    X, y, groups = one_label_per_bag()
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=len(y))
    means = (np.bincount(groups, weights) / np.bincount(groups))[groups]
    fitted = LogisticRegression().fit(X, y)
    first, second = (
        SetDecisionCV(fitted, cv="prefit").fit(X, y, groups=groups, sample_weight=given) for given in (weights, means)
    )
    for rule, losses in first.rule_losses_.items():
        assert losses == pytest.approx(second.rule_losses_[rule])


def test_groups_and_weights_reach_the_classifier_of_frames():
    X, y, groups = one_label_per_bag()
    weights = np.where(groups % 2, 5.0, 1.0)
    model = SetDecisionCV(make_pipeline(FunctionTransformer(), LogisticRegression()))
    fitted = model.fit(X, y, groups=groups, sample_weight=weights).estimator_[-1]
    np.testing.assert_allclose(fitted.coef_, LogisticRegression().fit(X, y, sample_weight=weights).coef_)
    bags = SetDecisionCV(SetClassifier(), cv=2).fit(X, y, groups=groups).estimator_
    np.testing.assert_allclose(bags.coef_, SetClassifier().fit(X, y, groups=groups).coef_, atol=1e-6)


# ---------------------------------------------------------------- what was learned, and what is asked for


def test_scores_of_a_forest_mean_the_same_as_an_array():
    forest = RandomForestClassifier(10, random_state=0).fit(X[:100], Y[:100])
    model = SetDecisionCV(forest, rule="counts", cv="prefit").fit(X[100:], Y[100:])
    chances = np.column_stack([part[:, 1] for part in forest.predict_proba(X)])
    assert (chances[100:] == 0).any()
    array = SetDecision(rule="counts", scores="probabilities").fit(chances[100:], Y[100:])
    np.testing.assert_array_equal(array.predict_proba(chances), model.predict_proba(X))
    with np.errstate(divide="ignore"):
        log_odds = np.log(chances) - np.log1p(-chances)
    np.testing.assert_allclose(model.decision_.predict_proba(log_odds), model.predict_proba(X))


def test_predict_decides_for_its_own_parameters_and_leaves_the_decision_alone():
    model = SetDecisionCV(LINEAR, rule="counts", cv=2).fit(X, Y)
    before = model.predict(X)
    decision = model.decision_.set_params(loss="hamming")
    np.testing.assert_array_equal(model.predict(X), before)
    scores = model.estimator_.decision_function(X)
    np.testing.assert_array_equal(decision.predict(scores), model.set_params(loss="hamming").predict(X))
    np.testing.assert_array_equal(model.predict(X), clone(model).fit(X, Y).predict(X))
    assert model.loss == "hamming"


def test_a_masked_x_is_refused_after_the_fit_too():
    model = SetDecisionCV(LINEAR, rule="counts", cv=2).fit(X, Y)
    for method in (model.predict, model.predict_proba, model.expected_loss):
        with pytest.raises(ValueError, match=r"X .*masked.*filled"):
            method(np.ma.masked_array(X, X > 1))
