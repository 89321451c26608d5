"""Which elements form a set, and splits: shuffled by the seed, stratified, whole groups, nothing in both parts."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneGroupOut

from helpers.estimator_data import frame_data, label_data
from setloss.estimators.labels import labels_of
from setloss.estimators.set_layout import SetLayout

X, Y = label_data(30)
F, y, groups = frame_data()
MIXED = np.random.default_rng(0).permutation(len(y))
NAMES, FRAMES = groups[MIXED], labels_of(y[MIXED], "test")
ROWS, GROUPS = SetLayout.of(30, None, flat=False), SetLayout.of(len(y), NAMES, flat=True)


def is_partition(splits, n):
    """Whether every row is held out once, and is trained on in all other folds."""
    held_out = np.concatenate([test for _, test in splits])
    return sorted(held_out) == list(range(n)) and all(len(train) + len(test) == n for train, test in splits)


@pytest.mark.parametrize("cv", [3, None])
def test_rows_are_shuffled_by_the_seed(cv):
    first, again, other = (ROWS.splits(cv, X, labels_of(Y, "test"), seed=seed) for seed in (0, 0, 1))
    assert is_partition(first, 30)
    assert len(first) == (cv or 5)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0][1], other[0][1])


@pytest.mark.parametrize("flat", [False, True])
def test_a_single_label_is_stratified_where_no_rows_belong_together(flat):
    rare = (np.arange(30) < 3).astype(int)
    labels = labels_of(rare if flat else rare[:, None], "test")
    for train, test in SetLayout.of(30, None, flat).splits(3, X, labels):
        assert rare[train].sum() == 2
        assert rare[test].sum() == 1


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("cv", [3, np.int64(3), None, LeaveOneGroupOut()])
def test_no_group_is_ever_split(cv, flat):
    labels = FRAMES if flat else labels_of(np.stack([y, 1 - y], axis=1)[MIXED], "test")
    splits = SetLayout.of(len(y), NAMES, flat).splits(cv, F[MIXED], labels)
    assert is_partition(splits, len(y))
    assert not any(set(NAMES[train]) & set(NAMES[test]) for train, test in splits)


def test_splits_that_cannot_be_are_refused():
    mask = np.arange(30) < 20
    labels = labels_of(Y, "test")
    [(train, test)] = ROWS.splits([(mask, ~mask)], X, labels)
    np.testing.assert_array_equal(train, np.arange(20))
    np.testing.assert_array_equal(test, np.arange(20, 30))
    with pytest.raises(ValueError, match="cv=31 folds need as many examples; there are 30"):
        ROWS.splits(31, X, labels)
    assert len(ROWS.splits(30, X, labels)) == 30
    with pytest.raises(ValueError, match="cv=21 folds need as many groups; there are 20"):
        GROUPS.splits(21, F, FRAMES)
    with pytest.raises(ValueError, match="fold 1 of cv has row 7 in both parts"):
        ROWS.splits([(mask, ~mask), (mask, np.arange(7, 9))], X, labels)
    named = SetLayout.of(30, np.repeat(["ann", "bob", "eve"], 10), flat=False)
    with pytest.raises(ValueError, match="fold 0 of cv has rows of group bob in both parts"):
        named.splits(list(KFold(2).split(X)), X, labels)


def test_groups_in_any_order_are_gathered_in_sorted_order():
    values = np.arange(len(y))[:, None]
    gathered = GROUPS.gather(values)
    np.testing.assert_array_equal(NAMES[gathered], np.sort(NAMES))
    np.testing.assert_array_equal(GROUPS.scatter(gathered), values)
    means = np.bincount(NAMES, values[:, 0]) / np.bincount(NAMES)
    np.testing.assert_allclose(GROUPS.means(values[:, 0]), means)
    np.testing.assert_allclose(GROUPS.to_rows(means), means[NAMES])
    kept = np.flatnonzero(NAMES % 3 == 1)
    np.testing.assert_allclose(GROUPS.part(kept).means(values[kept, 0]), means[1::3])
    assert ROWS.gather(Y) is ROWS.scatter(Y) is ROWS.means(Y) is ROWS.to_rows(Y) is Y
    assert len(ROWS.part(np.arange(4))) == 4


@pytest.mark.parametrize("layout", [ROWS, GROUPS])
def test_some_sets_are_drawn_whole(layout):
    marked = layout.to_rows(np.arange(len(layout)) % 2 == 0)
    rows = np.random.default_rng(1).random(len(marked)) < 0.5 if layout is GROUPS else np.ones(30, dtype=bool)
    assert np.array_equal(layout.some(marked & rows, 100), layout.to_rows(layout.means(marked & rows) > 0))
    few = layout.some(marked, 4)
    assert np.count_nonzero(layout.means(few)) == 4
    assert set(layout.means(few)) == {0, 1}
    assert not few[~marked].any()


def test_folds_are_those_that_hold_out_and_sets_take_turns_without():
    splits = [(np.arange(20, 30), np.arange(10)), (np.arange(10), np.arange(10, 25))]
    folds = ROWS.folds(splits)
    np.testing.assert_array_equal(folds, np.repeat([0, 1, -1], [10, 15, 5]))
    turns = GROUPS.folds(None)
    assert set(turns) == set(range(5))
    np.testing.assert_array_equal(GROUPS.means(turns)[NAMES], turns)
    data = ROWS.held_out(X[:, :3], Y == 1, Y < 2, np.ones(30), folds)
    np.testing.assert_array_equal(data.folds, folds)
