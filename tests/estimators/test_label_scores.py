"""Held-out scores, those of folds, without the classifiers that gave them; a classifier for each label."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputClassifier

from helpers.estimator_data import one_or_two_labels
from setloss.estimators import SetDecisionCV
from setloss.estimators.label_scores import LabelwiseClassifier, fit_scorer, gathered, label_outputs, out_of_fold
from setloss.estimators.labels import labels_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, :2] + RNG.normal(size=(80, 2)) > 0).astype(float)
HOLES = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
WEIGHTS = RNG.random(80)


def test_held_out_scores_keep_no_classifier_and_are_those_of_the_folds():
    """The trees of all folds were in memory at a time."""
    X, Y = one_or_two_labels(60)
    trees, splits = ExtraTreesClassifier(5, min_samples_leaf=3, random_state=0), list(KFold(3).split(X))
    outputs = list(out_of_fold(trees, X, labels_of(Y, "test"), splits, {}, None))
    assert all(scorer.estimator is None for _, scorer, _ in outputs)
    rows, scores, certainty = gathered(outputs)
    np.testing.assert_array_equal(rows, np.arange(60))
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= certainty
    for train, test in splits:
        chances, _ = label_outputs(clone(trees).fit(X[train], Y[train]), X[test], Y.shape[1])
        inside = (chances > 0) & (chances < 1)
        np.testing.assert_allclose(1 / (1 + np.exp(-scores[test][inside])), chances[inside])


def test_labels_of_one_value_in_the_training_rows_have_the_log_odds_of_half_an_example():
    X, Y = one_or_two_labels(60)
    Y[:, 1], Y[:, 3] = 0, 1
    scorer = fit_scorer(LogisticRegression(), X, labels_of(Y[:, 1:4], "test"), np.arange(40), {})
    scores = scorer.scores(X)
    np.testing.assert_allclose(scores[:, [0, 2]], np.tile([-np.log(81), np.log(81)], (60, 1)))
    alone = LogisticRegression().fit(X[:40], Y[:40, 2])
    np.testing.assert_allclose(scores[:, 1], alone.decision_function(X))


# ---------------------------------------------------------------- a classifier for each label


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_each_label_is_learned_from_the_rows_where_it_is_known(weights):
    model = LabelwiseClassifier(LogisticRegression()).fit(X, HOLES, sample_weight=weights)
    for j, chances in enumerate(model.predict_proba(X)):
        known = ~np.isnan(HOLES[:, j])
        given = None if weights is None else weights[known]
        alone = LogisticRegression().fit(X[known], HOLES[known, j], sample_weight=given)
        np.testing.assert_array_equal(chances, alone.predict_proba(X))


def test_without_holes_it_is_that_of_scikit_learn():
    ours, theirs = (kind(LogisticRegression()).fit(X, Y) for kind in (LabelwiseClassifier, MultiOutputClassifier))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    flat = LabelwiseClassifier(LogisticRegression()).fit(X, Y[:, 0])
    np.testing.assert_array_equal(flat.predict(X)[:, 0], theirs.predict(X)[:, 0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_default_takes_missing_labels_of_tables_and_arrays():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    for features in (X, table):
        model = SetDecisionCV(cv=2).fit(features, pd.DataFrame(HOLES, columns=["oil", "gas"]))
        assert model.score(features, Y) > 0.6
        named = model.predict_names(features)
        assert [set(row) for row in named] == [
            {name for name, chosen in zip(("oil", "gas"), row, strict=True) if chosen}
            for row in model.predict(features)
        ]
    with pytest.raises(AttributeError, match="fit with a table y"):
        SetDecisionCV(cv=2).fit(X, Y).predict_names(X)
