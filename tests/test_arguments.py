"""Whether an argument is a number of the right kind."""

import numpy as np
import pytest

from setloss.arguments import as_labels, is_missing, is_number_within, is_whole_number


def test_whole_numbers_lie_between_their_bounds():
    assert is_whole_number(1, 1)
    assert is_whole_number(np.int32(16), 1, 16)
    assert not any(is_whole_number(value, 1, 16) for value in (0, 17, 1.0, "1", None))


def test_missing_is_none_or_nan():
    assert is_missing(None)
    assert is_missing(np.nan)
    assert not any(is_missing(value) for value in (0, "", "nan", False))


def test_numbers_within_bounds():
    assert all(is_number_within(value, 0, 1) for value in (0, 0.5, np.float32(1), np.int8(1)))
    assert not any(is_number_within(value, 0, 1) for value in (True, -0.1, 1.1, np.nan, "1", None, 1j, [1]))
    assert not is_number_within(np.inf, 0)


@pytest.mark.parametrize(
    "labels", [[1, 0, 1], [1, -1, 1], [1.0, -1.0, 1.0], [True, False, True], np.array([1, 0, 1], np.int8)]
)
def test_labels_of_every_alphabet(labels):
    assert as_labels(labels).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("labels", "words"),
    [([1, 0, -1], "both 0 and -1"), ([1, 2], "the value 2"), (["a"], "dtype"), ([[1], [0, 1]], "ragged")],
)
def test_labels_of_no_alphabet(labels, words):
    with pytest.raises(ValueError, match=words):
        as_labels(labels)
