"""Bad data is named, partition and row, before any training: whatever is wrong in one partition, or between two."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from dask import delayed
from helpers.estimator_data import frame_data, label_data
from helpers.partitioned import in_parts, lengths
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.dask import PartitionError

X, y, groups = frame_data()
FIRST, SECOND, _ = lengths(len(y), 3, groups)
"""Lengths of the first two of three partitions."""


def fit(*data):
    """A fit of three partitions that fails the test if training begins."""
    model = SetClassifier(callbacks=[lambda record: pytest.fail("training has begun")])
    return model.fit(**in_parts(3, *data))


def changed(array, row, value):
    """A copy with one value in a row of the second partition."""
    array = array.copy()
    array[FIRST + row, ...] = value
    return array


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_feature_that_is_no_number(storage, value):
    with pytest.raises(PartitionError, match="partition 1: row 2: feature 3 is NaN or infinite"):
        fit(storage(changed(X, 2, np.where(np.arange(5) == 3, value, 1.0))), y, groups)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X, changed(y, 1, 7), groups), r"with partition 1 there are more than two labels, \[0, 1, 7\]"),
        ((X, changed(y, np.arange(SECOND), 7), groups), "with partition 1 there are more than two labels"),
        ((X, changed(1.0 * y, 1, np.nan), groups), "partition 1: row 1: the label is missing"),
        ((X, changed(y.astype(object), 1, None), groups), "partition 1: row 1: the label is missing"),
        ((X, changed(y.astype(object), 1, "yes"), groups), "partition 1: the labels are of different kinds"),
        *(
            ((X, y, groups, changed(np.ones(len(y)), 3, weight)), "partition 1: row 3: sample_weight is")
            for weight in (-1.0, np.nan, np.inf)
        ),
        ((X, np.ones_like(y), groups), r"only one class, .*1.*, in all partitions together"),
        ((X, y, groups, np.zeros(len(y))), "nothing to train on"),
        ((label_data()[0], 1 + label_data()[1]), "label sets hold 0 and 1"),
    ],
)
def test_labels_and_weights_that_are_none(data, message):
    with pytest.raises(ValueError, match=message):
        fit(*data)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda X: X[:, :4], "partition 1 has 4 features .* partition 0 has 5"),
        (lambda X: X[:-1], r"partition 1: y has shape .* give both the same partitions"),
        (lambda X: np.where(X > 1, "loud", X), r"partition 1: could not convert column \d of X .*text"),
    ],
)
def test_rows_that_do_not_fit(rows, message):
    data, sizes = in_parts(2, X, y, groups), lengths(len(y), 2, groups)
    blocks = [delayed(X[: sizes[0]]), delayed(rows(X[sizes[0] :]))]
    declared = [da.from_delayed(block, (size, 5), float) for block, size in zip(blocks, sizes, strict=True)]
    with pytest.raises(PartitionError, match=message):
        SetClassifier().fit(**data | {"X": da.concatenate(declared)})


def test_a_bag_without_a_name():
    data = in_parts(3, X, y, groups)
    names = da.from_array(changed(1.0 * groups, 0, np.nan), chunks=data["y"].chunks)
    with pytest.raises(PartitionError, match=r"partition 1: groups must name .*element 0"):
        SetClassifier().fit(**data | {"groups": names})


@pytest.mark.parametrize("rename", [np.asarray, lambda g: np.array([f"track {k}" for k in g])])
def test_a_bag_in_two_partitions(rename):
    cut = int(np.flatnonzero(np.bincount(groups) > 1)[5])
    inside = int(np.flatnonzero(groups == cut)[1])
    message = rf"the bag .*{cut}.* has frames in partitions 0 and 1;.*repartition_by_group"
    with pytest.raises(PartitionError, match=message):
        SetClassifier().fit(**in_parts((inside, len(y) - inside), X, y, rename(groups)))
