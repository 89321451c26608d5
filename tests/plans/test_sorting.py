"""The compiled sorts against `numpy.argsort(kind="stable")`."""

import numpy as np
import pytest

from setloss.compilation import kernel
from setloss.plans.batch import space_for_sorting
from setloss.plans.kernels import SMALL, _radix, sort_elements

SIZES = [0, 1, 2, 3, SMALL - 1, SMALL, SMALL + 1, 100, 5000]
every_size = pytest.mark.parametrize("size", SIZES)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@kernel()
def sort(margins, order, spare, tallies, keys, words):
    sort_elements(margins, order, spare, tallies, keys, words)


def ordered(margins, elements=None):
    """What `sort_elements` makes of the elements, all by default."""
    order = np.arange(len(margins)) if elements is None else elements.copy()
    before = margins.copy()
    sort(margins, order, *space_for_sorting(len(margins), margins.dtype))
    np.testing.assert_array_equal(margins.view(np.uint8), before.view(np.uint8))
    return order


def assert_sorted(margins, elements=None):
    """Equal to a stable sort, ties by their place; -0 and 0 are a tie."""
    elements = np.arange(len(margins)) if elements is None else elements
    expected = elements[np.argsort(margins[elements], kind="stable")]
    np.testing.assert_array_equal(ordered(margins, elements), expected)


def numbers(size, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=size).astype(dtype)


@every_size
@every_dtype
def test_numbers_of_either_sign_ties_and_runs(size, dtype):
    ascending = np.sort(numbers(size, dtype))
    for margins in (numbers(size, dtype), ascending, ascending[::-1].copy()):
        assert_sorted(margins)
    for values in (2, 3, 50):
        assert_sorted(np.random.default_rng(1).integers(-values // 2, values // 2, size).astype(dtype))
    for value in (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf):
        assert_sorted(np.full(size, value, dtype=dtype))


def extremes(dtype):
    """Zeros of both signs, the smallest and largest numbers, infinities, and neighbours of one."""
    info, one = np.finfo(dtype), dtype(1)
    neighbours = [np.nextafter(one, dtype(0)), one, np.nextafter(one, dtype(2))]
    positive = [dtype(0), info.smallest_subnormal, info.tiny, *neighbours, info.max, dtype(np.inf)]
    return np.array([sign * x for x in positive for sign in (dtype(1), dtype(-1))], dtype=dtype)


@every_size
@every_dtype
def test_zeros_of_both_signs_subnormals_and_infinities(size, dtype):
    margins = np.random.default_rng(2).choice(extremes(dtype), size)
    assert_sorted(margins)


@every_dtype
def test_numbers_that_differ_in_one_bit_only(dtype):
    """Each bit of the word alone decides the order, whatever digit it falls into."""
    word = np.dtype(f"u{np.dtype(dtype).itemsize}")
    generator = np.random.default_rng(3)
    for bit in range(8 * word.itemsize):
        base = np.array(dtype(1.7)).view(word)
        bits = np.where(generator.random(3 * SMALL) < 0.5, base, base ^ word.type(1 << bit)).astype(word)
        margins = bits.view(dtype)
        if np.isfinite(margins).all():
            assert_sorted(margins)


@every_dtype
@pytest.mark.parametrize("kept", [0, 1, SMALL, SMALL + 1, 2000])
def test_subsets_are_sorted_and_nothing_else_is_touched(kept, dtype):
    generator = np.random.default_rng(5)
    margins = np.round(numbers(4000, dtype, seed=6), 1)
    assert_sorted(margins, np.sort(generator.choice(4000, kept, replace=False)))


def test_radix_sort_is_not_compiled_where_all_sets_are_small():
    order, few = np.arange(3), np.arange(3, dtype=np.int8)
    sort(np.array([3, 1, 2], dtype=np.int8), order, np.zeros(3, dtype=int), np.zeros(3, dtype=int), few, None)
    assert order.tolist() == [1, 2, 0]
    assert not any(str(signature[0].dtype) == "int8" for signature in _radix.compiled.signatures)
    assert space_for_sorting(SMALL, np.float64).words is None
    assert len(space_for_sorting(SMALL + 1, np.float64).words) == 2 * (SMALL + 1)
