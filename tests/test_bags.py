"""Bags of elements, named or by offsets."""

import numpy as np
import pytest

from setloss.bags import Bags

MANY = np.random.default_rng(0).integers(0, 3, size=500).tolist()


@pytest.mark.parametrize("names", [["b", "a", "b", "c", "a", "b"], [2, 1, 2, 7, 1, 2], [1, 1, 2, 2, 2, 7], MANY])
def test_elements_of_named_bags_keep_their_order(names):
    bags, values = Bags.from_groups(names), np.arange(len(names))
    expected = [np.flatnonzero(np.array(names) == one) for one in sorted(set(names))]
    np.testing.assert_array_equal(bags.gather(values), np.concatenate(expected))
    np.testing.assert_array_equal(bags.scatter(bags.gather(values)), values)
    np.testing.assert_array_equal(bags.ids, sorted(set(names)))
    assert bags.totals(bags.gather(values)).tolist() == [each.sum() for each in expected]
    assert bags.means(values).tolist() == [each.mean() for each in expected]
    for some, places in bags.by_size:
        for bag, place in zip(some, places, strict=True):
            np.testing.assert_array_equal(place, expected[bag])


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([["a"]], "1-D"),
        ([1.0, np.nan], "element 1 is missing"),
        ([1, "1"], "names of one kind"),
        (np.array(["a", None], dtype=object), "is missing"),
        (np.array(["NaT"], dtype="datetime64[D]"), "is missing"),
        (np.ma.masked_array([1, 2], [0, 1]), "masked"),
    ],
)
def test_what_is_no_name_of_a_bag(groups, words):
    with pytest.raises(ValueError, match=words):
        Bags.from_groups(groups)


def test_offsets_that_are_none():
    for offsets in ([1, 2], [0.0, 1.0], [[0, 1]], []):
        with pytest.raises(ValueError, match="a 1-D array of integers that starts with 0"):
            Bags.from_offsets(offsets)
    with pytest.raises(ValueError, match="bag 1 is empty"):
        Bags.from_offsets([0, 2, 2, 3])
    with pytest.raises(ValueError, match="the bags hold 3 elements, the array has 2"):
        Bags.from_offsets([0, 2, 3]).gather(np.zeros(2))
