"""Bad data is named, partition and row, before any training: whatever is wrong in one partition, or between two."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from dask import delayed
from helpers.estimator_data import frame_data, label_data
from helpers.partitioned import lengths, parted
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.dask import PartitionError


def fit(X, y, groups, weights=None):
    """Three partitions, and a callback that fails the test if training begins."""
    model = SetClassifier(callbacks=[lambda record: pytest.fail("training has begun")])
    X, y, groups, weights = parted(lengths(len(y), 3, groups), X, y, groups, weights)
    return model.fit(X, y, groups=groups, sample_weight=weights)


def fit_named(X, y, groups, names):
    rows, labels, names = parted(lengths(len(y), 3, groups), X, y, names)
    return SetClassifier().fit(rows, labels, groups=names)


def second(groups):
    """The first row of the second of three partitions."""
    return lengths(len(groups), 3, groups)[0]


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_feature_that_is_no_number(storage, value):
    X, y, groups = frame_data()
    X[second(groups) + 2, 3] = value
    with pytest.raises(PartitionError, match="partition 1: row 2: feature 3 is NaN or infinite"):
        fit(storage(X), y, groups)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda X: X[:, :4], "partition 1 has 4 features .* partition 0 has 5"),
        (lambda X: X[:-1], r"partition 1: y has shape .* give both the same partitions"),
        (lambda X: np.where(X > 1, "loud", X), r"partition 1: could not convert column \d of X .*text"),
    ],
)
def test_rows_that_do_not_fit(rows, message):
    X, y, groups = frame_data()
    sizes = lengths(len(y), 2, groups)
    blocks = [delayed(X[: sizes[0]]), delayed(rows(X[sizes[0] :]))]
    declared = [da.from_delayed(block, (size, 5), float) for block, size in zip(blocks, sizes, strict=True)]
    with pytest.raises(PartitionError, match=message):
        SetClassifier().fit(da.concatenate(declared), parted(sizes, y)[0], groups=parted(sizes, groups)[0])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (7, r"with partition 1 there are more than two labels, \[0, 1, 7\]"),
        (np.nan, "partition 1: row 1: the label is missing"),
        (None, "partition 1: row 1: the label is missing"),
        ("yes", "partition 1: the labels are of different kinds"),
    ],
)
def test_a_label_that_is_none(label, message):
    X, y, groups = frame_data()
    y = y.astype(object)
    y[second(groups) + 1] = label
    with pytest.raises(PartitionError, match=message):
        fit(X, y, groups)


def test_a_third_label_that_only_all_partitions_together_have():
    X, y, groups = frame_data()
    start = second(groups)
    y[start : start + lengths(len(y), 3, groups)[1]] = 7
    with pytest.raises(PartitionError, match="with partition 1 there are more than two labels"):
        fit(X, y, groups)


def test_labels_of_sets_other_than_zero_and_one():
    X, Y = label_data(40)
    with pytest.raises(ValueError, match="label sets hold 0 and 1"):
        SetClassifier().fit(*parted((20, 20), X, 1 + Y))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none(weight):
    X, y, groups = frame_data()
    weights = np.ones(len(y))
    weights[second(groups) + 3] = weight
    with pytest.raises(PartitionError, match="partition 1: row 3: sample_weight is"):
        fit(X, y, groups, weights)


def test_a_bag_without_a_name():
    X, y, groups = frame_data()
    names = groups.astype(float)
    names[second(groups)] = np.nan
    with pytest.raises(PartitionError, match=r"partition 1: groups must name .*element 0"):
        fit_named(X, y, groups, names)


@pytest.mark.parametrize("rename", [np.asarray, lambda g: np.array([f"track {k}" for k in g])])
def test_a_bag_in_two_partitions(rename):
    X, y, groups = frame_data()
    cut = int(np.flatnonzero(np.bincount(groups) > 1)[5])
    inside = int(np.flatnonzero(groups == cut)[1])
    names, sizes = rename(groups), (inside, len(y) - inside)
    message = rf"the bag .*{cut}.* has frames in partitions 0 and 1;.*repartition_by_group"
    with pytest.raises(PartitionError, match=message):
        SetClassifier().fit(*parted(sizes, X, y), groups=parted(sizes, names)[0])


def test_labels_of_one_class_and_nothing_of_positive_weight():
    X, y, groups = frame_data()
    with pytest.raises(ValueError, match=r"only one class, .*1.*, in all partitions together"):
        fit(X, np.ones_like(y), groups)
    with pytest.raises(ValueError, match="nothing to train on"):
        fit(X, y, groups, np.zeros(len(y)))
