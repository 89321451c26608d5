"""The order of margins, compiled: ranks for small bags, radix sort for others. Both keep the order of ties.

A comparison sort of a million margins costs more than all the rest of a cut; passes over eight bits each do not.
"""

import numpy as np

from setloss.compilation import inner_kernel

SMALL = 160
"""Up to this many elements are sorted by their ranks: n^2 / 2 comparisons, several at a time."""

BUCKETS = 256
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_SIGN, _ALL = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)


@inner_kernel(forceinline=True)
def sort_elements(margins, order, spare, tallies, keys):
    """Sort the elements in `order`, given in ascending order, by their margins.

    `spare` and `keys`, of floats, are workspace as long as `order`, `tallies` for `BUCKETS` counters.
    """
    if len(order) <= SMALL:
        _ranks(margins, order, spare, tallies, keys)
    else:
        _radix(margins, order, spare, tallies)


@inner_kernel(forceinline=True)
def _ranks(margins, order, spare, ranks, keys):
    """The rank of an element is the number of those that come before it: pairs are compared without a branch.

    New margins in every call make a processor guess wrong at the branches of insertion sort, at 50 elements five
    times as long.
    """
    for k in range(len(order)):
        key, rank = margins[order[k]], 0
        for j in range(k):
            later = keys[j] > key
            ranks[j] += later
            rank += not later
        keys[k], spare[k], ranks[k] = key, order[k], rank
    for k in range(len(order)):
        order[ranks[k]] = spare[k]


@inner_kernel(forceinline=True)
def _radix(margins, order, spare, tallies):
    """Word by word: the lower half of a float64 first, then the upper half, or the one word of a float32."""
    words = margins.view(np.uint32)
    width = np.uint64(len(words) // len(margins))
    source, target = order.view(np.uint64), spare.view(np.uint64)
    for word in range(width):
        for k in range(len(source)):
            element = source[k] & _LOW
            first, top = words[width * element], words[width * element + width - np.uint64(1)]
            part = words[width * element + np.uint64(word)]
            # As unsigned words, floats of either sign ascend once negative ones are inverted; -0 is 0.
            if top >= _SIGN and (top > _SIGN or (width > 1 and first > 0)):
                part = part ^ _ALL
            elif word == width - 1:
                part = part | _SIGN
            source[k] = (np.uint64(part) << _WORD) | element
        for digit in range(4):
            if _sort_digit(source, target, _WORD + np.uint64(8 * digit), tallies):
                source, target = target, source
    for k in range(len(source)):
        order[k] = np.int64(source[k] & _LOW)


@inner_kernel(forceinline=True)
def _sort_digit(source, target, shift, tallies):
    """Sort by the eight bits from `shift` on; False, and nothing to do, where these are all the same."""
    for b in range(BUCKETS):
        tallies[b] = 0
    for pair in source:
        tallies[(pair >> shift) & np.uint64(255)] += 1
    if tallies[(source[0] >> shift) & np.uint64(255)] == len(source):
        return False
    total = 0
    for b in range(BUCKETS):
        tallies[b], total = total, total + tallies[b]
    for pair in source:
        bucket = (pair >> shift) & np.uint64(255)
        target[tallies[bucket]] = pair
        tallies[bucket] += 1
    return True
