"""Names of version 0.1 go on working, and say what they are called now."""

import copy
import pickle

import numpy as np
import pytest

from setloss import SetFunction
from setloss.bags import Bags
from setloss.batch import batch_surrogate
from setloss.losses import Jaccard

FUNCTION = SetFunction.from_table([[0.0, 1.0], [2.0, -3.0]])


def test_the_largest_value_of_a_set_function_was_its_scale():
    with pytest.warns(
        DeprecationWarning, match=r"SetFunction\.scale is called largest_value now; .* goes with 0\.3"
    ) as said:
        assert FUNCTION.scale == FUNCTION.largest_value == 3.0
    assert said[0].filename == __file__


def test_the_partition_of_a_set_function_was_its_groups():
    with pytest.warns(DeprecationWarning, match=r"SetFunction\.groups is called partition now"):
        assert np.array_equal(FUNCTION.groups, FUNCTION.partition)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            lambda: SetFunction.from_table([[0, 1], [2, 3]], groups=[1, 0]),
            SetFunction.from_table([[0, 1], [2, 3]], [1, 0]),
        ),
        (lambda: SetFunction(FUNCTION.counts, groups=[1, 0]), SetFunction(FUNCTION.counts, [1, 0])),
        (
            lambda: SetFunction.symmetric([0, 1, 3]).refine(groups=[0, 1]),
            SetFunction.symmetric([0, 1, 3]).refine([0, 1]),
        ),
    ],
)
def test_a_partition_is_still_taken_as_groups(old, new):
    with pytest.warns(DeprecationWarning, match=r"groups= of SetFunction[.\w]* is called partition= now") as said:
        found = old()
    assert np.array_equal(found.partition, new.partition)
    assert found == new
    assert said[0].filename == __file__


def test_the_partition_of_a_batch_was_its_groups():
    batch = batch_surrogate(Jaccard(), [True, False, False], [0, 2, 3])
    with pytest.warns(DeprecationWarning, match=r"BatchSurrogate\.groups is called partition now"):
        assert batch.groups is batch.partition


def test_the_partition_of_the_elements_of_bags():
    truth, bags = np.array([True, False, False]), Bags.from_groups([0, 0, 1])
    with pytest.warns(DeprecationWarning, match=r"Jaccard\.element_groups is called element_partition now"):
        found = Jaccard().element_groups(truth, bags)
    assert np.array_equal(found, [0, 1, 1])


def test_a_loss_that_defines_the_old_name_defines_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"Mirrored\.element_groups is called element_partition now") as said:

        class Mirrored(Jaccard):
            def element_groups(self, truth, bags):
                return truth.astype(int)

    assert said[0].filename == __file__
    assert np.array_equal(Mirrored().element_partition(np.array([True, False]), Bags.from_groups([0, 0])), [1, 0])


def test_other_attributes_are_missing_as_ever():
    with pytest.raises(AttributeError, match="'SetFunction' object has no attribute 'scales'"):
        _ = FUNCTION.scales
    assert not hasattr(Jaccard(), "groups")


def test_copies_do_not_meet_the_old_names():
    assert pickle.loads(pickle.dumps(FUNCTION)) == copy.copy(FUNCTION) == FUNCTION
