"""Splits: shuffled by the seed, stratified for single labels and frames, whole bags, and nothing in both parts."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut

from helpers.estimator_data import frame_data, label_data
from setloss.bags import Bags
from setloss.estimators.labels import labels_of
from setloss.estimators.set_layout import bag_splits, label_splits

X, Y = label_data(30)
F, y, groups = frame_data()
MIXED = np.random.default_rng(0).permutation(len(y))


def partition(splits, n):
    """Whether every row is held out once, and is trained on in all other folds."""
    held_out = np.concatenate([test for _, test in splits])
    return sorted(held_out) == list(range(n)) and all(len(train) + len(test) == n for train, test in splits)


def test_label_sets_are_shuffled_by_the_seed():
    labels = labels_of(Y, "test").target
    first, again, other = (label_splits(3, X, labels, seed=seed) for seed in (0, 0, 1))
    assert partition(first, 30)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0][1], other[0][1])


def test_a_single_label_is_stratified():
    rare = (np.arange(30) < 3).astype(int)
    for train, test in label_splits(3, X, labels_of(rare, "test").target):
        assert rare[train].sum() == 2
        assert rare[test].sum() == 1


@pytest.mark.parametrize("cv", [3, np.int64(3), None, LeaveOneGroupOut()])
def test_no_bag_is_ever_split(cv):
    bags = Bags.from_groups(groups[MIXED])
    splits = bag_splits(cv, F[MIXED], y[MIXED] == 1, bags)
    assert partition(splits, len(y))
    assert not any(set(groups[MIXED][train]) & set(groups[MIXED][test]) for train, test in splits)


def test_frames_that_are_bags_of_their_own_are_stratified():
    rare = np.arange(len(y)) < 4
    splits = bag_splits(4, F, rare, Bags.from_offsets(np.arange(len(y) + 1)))
    assert all(rare[test].sum() == 1 for _, test in splits)


def test_boolean_masks_are_splits_too():
    mask = np.arange(30) < 20
    [(train, test)] = label_splits([(mask, ~mask)], X, labels_of(Y, "test").target)
    np.testing.assert_array_equal(train, np.arange(20))
    np.testing.assert_array_equal(test, np.arange(20, 30))
