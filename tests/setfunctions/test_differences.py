"""The lattice of counts against loops in plain Python."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.reference import subsets
from helpers.strategies import integer_array
from setloss.decomposition.program import exact_weights
from setloss.setfunctions.differences import axis_pairs, cell_levels, second_difference, second_difference_matrix

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
tables = shapes.flatmap(integer_array)


def shifted(cell, *axes):
    return tuple(a + sum(axis == b for axis in axes) for b, a in enumerate(cell))


def listed_second_differences(table):
    """In the order pair of axes by pair, cell by cell."""
    inside = set(np.ndindex(table.shape))
    return [
        table[shifted(cell, b, c)] - table[shifted(cell, b)] - table[shifted(cell, c)] + table[cell]
        for b, c in axis_pairs(table.shape)
        for cell in np.ndindex(table.shape)
        if shifted(cell, b, c) in inside
    ]


def test_a_pair_of_axes_needs_room_for_two_elements():
    assert list(axis_pairs((3, 2, 1, 4))) == [(0, 0), (0, 1), (0, 3), (1, 3), (3, 3)]


@given(tables)
def test_the_sparse_matrix_takes_second_differences_and_those_of_a_pair_of_axes_are_its_block_of_rows(table):
    matrix, listed = second_difference_matrix(table.shape), listed_second_differences(table)
    blocks = [second_difference(table, b, c).ravel() for b, c in axis_pairs(table.shape)]
    np.testing.assert_array_equal(matrix @ table.ravel(), listed)
    np.testing.assert_array_equal(np.concatenate([np.empty(0), *blocks]), listed)
    assert matrix.shape == (len(listed), table.size)


@pytest.mark.parametrize("sizes", [(5,), (2, 3), (1, 0, 3), (1, 1, 1, 1)])
def test_weights_and_levels_count_the_subsets_of_a_cell(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    shape = tuple(n + 1 for n in sizes)
    tally = np.zeros(shape)
    for A in subsets(len(groups)):
        cell = tuple(sum(groups[i] == b for i in A) for b in range(len(sizes)))
        tally[cell] += 1
        assert cell_levels(shape)[cell] == len(A)
    np.testing.assert_array_equal(exact_weights(shape).reshape(shape), tally)
    assert exact_weights((68,))[33] == comb(67, 33)  # more than a float or an integer of 64 bits holds
