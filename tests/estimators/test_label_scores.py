"""Held-out scores: those of folds, without the classifiers that gave them."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import KFold

from helpers.estimator_data import one_or_two_labels
from setloss.estimators.label_scores import gathered, label_outputs, out_of_fold
from setloss.estimators.labels import labels_of


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
