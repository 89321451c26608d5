"""Elements of a problem from labels and frames."""

import numpy as np
import pytest

from helpers.estimator_data import frame_data
from setloss.bags import Bags
from setloss.estimators.elements import elements_of_groups, elements_of_labels


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_elements_of_labels_are_the_known_ones_of_examples_with_weight(share):
    generator = np.random.default_rng(0)
    positive, known = generator.random((2, 12, 5)) < [[[0.5]], [[1 - share]]]
    weights = np.arange(12) % 4 / 2
    known[5] = share == 0
    found = elements_of_labels(positive, known, weights)
    used = [i for i in range(12) if weights[i] > 0 and known[i].any()]
    expected = [(positive[i, j], i, j) for i in used for j in range(5) if known[i, j]]
    rows = np.repeat(found.rows, found.bags.sizes)
    tasks = found.tasks if share else np.tile(np.arange(5), len(used))
    assert list(zip(found.truth.tolist(), rows.tolist(), tasks.tolist(), strict=True)) == expected
    np.testing.assert_array_equal(found.bags.sizes, known[used].sum(axis=1))
    np.testing.assert_array_equal(found.weights, weights[used])
    np.testing.assert_array_equal(found.row_weights(12), np.where(known.any(axis=1), weights, 0))


def test_elements_of_groups_lie_bag_by_bag():
    _, y, groups = frame_data()
    order = np.random.default_rng(0).permutation(len(y))
    weights = np.where(np.arange(len(y)) % 5, 1.0, 0.0)
    weights[groups[order] == groups[0]] = 0.0
    found = elements_of_groups(y[order] == 1, Bags.from_groups(groups[order]), weights)
    weighted = np.isin(groups[order], groups[order][weights > 0])
    np.testing.assert_array_equal(np.sort(found.rows), np.flatnonzero(weighted))
    assert (weights[weighted] == 0).any()
    np.testing.assert_array_equal(found.truth, y[order][found.rows] == 1)
    for k in range(len(found.bags)):
        here = found.rows[found.bags.offsets[k] : found.bags.offsets[k + 1]]
        assert len(set(groups[order][here])) == 1
    assert found.row_weights(len(y)).sum() == pytest.approx(weights.sum())
