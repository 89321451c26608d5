"""`BagDecisionCV`: votes found by themselves, sizes never seen, folds that keep bags whole, errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from setloss.decisions import decide
from setloss.decisions.rules import BAG_RULES
from setloss.estimators import BagDecisionCV, UngroupedWarning


def one_label_per_bag(bags=60, largest=8, seed=0, shift=0.5):
    """Bags of one to `largest` frames that share a label; features say little of it. Frames are shuffled."""
    generator = np.random.default_rng(seed)
    label = generator.random(bags) < 0.4
    groups = generator.permutation(np.repeat(np.arange(bags), generator.integers(1, largest + 1, size=bags)))
    y = label[groups]
    X = generator.normal(size=(len(y), 3))
    X[:, 0] += shift * (2 * y - 1)
    return X, y.astype(int), groups


def test_on_bags_of_one_label_it_finds_the_vote_by_itself():
    X, y, groups = one_label_per_bag(150)
    Xt, yt, gt = one_label_per_bag(200, seed=1)
    model = BagDecisionCV().fit(X, y, groups)
    predicted = model.predict(Xt, gt)
    losses = {rule: 1 - model.set_params(rule=rule).score(Xt, yt, gt) for rule in BAG_RULES}
    assert losses["counts"] <= losses["vote"] < losses["threshold"]
    assert all(len(np.unique(predicted[gt == bag])) == 1 for bag in np.unique(gt))


def test_sizes_never_seen():
    X, y, groups = one_label_per_bag(100, largest=6)
    model = BagDecisionCV(cv=2).fit(X, y, groups)
    Xt, yt, gt = one_label_per_bag(30, largest=25, seed=2)
    assert model.score(Xt, yt, gt) > 0.8
    chances = model.predict_count_proba(Xt, gt)
    assert [len(row) for row in chances] == [np.sum(gt == bag) + 1 for bag in np.unique(gt)]
    assert all(row.sum() == pytest.approx(1) for row in chances)


def test_it_is_the_exact_decision_whatever_the_order_of_the_frames():
    X, y, groups = one_label_per_bag(40)
    model = BagDecisionCV(LogisticRegression(), "jaccard").fit(X, y, groups)
    calibration = model.learner_.counts
    bags = model.learner_.data.bags
    order = np.argsort(groups, kind="stable")
    scores = calibration.scores(model.estimator_.decision_function(X[order]))
    best = decide(scores, "jaccard", counts=calibration.counts(bags), bags=bags)
    np.testing.assert_array_equal(model.predict(X, groups)[order], best.sets)
    np.testing.assert_allclose(model.expected_loss(X, groups), best.expected, rtol=1e-5)
    assert model.predict_proba(X, groups).sum(axis=1) == pytest.approx(np.ones(len(y)))


def test_any_frame_classifier_and_any_loss():
    X, y, groups = one_label_per_bag(40)
    model = BagDecisionCV(RandomForestClassifier(10, random_state=0), "curve1", cv=3).fit(X, y, groups)
    for loss in ("curve2", "curve3", "curve4", "dice", "hamming"):
        assert model.set_params(loss=loss).losses(X, y, groups).shape == (40,)


def test_without_groups_and_with_a_fitted_classifier():
    X, y, _ = one_label_per_bag(40, shift=2)
    with pytest.warns(UngroupedWarning, match="every frame is trained as a set of its own"):
        model = BagDecisionCV(loss="hamming").fit(X, y)
    with pytest.warns(UngroupedWarning, match="every frame is judged as a set of its own"):
        assert model.score(X, y) > 0.9
    with pytest.warns(UngroupedWarning, match="every frame is decided as a set of its own"):
        model.predict(X)
    fitted = LogisticRegression().fit(X, y)
    assert BagDecisionCV(fitted, cv="prefit").fit(X, y, np.arange(len(y))).estimator_ is fitted


def test_names_of_classes_and_weights():
    X, y, groups = one_label_per_bag(40)
    names = np.where(y == 1, "yes", "no")
    weights = np.where(groups < 35, 1.0, 0.0)
    model = BagDecisionCV(cv=3).fit(X, names, groups, sample_weight=weights)
    assert set(model.predict(X, groups)) <= {"yes", "no"}
    assert len(model.learner_.data.bags) == 35


def test_sparse_features_keep_their_zeros():
    X, y, groups = one_label_per_bag()
    model = BagDecisionCV().fit(csr_array(X), y, groups)
    assert model.estimator_.steps[0][0] == "maxabsscaler"
    assert model.score(csr_array(X), y, groups) > 0.6


@pytest.mark.parametrize("shape", ["alone", "at the end of a pipeline"])
def test_weights_of_frames_reach_the_classifier(shape):
    X, y, groups = one_label_per_bag()
    classifier = LogisticRegression()
    model = BagDecisionCV(classifier if shape == "alone" else make_pipeline(FunctionTransformer(), classifier))
    weights = np.where(groups % 2, 5.0, 1.0)
    fitted = model.fit(X, y, groups, sample_weight=weights).estimator_
    found = fitted if shape == "alone" else fitted[-1]
    np.testing.assert_allclose(found.coef_, LogisticRegression().fit(X, y, sample_weight=weights).coef_)


def test_data_without_frames_are_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        BagDecisionCV().fit(np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0, dtype=int))


def test_errors_say_what_to_do():
    X, y, groups = one_label_per_bag(40)
    with pytest.raises(ValueError, match="there is no rule 'top-k'; the names are counts, vote, threshold, auto"):
        BagDecisionCV(rule="top-k").fit(X, y, groups)
    with pytest.raises(ValueError, match="splits bag"):
        BagDecisionCV(cv=list(KFold(3).split(X))).fit(X, y, groups)
    with pytest.raises(ValueError, match="groups must name the bag of each"):
        BagDecisionCV().fit(X, y, groups[:-1])
    with pytest.raises(ValueError, match="requires y"):
        BagDecisionCV().fit(X, None, groups)
