"""Whether an argument is a number of the right kind."""

import numpy as np
import pytest

from setloss.arguments import is_missing, is_positive_number, is_whole_number


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int8(3), 1e300])
def test_positive_numbers(value):
    assert is_positive_number(value)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, "1", None, 1j, [1]])
def test_what_is_no_positive_number(value):
    assert not is_positive_number(value)


def test_whole_numbers_lie_between_their_bounds():
    assert is_whole_number(1, 1)
    assert is_whole_number(np.int32(16), 1, 16)
    assert not any(is_whole_number(value, 1, 16) for value in (0, 17, 1.0, "1", None))


def test_missing_is_none_or_nan():
    assert is_missing(None)
    assert is_missing(np.nan)
    assert not any(is_missing(value) for value in (0, "", "nan", False))
